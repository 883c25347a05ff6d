# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.findings.library_remedies import tunings
from slowpath.findings.remedy import EAGER, LATER, PAD_LIBRARY, TUNABLES, Parameters, ProgramRemedy, Remedy
from slowpath.findings.words import HUGE_PAGE_BYTES
from slowpath.mpi.code_variables import KEEP_FREED


def _padded(parameters: Parameters) -> Mapping[str, str] | None:
    """The allocation lengthened to a multiple of 2 MiB, on both sides alike."""
    length, extra = parameters.get("buffer_bytes", "message"), parameters.get("overalloc_bytes", "0")
    base = parameters.get("message_bytes", "") if length == "message" else length
    if (
        "overalloc_bytes" not in parameters
        or not (base.isdecimal() and extra.isdecimal())
        or (int(base) + int(extra)) % HUGE_PAGE_BYTES == 0
    ):
        return None
    whole = -(-(int(base) + int(extra)) // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    return {**parameters, "overalloc_bytes": str(whole - int(base))}


NO_MAPPING_OF_GPU_MEMORY = tunings(
    Remedy(
        "no mapping of GPU memory",
        "Switch off IPC, so processes no longer map each other's GPU memory at the first message.",
        ("phase", "overalloc_bytes"),
        control=EAGER,
        side_effects=("later messages from GPU memory take a slower path",),
        of_gpu_memory=True,
    )
)

PAD_TO_2_MIB = Remedy(
    "pad to 2 MiB",
    "Allocate communication buffers in multiples of 2 MiB.",
    ("phase", "overalloc_bytes"),
    LATER,
    ("memory: up to 2 MiB more for each allocation",),
    ("docs/how-to/padding.md",),
    parameter="overalloc_bytes",
    change=_padded,
    code="size_t length = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);",
    phrase="allocations padded to a multiple of 2 MiB",
)

LIBSLOWPATH_PAD_SO = Remedy(
    "libslowpath-pad.so",
    "Preload the padding library if you can't change the program.",
    ("phase", "overalloc_bytes"),
    side_effects=("memory: up to 2 MiB more for each allocation", "every allocation call passes through it"),
    sources=("docs/how-to/padding.md",),
    untried="the engine pads by itself; preload the library into your program",
    code='LD_PRELOAD="$(slowpath engine path --pad)" mpiexec ...',
)

KEEP_BUFFERS = Remedy(
    "keep buffers",
    "Allocate communication buffers once, send one message from each before the work begins, and keep them.",
    ("phase",),
    side_effects=("memory stays taken",),
    sources=("docs/reference/metrics.md",),
    untried="the finding already compares with later messages from kept buffers; there is nothing else to toggle",
    code="static void* buffer;  /* allocated once, before the first use that counts */",
    phrase="reused buffers",
)

PROGRAM_KEEP_FREED_MEMORY = ProgramRemedy(
    "keep-freed-memory",
    "Let malloc keep freed memory with its pages, so the next buffer of that length is not new.",
    "faults",
    "GNU C Library manual, Memory Allocation Tunables; mallopt(3)",
    table=("keep freed memory", "reuse touched buffers"),
    variables={TUNABLES: KEEP_FREED},
)

PROGRAM_KEEP_HUGE_PAGES = ProgramRemedy(
    "keep-huge-pages",
    "Let malloc ask for huge pages and keep freed memory: huge-pages and keep-freed-memory combined.",
    "faults",
    "GNU C Library manual, Memory Allocation Tunables",
    variables={TUNABLES: f"glibc.malloc.hugetlb=1:{KEEP_FREED}"},
    needs=("glibc 2.35", "huge pages by madvise"),
)

PROGRAM_PAD = ProgramRemedy(
    "pad",
    "Round allocations of 2 MiB or more up to a multiple of 2 MiB.",
    "pad report",
    "docs/how-to/padding.md",
    table=("pad to 2 MiB",),
    preload=PAD_LIBRARY,
    needs=("GPU",),
)
