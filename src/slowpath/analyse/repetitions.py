# SPDX-License-Identifier: Apache-2.0
"""Each use of a fresh buffer by itself: its 1st message, its 2nd, ... (docs/reference/results.md, by_repetition). Pure.

A launch has few fresh buffers, so that a processor shared with others spoils their median. What the kernel reported of
each block says which of them it spoils:
those during which a rank was switched out (ru_nivcsw) are left out while others are
there. Where all were, the lower quartile stands for the launch: what disturbs a message only ever makes it longer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.core.cell_results import ByRepetition
from slowpath.core.plan import Cell
from slowpath.experiments.coll import COLL
from slowpath.experiments.first_use import FIRST_USE
from slowpath.experiments.measured import KEPT_WHOLE, LaunchRecord, Reduced

FEWEST = 3  # uses; with two, the phases `first` and `steady` say it all
Rounds = Mapping[int, tuple[int, Reduced]]  # round -> the launch's number and what it measured


def by_repetition(cell: Cell, launches: Sequence[LaunchRecord], first: Rounds, later: Rounds) -> ByRepetition | None:
    """Median over the undisturbed fresh buffers of a launch, of each use.

    Args:    launches: that measured the cell.  first, later: its first and its steady messages under one metric.
    Returns: {repetitions: [1, 2, ..], launches: [number], launch_values: seconds, shape (launches, repetitions)}; None
             where samples are not single messages, or a buffer has fewer than FEWEST of them.
    """
    p = cell.parameters
    if cell.experiment == FIRST_USE.name:
        return _first_uses(first, later)
    if cell.experiment == COLL.name:
        return _of_collective(p, launches, first, later)
    uses = int(p.get("messages", "0"))
    if p.get("pattern") != "one_way" or uses < FEWEST:
        return None
    shape = (int(p.get("allocations", "1")), int(p.get("live_buffers", "1")), uses)
    records = {launch.info.launch: launch for launch in launches}
    numbers, values = [], []
    for number in sorted(first.keys() & later.keys()):
        launch, one = first[number]
        times = _by_use(one.kept_s, later[number][1].kept_s, shape)
        if times is not None and launch in records:
            numbers.append(launch)
            values.append(_centres(times, _quiet(records[launch], cell.cell, shape)))
    if not numbers:
        return None
    return ByRepetition(repetitions=list(range(1, uses + 1)), launches=numbers, launch_values=values)


def _first_uses(first: Rounds, later: Rounds) -> ByRepetition | None:
    """Of an experiment whose samples are single uses: the first of them and then the others in their order."""
    kept = {number: one for number, one in later.items() if one[1].samples <= KEPT_WHOLE}
    return _one_by_one(
        {
            launch: [*one.kept_s.tolist(), *kept[number][1].kept_s.tolist()]
            for number, (launch, one) in first.items()
            if number in kept
        }
    )


def _of_collective(
    p: Mapping[str, str], launches: Sequence[LaunchRecord], first: Rounds, later: Rounds
) -> ByRepetition | None:
    """Of pattern=counted each call on a fresh communicator, of pattern=communicators each communicator: one value each
    in a launch, so that nothing is left out of them."""
    phase = {"counted": first, "communicators": later}.get(p.get("pattern", ""), {})
    measured = {launch.info.launch for launch in launches}
    return _one_by_one(
        {launch: one.ordered.times_s.tolist() for launch, one in phase.values() if one.ordered and launch in measured}
    )


def _one_by_one(rows: Mapping[int, Sequence[float]]) -> ByRepetition | None:
    """Of launch -> its uses in their order, as far as every launch has them."""
    length = min((len(row) for row in rows.values()), default=0)
    if length < FEWEST:
        return None
    numbers = sorted(rows)
    return ByRepetition(
        repetitions=list(range(1, length + 1)),
        launches=numbers,
        launch_values=[list(rows[number][:length]) for number in numbers],
    )


def _by_use(
    first_s: NDArray[np.float64], later_s: NDArray[np.float64], shape: tuple[int, int, int]
) -> NDArray[np.float64] | None:
    """Shape (sets * live, uses). Later messages go through the buffers of a set in turn: message i from buffer i mod
    live. None where samples are missing: thinned out, since there were more than KEPT_WHOLE, or not taken."""
    sets, live, uses = shape
    if later_s.size > KEPT_WHOLE or first_s.size != sets * live or later_s.size != sets * live * (uses - 1):
        return None
    later = later_s.reshape(sets, uses - 1, live).transpose(0, 2, 1).reshape(sets * live, uses - 1)
    return np.column_stack([first_s, later])


def _quiet(launch: LaunchRecord, cell: int, shape: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Where no rank was reported as switched out: a first message, the later ones of a set; as `_by_use`."""
    sets, live, uses = shape
    quiet = np.ones((sets * live, uses), dtype=np.bool_)
    index = launch.blocks
    if index is None:
        return quiet
    for phase in ("first", "steady"):
        seen = index.select(cell=cell, phase=phase)
        reported = index.flag("witness", seen) & (index.headers["involuntary_switches"][seen] > 0)
        for buffer in index.headers["allocation"][seen[reported]].tolist():
            if buffer >= sets * live:
                continue
            if phase == "first":
                quiet[buffer, 0] = False
            else:
                quiet[buffer : buffer + live, 1:] = False
    return quiet


def _centres(times: NDArray[np.float64], quiet: NDArray[np.bool_]) -> list[float]:
    """Of each use."""
    if quiet.all():
        return [float(value) for value in np.median(times, axis=0)]
    low = np.sort(times, axis=0)[math.ceil(len(times) / 4) - 1]
    return [
        float(np.median(times[quiet[:, use], use]) if quiet[:, use].any() else low[use])
        for use in range(times.shape[1])
    ]
