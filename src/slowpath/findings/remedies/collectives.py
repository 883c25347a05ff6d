# SPDX-License-Identifier: Apache-2.0
"""Remedies for slow collectives that a program itself applies."""

from __future__ import annotations

from slowpath.findings.remedies.remedy import Control, Remedy, set_to
from slowpath.findings.remedies.variables import ALONE
from slowpath.mpi.code_variables import KEEP_FREED

REPLACED = "replaced collective"
_WORK = "collective_work_s"
_SHORT = Control(
    "8 bytes are one element of their type in both cases",
    experiment="coll",
    parameters={"collective": "alltoall", "message_bytes": "8"},
    metric=_WORK,
)

REMEDIES = (
    Remedy(
        REPLACED,
        "Preload libslowpath-coll.so with the row of tuning.json that the evidence has: it calls the mock-up in place "
        "of the library's own, for this range alone.",
        ("SP036",),
        ("way",),
        side_effects=("a mock-up's first call on a communicator sets up its workspace",),
        sources=("docs/internals/collectives.md",),
        variables={"SLOWPATH_COLL": "tuning.json"},
        untried="by one run alone; slowpath diagnose tries it where libslowpath-coll.so lies next to the engine",
        phrase="the mock-up by libslowpath-coll.so",
    ),
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
    Remedy(
        "op that commutes",
        "Tell MPI_Op_create that the op commutes (its second argument), where it does.",
        ("SP042",),
        ("op",),
        side_effects=("the order in which ranks are combined is then the library's, and so is the rounding",),
        sources=("MPI-4.1 section 6.9.5",),
        parameter="op",
        change=set_to("op", "user"),
        uncontrolled="collectives without an op refuse one, and each with one pays for the op itself; slowpath run "
        "coll holds a scan against it",
        code="MPI_Op_create(function, 1, &op);  /* 1: it commutes */",
        phrase="an op that commutes",
    ),
    Remedy(
        "blocking call",
        "Call the blocking collective where nothing is to be done meanwhile.",
        ("SP042",),
        ("start",),
        sources=("MPI-4.1 section 6.12",),
        parameter="start",
        change=set_to("start", "blocking"),
        uncontrolled="every collective is started in some way, and each may gain by another; slowpath run coll "
        "holds one without a fast path against it",
        phrase="blocking collectives where nothing overlaps",
    ),
    Remedy(
        "many elements of a small type",
        "Send many elements of a small type in place of few of a long one.",
        ("SP038",),
        ("shape",),
        control=_SHORT,
        sources=("Open MPI issues 8186 and 12550",),
        parameter="shape",
        change=set_to("shape", "elements"),
        code="MPI_Allreduce(in, out, n, MPI_DOUBLE, op, comm);  /* in place of 1 element of a type of n doubles */",
        phrase="many elements of a small type",
    ),
    Remedy(
        "malloc keeps what is freed",
        "Let glibc keep what the library frees, so that its temporary buffers are not faulted in at every call.",
        ("SP037",),
        ("message_bytes",),
        control=ALONE,
        side_effects=("freed memory does not go back to the system", "fragmentation of a long-lived heap"),
        sources=("mallopt(3), M_MMAP_MAX and M_TRIM_THRESHOLD", "GNU C Library manual, Memory Allocation Tunables"),
        variables={"GLIBC_TUNABLES": KEEP_FREED},
        phrase="GLIBC_TUNABLES that keep freed memory",
    ),
)
