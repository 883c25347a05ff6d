# SPDX-License-Identifier: Apache-2.0
"""Remedies that a run of collectives toggles itself, in an environment of its own. Pure."""

from __future__ import annotations

from slowpath.findings.library_remedies import tunings
from slowpath.findings.remedy import ALONE, Remedy
from slowpath.mpi.code_variables import KEEP_FREED
from slowpath.slowpaths.settings.remedies import THREAD_LEVEL_FUNNELED

ALLREDUCE_BY_BYTES = tunings(
    Remedy(
        "allreduce by bytes",
        "Force an algorithm of MPI_Allreduce that splits messages by bytes, not by elements.",
        ("shape",),
        control=ALONE,
        side_effects=("an MPI_Allreduce of many elements may become slower",),
    )
)

MALLOC_KEEPS_WHAT_IS_FREED = Remedy(
    "malloc keeps what is freed",
    "Let glibc keep freed memory, so the library's temporary buffers do not page-fault in every call.",
    ("message_bytes",),
    control=ALONE,
    side_effects=("freed memory is not returned to the system", "fragmentation of a long-lived heap"),
    sources=("mallopt(3), M_MMAP_MAX and M_TRIM_THRESHOLD", "GNU C Library manual, Memory Allocation Tunables"),
    variables={"GLIBC_TUNABLES": KEEP_FREED},
    phrase="GLIBC_TUNABLES that keep freed memory",
)

TOGGLED_REMEDIES: tuple[Remedy, ...] = (*ALLREDUCE_BY_BYTES, THREAD_LEVEL_FUNNELED, MALLOC_KEEPS_WHAT_IS_FREED)
