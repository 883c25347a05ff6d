# SPDX-License-Identifier: Apache-2.0
"""SP067: memory from MPI_Alloc_mem that is slower than the program's own."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import Observation, SlowPath

MEMORY = "memory"
_SLOW, _FAST = "mpi", "host"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of MPI_Alloc_mem with mmap, the first being the slower side."""
    return alone_or_screened(facts, (MEMORY,), _wording, which=lambda one: levels(one) == (_SLOW, _FAST))


def _wording(_one: Slowdown | Screened) -> Wording:
    return Wording("{size}messages in memory from MPI_Alloc_mem", "in the program's own", "MPI_Alloc_mem", True)


SLOW_PATH: SlowPath = SlowPath(
    code="SP067",
    name="memory of MPI_Alloc_mem",
    title="Memory from MPI_Alloc_mem is slower than the program's own",
    what="Memory from MPI_Alloc_mem may be shared, with small pages where private memory has huge ones, or lie on "
    "another NUMA node.",
    needs="A screening design that varies the memory with other things, then the memory by itself over four lengths.",
    remedy="Take malloc or mmap for messages, and MPI_Alloc_mem for windows alone; or huge pages for shared memory "
    "(shmem_enabled).",
    observe=observe,
    cause="Memory from MPI_Alloc_mem takes a slower path, or lies elsewhere.",
    hypotheses=(
        "it has smaller pages",
        "it lies on another NUMA node",
        "it is looked up, or copied, at each message",
    ),
    needs_law=False,
    kind="fault",
    probes=("screening",),
    factors=(MEMORY,),
)
