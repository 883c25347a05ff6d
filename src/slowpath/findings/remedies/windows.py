# SPDX-License-Identifier: Apache-2.0
"""Remedies for one-sided messages: whose memory, which info keys, which synchronisation."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.findings.remedies.remedy import Control, Parameters, Remedy, set_to
from slowpath.mpi.applies import AppliesTo


def _predefined(parameters: Parameters) -> Mapping[str, str] | None:
    """Of puts alone: p2p has no datatype of this name."""
    return set_to("datatype", "predefined")(parameters) if "window" in parameters else None


def _shared(parameters: Parameters) -> Mapping[str, str] | None:
    """Of windows whose memory MPI allocates: before that there is more to gain."""
    return set_to("window", "allocate_shared")(parameters) if parameters.get("window") == "allocate" else None


def _flushed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of epochs that are opened and closed again for each burst; a flush is in one long epoch already."""
    there = parameters.get("synchronise")
    return None if there in ("flush", "flush_all", "flush_local") else set_to("synchronise", "flush_all")(parameters)


def _local(parameters: Parameters) -> Mapping[str, str] | None:
    """Of flushes alone: other synchronisations promise more than that a put has arrived."""
    flushes = parameters.get("synchronise") in ("flush", "flush_all")
    return set_to("synchronise", "flush_local")(parameters) if flushes else None


def _unkeyed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of windows that are made, and not of puts to them."""
    return set_to("window_info", "none")(parameters) if "uses" in parameters else None


def _without_locks(parameters: Parameters) -> Mapping[str, str] | None:
    """Of windows with fences or PSCW: those with a lock or a flush are locked."""
    locked = parameters.get("synchronise") not in ("fence", "pscw")
    return None if locked else set_to("window_info", "no_locks")(parameters)


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
        phrase="windows from MPI_Win_allocate",
    ),
    Remedy(
        "shared window",
        "Within a node, allocate the window's memory with MPI_Win_allocate_shared.",
        ("SP019",),
        ("window",),
        None,  # see uncontrolled
        ("ranks of other nodes can't be in the window",),
        ("MPI-4.1 section 12.2.3", "docs/reference/put.md"),
        parameter="window",
        change=_shared,
        code="MPI_Win_allocate_shared(bytes, unit, info, node_comm, &memory, &window);",
        uncontrolled="every put goes through the window, so nothing that the remedy must leave can be measured",
        phrase="windows from MPI_Win_allocate_shared within a node",
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
        phrase="the info key perf_preference=lat",
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
        change=_flushed,
        code="MPI_Win_lock_all(0, window);\n/* puts */ MPI_Win_flush(target, window);",
        phrase="MPI_Win_lock_all once and MPI_Win_flush",
    ),
    Remedy(
        "flush locally",
        "Call MPI_Win_flush_local where only the origin buffer has to be free again.",
        ("SP019",),
        ("synchronise",),
        side_effects=("the puts may not have arrived yet when it returns",),
        sources=("MPI-4.1 section 12.5.4", "docs/reference/put.md"),
        parameter="synchronise",
        change=_local,
        code="MPI_Win_flush_local(target, window);  /* in place of MPI_Win_flush */",
        untried="MPI_Win_flush_local promises less than MPI_Win_flush; whether that is enough only the program knows",
        phrase="MPI_Win_flush_local where the origin buffer alone must be free again",
    ),
    Remedy(
        "no locks",
        "Give a window that is never locked the info key no_locks.",
        ("SP019",),
        ("window_info",),
        None,  # see uncontrolled
        ("MPI_Win_lock and MPI_Win_lock_all are forbidden on this window",),
        ("MPI-4.1 section 12.2.1", "docs/reference/put.md, Info keys of windows"),
        parameter="window_info",
        change=_without_locks,
        code='MPI_Info_set(info, "no_locks", "true");  /* for MPI_Win_allocate */',
        uncontrolled="every fence of such a window is another one, so nothing that it must leave can be measured",
        phrase="the info key no_locks",
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
        phrase="predefined datatypes",
    ),
    Remedy(
        "no symmetric heap",
        "Leave out the info key symheap_required: MPICH then takes whatever address the kernel gives.",
        ("SP044",),
        ("window_info",),
        None,
        ("windows of several nodes may need a table of addresses in place of one",),
        ("pmodels/mpich issue 5962",),
        AppliesTo("mpich"),
        parameter="window_info",
        change=_unkeyed,
        code="MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, node_comm, &memory, &window);",
        uncontrolled="every window of the cell has the key, so nothing that the remedy must leave can be measured",
        phrase="windows without symheap_required",
    ),
    Remedy(
        "keep windows",
        "Make long windows once and keep them.",
        ("SP044",),
        ("memory", "window_info"),
        side_effects=("their memory stays taken",),
        sources=("MPI-4.1 section 12.2",),
        code="static MPI_Win window;  /* made once, used from step to step */",
        untried="the finding's own cells make windows, since that is what they are about",
        phrase="windows that are kept",
    ),
)
