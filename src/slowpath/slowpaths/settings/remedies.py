# SPDX-License-Identifier: Apache-2.0
"""Remedies of this family that several slow paths share. Pure."""

from __future__ import annotations

from slowpath.findings.library_remedies import tunings
from slowpath.findings.remedy import ALONE, ProgramRemedy, Remedy, Way

THREAD_LEVEL_FUNNELED = Remedy(
    "thread level funneled",
    "Ask MPI_Init_thread for MPI_THREAD_FUNNELED if only one thread calls MPI.",
    ("environment",),
    control=ALONE,
    sources=("MPI-4.1 section 11.6.2",),
    variables={"SLOWPATH_THREAD_LEVEL": "funneled"},
    code="int provided;\nMPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);",
    phrase="MPI_THREAD_FUNNELED",
)

ASYNCHRONOUS_PROGRESS = tunings(
    Remedy(
        "asynchronous progress",
        "Switch on asynchronous progress: a thread of the library makes progress while the program computes.",
        ("progress",),
        control=ALONE,
        side_effects=("a core for each rank's thread", "latency of short messages, because calls take a lock"),
        cores_per_rank=2,
    )
)

PROGRAM_ASYNCHRONOUS_PROGRESS = ProgramRemedy(
    "asynchronous-progress",
    "A thread of the library makes progress while the program computes; it needs a core for each rank.",
    "control variable",
    "docs/reference/remedies.md",
    table=tuple(remedy.name for remedy in ASYNCHRONOUS_PROGRESS),
    ways=tuple(Way(remedy.applies, remedy.variables) for remedy in ASYNCHRONOUS_PROGRESS),
    screened=False,
)
