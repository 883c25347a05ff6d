# SPDX-License-Identifier: Apache-2.0
"""SP019: kind, info keys and synchronisation of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.evidence import Evidence, Slowdown
from slowpath.findings.evidence.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.evidence.witness import sides
from slowpath.findings.evidence.words import PUT
from slowpath.findings.rule import Observation, Rule, Support

_PLACES = {"window": "window of kind", "window_info": "window with info", "synchronise": "synchronisation by"}
_SUBJECTS = {"window": "into a window of kind", "window_info": "into a window with info", "synchronise": "ended by"}
_CAUSES = {
    "window": "The library takes a longer way for puts into a window of this kind.",
    "window_info": "What the window's info keys promise decides which way the library takes for a put.",
    "synchronise": "The library does more work to end an epoch in this way.",
}
_EPOCHS = {
    "lock": "each burst takes and releases a lock",
    "fence": "each burst ends in a barrier of all ranks",
    "pscw": "each burst exchanges a message for MPI_Win_post and one for MPI_Win_complete",
}
_HYPOTHESES = {
    "window": ("the window's memory is out of the target's reach",),
    "window_info": ("the library defers puts", "the library checks each time whether the window is locked"),
    "synchronise": ("a flush waits until the target has every put",),
}
_DEFAULT = "default"
_MORE = 1.25  # instructions of the slow side over those of the fast one


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of windows of one operation, whichever side is slower."""
    found = []
    for axis in _PLACES:
        there = [one for one in evidence.slowdowns(axis, phase="steady") if PUT in one.slow.metrics]
        groups = grouped(there, lambda one: (one.slow_value, one.fast_value, *place_key(one.slow)))
        found += [_observation(evidence, axis, group) for group in groups]
    return found


def _observation(evidence: Evidence, axis: str, group: Sequence[Slowdown]) -> Observation:
    slow, fast, words = group[0].slow_value, group[0].fast_value, _SUBJECTS[axis]
    wording = Wording(f"{{size}}puts {words} {slow}", f"{words} {fast}", f"{axis} {slow}")
    seen = slowdown_observed(evidence, group, wording)
    place = replace(seen.place, words=f"{_PLACES[axis]} {slow}, {seen.place.words}")
    default = True if slow == _DEFAULT else False if fast == _DEFAULT else None
    own = (_EPOCHS[slow],) if axis == "synchronise" and slow in _EPOCHS else _HYPOTHESES[axis]
    return replace(seen, affects_default=default, place=place, cause=_CAUSES[axis], hypotheses=own)


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """More instructions for each put or its synchronisation, counted one by one."""
    slow, fast = (instructions(cell) for cell in sides(evidence, seen))
    if slow is None or fast is None:
        return Support("missing", "instructions of the puts were not counted (parameter instructions)")
    line = f"{slow:.0f} instructions per put of the counted burst and its end, {fast:.0f} on the fast side"
    if slow >= _MORE * fast:
        return Support("shown", "the slow side takes another way through the library", (line,))
    return Support("missing", "both sides take about as many instructions: the library's way does not differ", (line,))


def instructions(cell: CellResult) -> float | None:
    """Of one put of the counted burst and of its burst's end (docs/reference/results.md); None: not counted."""
    counted = cell.instructions
    put, end = (counted.put, counted.synchronisation) if counted else (None, None)
    if not put or not put.total or not put.calls or not put.launches:
        return None
    whole = put.total.stepped + (end.total.stepped if end and end.total else 0.0)
    return float(whole / (put.calls / put.launches))


RULE = Rule(
    code="SP019",
    name="window kind and synchronisation",
    title="The window's kind, info keys or synchronisation make puts slow",
    what="How a window is made and how its epochs end decides which way the library takes for a put.",
    shows="The same puts take several times as long in one window as in another, on the same memory.",
    why="Memory given to MPI_Win_create is out of the other rank's reach; without hints a library defers puts, "
    "checks every target, or locks for each epoch.",
    needs="The same puts in windows of several kinds, info keys and synchronisations. Explained when counted "
    "instructions per put differ by a quarter or more.",
    remedy="What the finding's axis asks for. Window kind: MPI_Win_allocate. Info: the key that the finding names. "
    "Synchronisation: MPI_Win_lock_all once and MPI_Win_flush after each burst.",
    false_alarms="Synchronisations differ in what they promise: fences synchronise all ranks, a flush only completes.",
    sources=("MPI-4.1 sections 12.2 and 12.5", "docs/reference/put.md"),
    observe=observe,
    cause="The library takes a longer way for these puts, or for the end of their epoch.",
    witnesses=witnesses,
    hypotheses=(
        "the window's memory is out of the target's reach",
        "the library defers puts",
        "epochs lock and unlock",
    ),
    needs_law=False,
)
