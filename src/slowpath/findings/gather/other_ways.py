# SPDX-License-Identifier: Apache-2.0
"""Cells of a collective next to those of the same thing done otherwise, length by length. Pure.

One line is one collective, all else equal, over its lengths; at each length stand the call itself and every other way
that was measured in the same launches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.violations import SPLIT, WAY
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.stats.inputs import Floats

METRICS = ("collective_work_s", "collective_own_s")  # the first that all cells of a line have
LENGTH = "message_bytes"
LIBRARY = "library"
_EFFORT = ("samples", "time_limit_s", "warmup_s", "validate")
_NO_LENGTH = ("barrier",)


@dataclass(frozen=True)
class Other:
    """cell: that was measured.  times_s: of what takes the call's place, shape (rounds,)."""

    cell: CellResult
    times_s: Floats


@dataclass(frozen=True)
class Point:
    """One length: the call itself, and by name what may take its place."""

    bytes: int
    base: Other
    others: Mapping[str, Other]


@dataclass(frozen=True)
class Line:
    """All points of one collective along one axis, the shortest first. left: value of the axis of the calls."""

    collective: str
    axis: str
    left: str
    metric: str
    points: Sequence[Point]


def lines(cells: Iterable[CellResult]) -> list[Line]:
    """Every line of every guideline that these cells hold."""
    known = list(cells)
    return [*_ways(known), *_axes(known), *_pieces(known)]


def _ways(cells: Sequence[CellResult]) -> list[Line]:
    found = []
    for group in _alike(cells, WAY):
        names = [name for name, _ in group if name != LIBRARY]
        found += _line(WAY, LIBRARY, list(dict.fromkeys(names)), group)
    return found


def _axes(cells: Sequence[CellResult]) -> list[Line]:
    """Guidelines whose sides are both the library's own."""
    found = []
    rows = [row for row in GUIDELINES if row.mockup is None and row.axis not in (WAY, SPLIT)]
    for axis in dict.fromkeys(row.axis for row in rows):
        for group in _alike([cell for cell in cells if _is_own(cell)], axis):
            collective = next(iter(group.values())).parameters["collective"]
            for row in rows:
                if (row.collective, row.axis) == (collective, axis):
                    found += _line(axis, row.left, [row.right], group)
    return found


def _is_own(cell: CellResult) -> bool:
    return cell.parameters.get(WAY, LIBRARY) == LIBRARY


def _alike(cells: Sequence[CellResult], axis: str) -> list[dict[tuple[str, int], CellResult]]:
    """Groups of cells that differ in the axis and in their lengths alone: value and length -> cell."""
    groups: dict[tuple[object, ...], dict[tuple[str, int], CellResult]] = defaultdict(dict)
    for cell in cells:
        parameters = cell.parameters
        if parameters.get("pattern", "calls") != "calls" or axis not in parameters:
            continue
        without = (axis, LENGTH, *_EFFORT)
        rest = tuple(sorted((name, value) for name, value in parameters.items() if name not in without))
        place = (cell.mpi, cell.environment, cell.placement, cell.copy, rest)
        groups[place].setdefault((parameters[axis], _length(cell)), cell)
    return list(groups.values())


def _length(cell: CellResult) -> int:
    """Bytes; 0 where the collective has none."""
    if cell.parameters.get("collective") in _NO_LENGTH:
        return 0
    return int(cell.parameters.get(LENGTH, "0"))


def _line(axis: str, left: str, rights: Sequence[str], group: Mapping[tuple[str, int], CellResult]) -> list[Line]:
    """At most one: none where no length has both sides in the same launches."""
    metric = _metric(group.values())
    points = []
    for length in sorted({length for name, length in group if name == left}):
        base = group[left, length]
        base_s = _times_s(base, metric)
        if base_s is None:
            continue
        others = {}
        for name in rights:
            cell = group.get((name, length))
            times_s = _times_s(cell, metric) if cell else None
            if cell is not None and times_s is not None and times_s.size == base_s.size:
                others[name] = Other(cell, times_s)
        if others:
            points.append(Point(length, Other(base, base_s), others))
    if not points:
        return []
    return [Line(points[0].base.cell.parameters["collective"], axis, left, metric, points)]


def _pieces(cells: Sequence[CellResult]) -> list[Line]:
    """A(k n) <= k A(n): at each length all shorter ones that divide it, as often as they have to be called."""
    collectives = {row.collective for row in GUIDELINES if (row.axis, row.left) == (SPLIT, "k n")}
    found = []
    for group in _alike([cell for cell in cells if cell.parameters.get("collective") in collectives], WAY):
        own = {length: cell for (name, length), cell in group.items() if name == LIBRARY and length > 0}
        metric = _metric(own.values())
        times = {length: times_s for length, cell in own.items() if (times_s := _times_s(cell, metric)) is not None}
        points = []
        for length in sorted(times):
            others = {
                str(piece): Other(own[piece], times[piece] * (length // piece))
                for piece in times
                if piece < length and length % piece == 0 and times[piece].size == times[length].size
            }
            if others:
                points.append(Point(length, Other(own[length], times[length]), others))
        if points:
            first = points[0].base.cell.parameters["collective"]
            found.append(Line(first, SPLIT, "k n", metric, points))
    return found


def _metric(cells: Iterable[CellResult]) -> str:
    every = list(cells)
    return next((name for name in METRICS if all(name in cell.metrics for cell in every)), METRICS[-1])


def _times_s(cell: CellResult, metric: str) -> Floats | None:
    """Of each launch, steady."""
    found = cell.estimate(metric, "steady")
    return np.asarray(found.launch_values) if found is not None else None
