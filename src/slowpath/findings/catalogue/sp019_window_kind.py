# SPDX-License-Identifier: Apache-2.0
"""SP019: kind, info keys and synchronisation of a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Cell, Compared
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.rule import Leg, Observation, Rule

AXES = ("window", "window_info", "synchronise")
_WORDS = {"window": "window of kind", "window_info": "window with info", "synchronise": "synchronisation by"}
_DEFAULT = "default"
_MORE = 1.25  # instructions of the slow side over those of the fast one


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of windows of one operation, whichever side is slower."""
    found = []
    for axis in AXES:
        there = [one for one in evidence.decided(axis, phase="steady") if one.slow["experiment"] == "put"]
        groups = grouped(there, lambda one: (one.slow_value, one.fast_value, *setting_key(one.slow)))
        found += [_observation(evidence, axis, group) for group in groups]
    return found


def _observation(evidence: Evidence, axis: str, group: Sequence[Compared]) -> Observation:
    slow, fast = group[0].slow_value, group[0].fast_value
    words = _WORDS[axis]
    usual = True if slow == _DEFAULT else False if fast == _DEFAULT else None
    said = Said(f"A put, {words} {slow},", f"with {words} {fast}", f"{axis} {slow}")
    made = observation(evidence, group, said)
    place = replace(made.place, words=f"{words} {slow}, {made.place.words}")
    return replace(made, usual=usual, place=place)


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """More instructions for each put or its synchronisation, counted one by one."""
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    counts = [instructions(cell) for cell in (slow, fast)]
    if counts[0] is None or counts[1] is None:
        return Leg("missing", "instructions of the puts were not counted (parameter instructions)")
    line = (
        f"{counts[0]:.0f} instructions for each put of the counted burst and its end, {counts[1]:.0f} on the fast side"
    )
    if counts[0] >= _MORE * counts[1]:
        return Leg("shown", "the slow side takes another way through the library", (line,))
    return Leg(
        "missing", "both sides take about as many instructions: something else than the library's way differs", (line,)
    )


def instructions(cell: Cell) -> float | None:
    """Of one put of the counted burst and of its burst's end (docs/reference/results.md); None: not counted."""
    counted: Mapping[str, Any] = cell.get("instructions") or {}
    put, end = counted.get("put"), counted.get("synchronisation")
    if not put or not put.get("total") or not put.get("calls") or not put.get("launches"):
        return None
    puts = put["calls"] / put["launches"]
    whole = put["total"]["stepped"] + (end["total"]["stepped"] if end and end.get("total") else 0.0)
    return float(whole / puts)


RULE = Rule(
    code="SP019",
    name="window kind and synchronisation",
    title="The window's kind, info keys or synchronisation make puts slow",
    what="How a window is made and how its epochs end decides which way the library takes for a put.",
    shows="The same puts take several times as long in one window as in another, on the same memory.",
    why="Memory given to MPI_Win_create is out of the other rank's reach; without hints a library keeps puts "
    "for later, checks every target, or locks for each epoch.",
    needs="The same puts in windows of several kinds, info keys and synchronisations. Explained when counted "
    "instructions for each put differ by a quarter or more.",
    remedy="MPI_Win_allocate, the info key that the finding names, MPI_Win_lock_all once and MPI_Win_flush.",
    false_alarms="Synchronisations differ in what they promise: fences synchronise all ranks, a flush only completes.",
    sources=("MPI-4.1 sections 12.2 and 12.5", "docs/reference/put.md"),
    observe=observe,
    cause="The library takes a longer way for puts into this window.",
    witnesses=witnesses,
    hypotheses=(
        "the window's memory is out of the target's reach",
        "the library defers puts",
        "epochs lock and unlock",
    ),
    needs_law=False,
)
