# SPDX-License-Identifier: Apache-2.0
"""What stamping the intervals costs, over the multiplication that they are of. Pure.

The engine measures what one interval costs, two clock readings and keeping them, in each launch. A repetition has as
many as its record holds, so the product is what the tool adds to a repetition on one rank.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from slowpath.experiments.cannon.clock import clock_of
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.points import Own
from slowpath.experiments.measured.launch_context import why_cores_are_shared
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.record.events import Note, Repetitions

NS = 1e-9
_NOT_RECORDED = "the engine did not report what an interval costs"


def own_cost(
    group: CellGroup,
    launches_of: Mapping[int, Sequence[LaunchRecord]],
    stamps: Mapping[tuple[int, int], float],
    repetitions_of: Mapping[int, Sequence[Repetitions]],
) -> Own:
    """For each cell of the group: seconds of stamping in one repetition, median over launches, or why not known.

    Args: stamps, repetitions_of: as in experiments.cannon.observed.
    """
    timing_s, why = {}, {}
    for cell in (member.cell for member in group.cells.values()):
        each = [found for launch in launches_of.get(cell, ()) if (found := _one(launch, cell, stamps)) is not None]
        if each:
            timing_s[cell] = statistics.median(each)
        else:
            why[cell] = _NOT_RECORDED
    numbers = [member.cell for member in group.cells.values()]
    first = next((launches[0] for cell in numbers if (launches := launches_of.get(cell))), None)
    shared = why_cores_are_shared(first.ranks) if first else None
    clock = {cell: clock_of(repetitions_of.get(cell, ())) for cell in numbers}
    return Own(timing_s, why, shared, clock, _remarks(numbers, launches_of))


def _remarks(numbers: Sequence[int], launches_of: Mapping[int, Sequence[LaunchRecord]]) -> dict[int, str]:
    """What the engine says of a variant in the first launch that measured it."""
    found: dict[int, str] = {}
    for cell in numbers:
        notes = [note for launch in launches_of.get(cell, ())[:1] for note in launch.events.of(Note)]
        if remark := next((note.remark for note in notes if note.cell == cell and note.remark), None):
            found[cell] = remark
    return found


def _one(launch: LaunchRecord, cell: int, stamps: Mapping[tuple[int, int], float]) -> float | None:
    costs_ns = [note.interval_ns for note in launch.events.of(Note) if note.cell == cell]
    cost_ns = next((value for value in costs_ns if value is not None), None)
    count = stamps.get((cell, launch.info.launch))
    return None if cost_ns is None or count is None else cost_ns * NS * count
