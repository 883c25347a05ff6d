# SPDX-License-Identifier: Apache-2.0
"""Remedies for one-sided messages: whose memory, which info keys, which synchronisation."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.findings.remedies.remedy import Control, Parameters, Remedy, set_to
from slowpath.mpi.applies import AppliesTo


def _predefined(parameters: Parameters) -> Mapping[str, str] | None:
    """Of puts alone: p2p has no datatype of this name."""
    return set_to("datatype", "predefined")(parameters) if "window" in parameters else None


REMEDIES = (
    Remedy(
        "MPI_Win_allocate",
        "Allocate the window's memory with MPI_Win_allocate, so that ranks of a node reach it themselves.",
        ("SP018", "SP019"),
        ("window",),
        Control("both ranks reach memory from MPI_Win_allocate_shared already", without="allocate_shared"),
        ("memory comes from the library's shared segment, which may be limited (/dev/shm)",),
        ("MPI-4.1 section 12.2.2", "docs/reference/put.md"),
        parameter="window",
        change=set_to("window", "allocate"),
        code="MPI_Win_allocate(bytes, unit, info, comm, &memory, &window);  /* in place of MPI_Win_create */",
    ),
    Remedy(
        "complete puts at once",
        "Give the window the info key perf_preference=lat.",
        ("SP019",),
        ("window_info",),
        Control(
            "a compare-and-swap completes at once, whatever the key asks for",
            experiment="put",
            parameters={"design": "mpi", "operation": "compare_and_swap", "message_bytes": "8", "instructions": "0"},
            metric="time_per_put_s",
        ),
        ("puts between nodes may get slower, since none is deferred any more",),
        ("docs/reference/put.md, Info keys of windows",),
        applies=AppliesTo("mpich", ">=5"),
        parameter="window_info",
        change=set_to("window_info", "latency"),
        code='MPI_Info_create(&info);\nMPI_Info_set(info, "perf_preference", "lat");  /* for MPI_Win_allocate */',
    ),
    Remedy(
        "lock all once",
        "Call MPI_Win_lock_all once and MPI_Win_flush after each burst.",
        ("SP018", "SP019"),
        ("synchronise",),
        Control("MPI_Win_flush_local under MPI_Win_lock_all takes no lock of its own either", without="flush_local"),
        (),
        ("MPI-4.1 section 12.5", "docs/reference/put.md"),
        parameter="synchronise",
        change=set_to("synchronise", "flush_all"),
        code="MPI_Win_lock_all(0, window);\n/* puts */ MPI_Win_flush(target, window);",
    ),
    Remedy(
        "predefined datatype",
        "Put contiguous runs with a predefined datatype.",
        ("SP015", "SP018"),
        ("datatype",),
        Control("the same bytes by MPI_Put_c with a predefined datatype have no blocks either", without="large_count"),
        (),
        ("docs/reference/put.md",),
        parameter="datatype",
        change=_predefined,
        code="MPI_Put(data, count, MPI_DOUBLE, target, place, count, MPI_DOUBLE, window);",
    ),
)
