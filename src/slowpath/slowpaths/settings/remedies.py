# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from slowpath.findings.remedy import ALONE, Remedy

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
