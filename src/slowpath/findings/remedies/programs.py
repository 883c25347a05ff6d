# SPDX-License-Identifier: Apache-2.0
"""Remedies for a program as it is, without compiling it again: what `slowpath prove` can try. Pure.

Settings of MPI libraries are drawn from slowpath.mpi; what a remedy of the table (registry.py) does in the engine, one
here does to a whole program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from slowpath.core.errors import UsageError
from slowpath.mpi.applies import AppliesTo
from slowpath.mpi.code_variables import KEEP_FREED
from slowpath.mpi.settings import SETTINGS
from slowpath.mpi.tunings import TUNINGS

TUNABLES = "GLIBC_TUNABLES"  # values of several remedies are joined, and the user's own stand in front
PAD_LIBRARY = "libslowpath-pad.so"
COLL_LIBRARY = "libslowpath-coll.so"
COLLECTIVES = "collectives"  # key of the remedy whose tuning file is made for each watch
EAGER_BYTES = 65536
# What has to hold on the machine (diagnose.prove.machine looks).
Need = Literal["glibc 2.35", "huge pages by madvise", "reserved huge pages", "GPU"]
# What else than time shows that it was taken: MPI_T reads the value back; page faults become fewer; affinity of the
# ranks changes; the preloaded library reports what it padded, or which collectives it replaced.
Witness = Literal["control variable", "faults", "affinity", "pad report", "collectives report"]


@dataclass(frozen=True)
class Way:
    """How one library is asked."""

    applies: AppliesTo
    variables: Mapping[str, str]


@dataclass(frozen=True)
class ProgramRemedy:
    """One line of the table.

    key      as after --remedy.  text: what it does, one sentence
    rules    whose slow paths it may remove
    table    names in the table of remedies (registry.py) that it stands for
    ways     by library, the first that fits counts; none: it is none of a library's variables
    variables  of every library.  preload: library that is preloaded.  bind: of the launcher
    witness  what shows that it was taken
    source   where to read on
    screened whether --screen tries it: cheap, and nothing that may break the program
    """

    key: str
    text: str
    rules: tuple[str, ...]
    witness: Witness
    source: str
    table: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    preload: str | None = None
    bind: str | None = None
    needs: tuple[Need, ...] = ()
    screened: bool = True

    def variables_for(self, library: str | None, version: str | None, transport: str | None) -> dict[str, str] | None:
        """What it sets under this library; None: no way is known there."""
        if not self.ways:
            return dict(self.variables)
        fitting = (way for way in self.ways if way.applies.fits(library, version, transport))
        found = next(fitting, None)
        return None if found is None else {**found.variables, **self.variables}


def _states(name: str) -> tuple[Way, ...]:
    return tuple(Way(row.applies, row.variables) for row in SETTINGS if row.name == name)


def _tunings(purpose: str) -> tuple[Way, ...]:
    return tuple(Way(row.applies, row.variables) for row in TUNINGS if row.purpose == purpose)


def _names(purpose: str) -> tuple[str, ...]:
    return tuple(row.name for row in TUNINGS if row.purpose == purpose)


PROGRAM_REMEDIES: tuple[ProgramRemedy, ...] = (
    ProgramRemedy(
        "huge-pages",
        "malloc asks for huge pages, so that messages from its memory lie on pages of 2 MiB.",
        ("SP008", "SP009", "SP012"),
        "faults",
        "GNU C Library manual, Memory Allocation Tunables, glibc.malloc.hugetlb",
        table=("huge pages",),
        variables={TUNABLES: "glibc.malloc.hugetlb=1"},
        needs=("glibc 2.35", "huge pages by madvise"),
    ),
    ProgramRemedy(
        "reserved-huge-pages",
        "malloc takes its long blocks from the huge pages that the machine holds in reserve.",
        ("SP008", "SP009", "SP012"),
        "faults",
        "GNU C Library manual, Memory Allocation Tunables, glibc.malloc.hugetlb",
        variables={TUNABLES: "glibc.malloc.hugetlb=2"},
        needs=("glibc 2.35", "reserved huge pages"),
    ),
    ProgramRemedy(
        "keep-freed-memory",
        "malloc keeps what is freed, with its pages, so that the next buffer of that length is no first use.",
        ("SP002", "SP005", "SP012", "SP024"),
        "faults",
        "GNU C Library manual, Memory Allocation Tunables; mallopt(3)",
        table=("keep freed memory", "reuse touched buffers"),
        variables={TUNABLES: KEEP_FREED},
    ),
    ProgramRemedy(
        "keep-huge-pages",
        "malloc asks for huge pages and keeps what is freed: huge-pages and keep-freed-memory at once.",
        ("SP005", "SP008", "SP012", "SP024"),
        "faults",
        "GNU C Library manual, Memory Allocation Tunables",
        variables={TUNABLES: f"glibc.malloc.hugetlb=1:{KEEP_FREED}"},
        needs=("glibc 2.35", "huge pages by madvise"),
    ),
    ProgramRemedy(
        "yield-when-idle",
        "Ranks that wait give their core away, which helps where there are more ranks and threads than cores.",
        ("SP011", "SP022", "SP032"),
        "control variable",
        "MPICH: MPIR_CVAR_CH4_PROGRESS_THROTTLE; Open MPI: mpi_yield_when_idle (ompi_info --level 9)",
        ways=(
            Way(
                AppliesTo("mpich", ">=4.2"),
                {
                    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
                    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
                },
            ),
            Way(AppliesTo("openmpi", ">=2"), {"OMPI_MCA_mpi_yield_when_idle": "1"}),
        ),
    ),
    ProgramRemedy(
        "longer-eager",
        f"Messages up to {EAGER_BYTES // 1024} KiB go eagerly, without waiting for their receiver.",
        ("SP013", "SP020"),
        "control variable",
        "docs/reference/findings.md, protocol switches",
        ways=(
            Way(
                AppliesTo("mpich", ">=4.2"),
                {
                    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": str(EAGER_BYTES),
                    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": str(EAGER_BYTES),
                    # MPICH 5.0.2 asserts in MPI_Init that it is no shorter than a cell.
                    "MPIR_CVAR_CH4_PACK_BUFFER_SIZE": str(EAGER_BYTES),
                },
            ),
            Way(
                AppliesTo("openmpi", ">=5"),
                {"OMPI_MCA_btl_sm_eager_limit": str(EAGER_BYTES), "OMPI_MCA_btl_sm_max_send_size": str(EAGER_BYTES)},
            ),
            Way(
                AppliesTo("openmpi", ">=2,<5"),
                {
                    "OMPI_MCA_btl_vader_eager_limit": str(EAGER_BYTES),
                    "OMPI_MCA_btl_vader_max_send_size": str(EAGER_BYTES),
                },
            ),
            Way(AppliesTo("openmpi", ">=4", "ucx"), {"UCX_RNDV_THRESH": str(EAGER_BYTES)}),
        ),
    ),
    ProgramRemedy(
        "two-copies",
        "Messages inside a node go through shared memory in two copies in place of one by the kernel.",
        ("SP008", "SP009", "SP013"),
        "control variable",
        "docs/reference/launching.md, single_copy_off",
        ways=_states("single_copy_off"),
    ),
    ProgramRemedy(
        "asynchronous-progress",
        "A thread of the library makes progress while the program computes; it needs a core for each rank.",
        ("SP017",),
        "control variable",
        "docs/reference/remedies.md",
        table=_names("asynchronous progress"),
        ways=_tunings("asynchronous progress"),
        screened=False,
    ),
    ProgramRemedy(
        "larger-handle-cache",
        "The library keeps more handles of GPU memory open.",
        ("SP003",),
        "control variable",
        "docs/reference/remedies.md",
        table=_names("larger handle cache"),
        ways=_tunings("larger handle cache"),
        needs=("GPU",),
    ),
    ProgramRemedy(
        "pad",
        "Allocations of 2 MiB and more become multiples of 2 MiB.",
        ("SP001", "SP002", "SP023"),
        "pad report",
        "docs/studies/padding.md",
        table=("pad to 2 MiB",),
        preload=PAD_LIBRARY,
        needs=("GPU",),
    ),
    ProgramRemedy(
        "pad-host",
        "Blocks of 4 MiB and more from malloc begin on 2 MiB, in multiples of it, on huge pages where those are on.",
        ("SP008", "SP012"),
        "pad report",
        "docs/studies/padding.md",
        variables={"SLOWPATH_PAD_HOST": "1"},
        preload=PAD_LIBRARY,
    ),
    ProgramRemedy(
        COLLECTIVES,
        "Collectives that a replay showed to be slow are made of other calls of the library.",
        ("SP036",),
        "collectives report",
        "docs/internals/collectives.md",
        preload=COLL_LIBRARY,
        screened=False,
    ),
    ProgramRemedy(
        "bind-cores",
        "Each rank is bound to a core of its own.",
        ("SP011", "SP022"),
        "affinity",
        "docs/reference/launching.md",
        table=("bind to cores",),
        bind="core",
    ),
    ProgramRemedy(
        "bind-none",
        "No rank is bound: the kernel moves ranks and their threads to cores that are free.",
        ("SP011", "SP022"),
        "affinity",
        "docs/reference/launching.md",
        bind="none",
    ),
)


def find_program_remedy(key: str) -> ProgramRemedy:
    """Raises: UsageError: none of that key."""
    found = next((one for one in PROGRAM_REMEDIES if one.key == key), None)
    if found is None:
        known = ", ".join(one.key for one in PROGRAM_REMEDIES)
        raise UsageError(f"--remedy {key}: there is none of that name; there are {known}, or all")
    return found


def program_remedies_for(rule: str, table_names: tuple[str, ...] = ()) -> tuple[ProgramRemedy, ...]:
    """Those that may remove what `rule` names; those that stand for a remedy of these names first."""
    fitting = [one for one in PROGRAM_REMEDIES if rule in one.rules]
    return tuple(sorted(fitting, key=lambda one: not set(one.table) & set(table_names)))
