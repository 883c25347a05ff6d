# SPDX-License-Identifier: Apache-2.0
"""Remedies for slow collectives that a program itself applies."""

from __future__ import annotations

from slowpath.findings.remedies.remedy import Remedy

REMEDIES = (
    Remedy(
        "keep communicators",
        "Make communicators once and keep them: each fresh one pays for the opening of its fast path again.",
        ("SP040",),
        ("call",),
        side_effects=("memory of each live communicator",),
        sources=("MPI-4.1 section 7.4",),
        code="static MPI_Comm comm;  /* duplicated once, used from call to call */",
        untried="the later calls of the finding's own communicators show it already; there is nothing else to toggle",
        phrase="communicators that are kept",
    ),
    Remedy(
        "free communicators",
        "Free communicators that are no longer used: the library's shared memory for collectives is theirs while they "
        "live.",
        ("SP041",),
        ("communicator",),
        sources=("MPI-4.1 section 7.4.3",),
        code="MPI_Comm_free(&comm);  /* before the next one is made */",
        untried="the cells keep their communicators, since that is what they are about",
        phrase="MPI_Comm_free for communicators that are no longer used",
    ),
)
