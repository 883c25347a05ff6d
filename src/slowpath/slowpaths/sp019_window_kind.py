# SPDX-License-Identifier: Apache-2.0
"""SP019: kind, info keys and synchronisation of a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.units import format_time
from slowpath.findings.facts import PUT, Facts, Slowdown, number
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import (
    LEAST_COVERED,
    Control,
    Observation,
    Parameters,
    Remedy,
    SlowPath,
    Support,
    set_to,
)
from slowpath.findings.witness import sides, spent
from slowpath.mpi.libraries import AppliesTo
from slowpath.slowpaths.remedies import LOCK_ALL_ONCE, MPI_WIN_ALLOCATE, page_of

_PLACES = {"window": "window of kind", "window_info": "window with info", "synchronise": "synchronisation by"}
_SUBJECTS = {"window": "into a window of kind", "window_info": "into a window with info", "synchronise": "ended by"}
_DEFAULT = "default"
_MORE = 1.25  # instructions of the slow side over those of the fast one


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of windows of one operation, whichever side is slower."""
    observations = []
    for axis in _PLACES:
        there = [slowdown for slowdown in facts.slowdowns(axis, phase="steady") if PUT in slowdown.slow.metrics]
        groups = grouped(there, lambda slowdown: (slowdown.slow_value, slowdown.fast_value, *place_key(slowdown.slow)))
        observations += [_observation(facts, axis, group) for group in groups]
    return observations


def _observation(facts: Facts, axis: str, group: Sequence[Slowdown]) -> Observation:
    slow, fast, words = group[0].slow_value, group[0].fast_value, _SUBJECTS[axis]
    wording = Wording(f"{{size}}puts {words} {slow}", f"{words} {fast}", f"{axis} {slow}")
    seen = slowdown_observed(facts, group, wording)
    place = replace(seen.place, words=f"{_PLACES[axis]} {slow}, {seen.place.words}")
    default = True if slow == _DEFAULT else False if fast == _DEFAULT else None
    return replace(seen, affects_default=default, place=place)


def witnesses(facts: Facts, seen: Observation) -> Support:
    """More instructions for each put or its synchronisation, counted one by one, and the kernel's time for it."""
    slow, fast = sides(facts, seen)
    counts = instructions(slow), instructions(fast)
    per_burst_s = spent("send", slow, seen.phase, fast, seen.phase).kernel
    kernel_s = max(0.0, per_burst_s or 0.0) / (number(slow, "puts") or 1.0)
    kernel = kernel_s / seen.excess_s if seen.excess_s else 0.0
    words = f"kernel: {format_time(kernel_s)} more per put, {min(1.0, kernel):.0%} of the extra time"
    lines = [words] if kernel else []
    if counts[0] is None or counts[1] is None:
        return Support("missing", evidence=tuple(lines))
    line = f"{counts[0]:.0f} instructions per put, with the end of the burst; {counts[1]:.0f} on the fast side"
    library = max(0.0, counts[0] / counts[1] - 1) / max((seen.ratio or 1.0) - 1, 1e-9)
    if counts[0] < _MORE * counts[1] and kernel < LEAST_COVERED:
        return Support("missing", evidence=(line, *lines))
    text = "another path through the library" if library >= kernel else "work of the kernel"
    return Support("shown", text, (line, *lines), library < LEAST_COVERED <= library + kernel, library + kernel)


def instructions(cell: CellResult) -> float | None:
    """Of one put of the counted burst and of its burst's end (docs/reference/results.md); None: not counted."""
    counted = cell.instructions
    put, end = (counted.put, counted.synchronisation) if counted else (None, None)
    if not put or not put.total or not put.calls or not put.launches:
        return None
    whole = put.total.stepped + (end.total.stepped if end and end.total else 0.0)
    return float(whole / (put.calls / put.launches))


def _shared(parameters: Parameters) -> Mapping[str, str] | None:
    """Of windows whose memory MPI allocates: before that there is more to gain."""
    return set_to("window", "allocate_shared")(parameters) if parameters.get("window") == "allocate" else None


def _local(parameters: Parameters) -> Mapping[str, str] | None:
    """Of flushes alone: other synchronisations promise more than that a put has arrived."""
    flushes = parameters.get("synchronise") in ("flush", "flush_all")
    return set_to("synchronise", "flush_local")(parameters) if flushes else None


def _without_locks(parameters: Parameters) -> Mapping[str, str] | None:
    """Of windows with fences or PSCW: those with a lock or a flush are locked."""
    locked = parameters.get("synchronise") not in ("fence", "pscw")
    return None if locked else set_to("window_info", "no_locks")(parameters)


SHARED_WINDOW = Remedy(
    "shared window",
    "Within a node, allocate the window's memory with MPI_Win_allocate_shared.",
    ("window",),
    None,  # every put goes through the window
    parameter="window",
    change=_shared,
    code="MPI_Win_allocate_shared(bytes, unit, info, node_comm, &memory, &window);",
    phrase="windows from MPI_Win_allocate_shared within a node",
)

COMPLETE_PUTS_AT_ONCE = Remedy(
    "complete puts at once",
    "Within a node, give the window the info key perf_preference=lat.",
    ("window_info",),
    Control(
        experiment="put",
        parameters={"design": "mpi", "operation": "compare_and_swap", "message_bytes": "8", "instructions": "0"},
        metric="time_per_put_s",
    ),
    applies=AppliesTo("mpich", ">=5"),
    parameter="window_info",
    change=set_to("window_info", "latency"),
    code='MPI_Info_create(&info);\nMPI_Info_set(info, "perf_preference", "lat");  /* for MPI_Win_allocate */',
    phrase="the info key perf_preference=lat",
)

FLUSH_LOCALLY = Remedy(
    "flush locally",
    "Call MPI_Win_flush_local where only the origin buffer must be reusable.",
    ("synchronise",),
    parameter="synchronise",
    change=_local,
    code="MPI_Win_flush_local(target, window);  /* in place of MPI_Win_flush */",
    is_tried=False,
    phrase="MPI_Win_flush_local",
)

NO_LOCKS = Remedy(
    "no locks",
    "Give a window that is never locked the info key no_locks.",
    ("window_info",),
    None,  # the key affects every fence of the window
    parameter="window_info",
    change=_without_locks,
    code='MPI_Info_set(info, "no_locks", "true");  /* for MPI_Win_allocate */',
    phrase="the info key no_locks",
)

SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    needs_law=False,
    kind="opportunity",
    concerns="one-sided communication",
    probes=("windows", "window info", "datatype of puts"),
    remedies=(
        MPI_WIN_ALLOCATE,
        SHARED_WINDOW,
        COMPLETE_PUTS_AT_ONCE,
        LOCK_ALL_ONCE,
        FLUSH_LOCALLY,
        NO_LOCKS,
    ),
    **page_of("SP019"),
)
