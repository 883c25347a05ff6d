# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths share, by family, and the pages of all. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slowpath.core.units import side_values
from slowpath.findings.facts import HUGE_PAGE_BYTES
from slowpath.findings.slow_path import (
    EAGER,
    LATER,
    TUNABLES,
    Control,
    Parameters,
    ProgramRemedy,
    Remedy,
    Way,
    set_to,
    tunings,
)
from slowpath.mpi.libraries import content, read_rows
from slowpath.mpi.own_settings import KEEP_FREED
from slowpath.mpi.settings import TUNINGS


def _program(key: str) -> ProgramRemedy:
    """Of mpi/remedies.toml, with the ways that mpi/settings.toml has for it."""
    remedy = next(row for row in read_rows("remedies", "programs", ProgramRemedy) if row.key == key)
    ways = (Way(row.applies, row.variables) for row in TUNINGS if row.purpose == key.replace("-", " "))
    return replace(remedy, ways=tuple(ways))


PROGRAM_PAD = _program("pad")
PROGRAM_ASYNCHRONOUS_PROGRESS = _program("asynchronous-progress")
PROGRAM_TWO_COPIES = _program("two-copies")
PROGRAM_LONGER_EAGER = _program("longer-eager")
PROGRAM_HUGE_PAGES = _program("huge-pages")
PROGRAM_RESERVED_HUGE_PAGES = _program("reserved-huge-pages")
PROGRAM_PAD_HOST = _program("pad-host")
PROGRAM_YIELD_WHEN_IDLE = _program("yield-when-idle")
PROGRAM_BIND_CORES = _program("bind-cores")
PROGRAM_BIND_NONE = _program("bind-none")


def _padded(parameters: Parameters) -> Mapping[str, str] | None:
    lengths = side_values(parameters.get("buffer_bytes", "message"))
    bases = [parameters.get("message_bytes", "") if length == "message" else length for length in lengths]
    extras = side_values(parameters.get("overalloc_bytes", ""))
    if not all(text.isdecimal() for text in (*bases, *extras)):
        return None
    rests = [-(int(base) + int(extra)) % HUGE_PAGE_BYTES for base, extra in zip(bases, extras, strict=True)]
    padded = [str(int(extra) + rest) for extra, rest in zip(extras, rests, strict=True)]
    return {**parameters, "overalloc_bytes": ":".join(dict.fromkeys(padded))} if any(rests) else None


NO_MAPPING_OF_GPU_MEMORY = tunings(
    Remedy(
        "no mapping of GPU memory",
        "Switch off IPC: the first message maps no GPU memory, and later messages take a slower path.",
        ("phase", "overalloc_bytes"),
        control=EAGER,
        of_gpu_memory=True,
    )
)

PAD_TO_2_MIB = Remedy(
    "pad to 2 MiB",
    "Allocate communication buffers in multiples of 2 MiB.",
    ("phase", "overalloc_bytes"),
    LATER,
    parameter="overalloc_bytes",
    change=_padded,
    code="size_t length = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);",
    phrase="allocations padded to a multiple of 2 MiB",
)

LIBSLOWPATH_PAD_SO = Remedy(
    "libslowpath-pad.so",
    "Preload the padding library if you can't change the program.",
    ("phase", "overalloc_bytes"),
    is_tried=False,
    code='LD_PRELOAD="$(dirname "$(slowpath mpi build)")/libslowpath-pad.so" mpiexec ...',
)

KEEP_BUFFERS = Remedy(
    "keep buffers",
    "Allocate communication buffers once, and keep them.",
    ("phase",),
    is_tried=False,
    code="static void* buffer;  /* allocated once */",
    phrase="reused buffers",
)

PROGRAM_KEEP_FREED_MEMORY = ProgramRemedy(
    "keep-freed-memory",
    "Let malloc keep freed memory with its pages.",
    "faults",
    "GNU C Library manual, Memory Allocation Tunables; mallopt(3)",
    variables={TUNABLES: KEEP_FREED},
)

PROGRAM_KEEP_HUGE_PAGES = ProgramRemedy(
    "keep-huge-pages",
    "Let malloc ask for huge pages and keep freed memory.",
    "faults",
    "GNU C Library manual, Memory Allocation Tunables",
    variables={TUNABLES: f"glibc.malloc.hugetlb=1:{KEEP_FREED}"},
    needs=("glibc 2.35", "huge pages by madvise"),
)


def _flushed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of epochs that are opened and closed again for each burst; a flush is in one long epoch already."""
    there = parameters.get("synchronise")
    return None if there in ("flush", "flush_all", "flush_local") else set_to("synchronise", "flush_all")(parameters)


MPI_WIN_ALLOCATE = Remedy(
    "MPI_Win_allocate",
    "Allocate the window's memory with MPI_Win_allocate.",
    ("window",),
    Control(without="allocate_shared"),
    parameter="window",
    change=set_to("window", "allocate"),
    code="MPI_Win_allocate(bytes, unit, info, comm, &memory, &window);  /* in place of MPI_Win_create */",
    phrase="windows from MPI_Win_allocate",
)

LOCK_ALL_ONCE = Remedy(
    "lock all once",
    "Call MPI_Win_lock_all once and MPI_Win_flush after each burst.",
    ("synchronise",),
    Control(without="flush_local"),
    parameter="synchronise",
    change=_flushed,
    code="MPI_Win_lock_all(0, window);\n/* puts */ MPI_Win_flush(target, window);",
    phrase="MPI_Win_lock_all once and MPI_Win_flush",
)


HUGE_PAGES = Remedy(
    "huge pages",
    "Allocate communication buffers on 2 MiB boundaries and ask for huge pages.",
    ("pages", "environment", "touch"),
    EAGER,
    parameter="pages",
    change=set_to("pages", "huge"),
    code=(
        "size_t length = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);\n"
        "void* buffer = aligned_alloc(2u << 20, length);\n"
        "madvise(buffer, length, MADV_HUGEPAGE);"
    ),
)


# An empty call uses one rank's core. Two that compute at once would share a core, which is what binding mends.
_CALL = Control(
    experiment="put",
    parameters={"design": "empty_call"},
    metric="time_per_put_s",
)

BIND_TO_CORES = Remedy(
    "bind to cores",
    "Bind each rank to its own core.",
    ("placement",),
    _CALL,
    bind="core",
    phrase="a core of its own for each rank",
    cores_per_rank=1,
)


def page_of(code: str) -> dict[str, Any]:
    """Code, name, title and so on of a slow path, of slowpaths/pages.toml."""
    pages = content("pages", "slowpaths")["pages"]
    assert code in pages, f"slowpaths/pages.toml has no page of {code}: add one"
    return {"code": code, **pages[code]}
