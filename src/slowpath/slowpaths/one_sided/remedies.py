# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.findings.remedy import Control, Parameters, Remedy, set_to


def _flushed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of epochs that are opened and closed again for each burst; a flush is in one long epoch already."""
    there = parameters.get("synchronise")
    return None if there in ("flush", "flush_all", "flush_local") else set_to("synchronise", "flush_all")(parameters)


MPI_WIN_ALLOCATE = Remedy(
    "MPI_Win_allocate",
    "Allocate the window's memory with MPI_Win_allocate, so ranks of a node access it directly.",
    ("window",),
    Control("both ranks already access memory from MPI_Win_allocate_shared", without="allocate_shared"),
    ("memory comes from the library's shared segment, which may be limited (/dev/shm)",),
    ("MPI-4.1 section 12.2.2", "docs/results/put.md"),
    parameter="window",
    change=set_to("window", "allocate"),
    code="MPI_Win_allocate(bytes, unit, info, comm, &memory, &window);  /* in place of MPI_Win_create */",
    phrase="windows from MPI_Win_allocate",
)

LOCK_ALL_ONCE = Remedy(
    "lock all once",
    "Call MPI_Win_lock_all once and MPI_Win_flush after each burst.",
    ("synchronise",),
    Control("MPI_Win_flush_local under MPI_Win_lock_all takes no lock of its own either", without="flush_local"),
    (),
    ("MPI-4.1 section 12.5", "docs/results/put.md"),
    parameter="synchronise",
    change=_flushed,
    code="MPI_Win_lock_all(0, window);\n/* puts */ MPI_Win_flush(target, window);",
    phrase="MPI_Win_lock_all once and MPI_Win_flush",
)
