# SPDX-License-Identifier: Apache-2.0
"""Shapes of time: slow messages at equal distances, counted in messages or in time. Pure.

A timer strikes after a time, whatever was sent meanwhile; a counter after a number of messages, however long they took.
Where lengths that take unlike times share a number, or a number stays although the time does not, it is a counter's.
Where they share a time it is a timer's, of the machine as well as of the library: no period in messages is named then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.shape_results import CellShapes, MessagePeriod
from slowpath.findings.evidence.evidence import Periodic, Ratio, SlowPlaces

UNLIKE = 1.5  # times between slow messages, as a ratio: one timer does not make both
ALIKE = 1.15
UNSTEADY = 0.25  # a period that lasts longer or shorter by this, and has as many messages
_ENOUGH = 4  # times as many messages as the period, to have seen it


class _Found(NamedTuple):
    cell: CellResult
    shapes: CellShapes
    period: MessagePeriod


def periods(cells: Mapping[int, CellResult], shapes: Iterable[CellShapes], minimum_effect: float) -> list[Periodic]:
    """Those by which the mean message loses more than the minimum effect."""
    places: dict[tuple[object, ...], list[CellShapes]] = defaultdict(list)
    for one in shapes:
        cell = cells[one.cell]
        places[(cell.mpi, cell.environment, cell.placement)].append(one)
    made = (one for place in places.values() for one in _of_place(cells, place, minimum_effect))
    return [one for one in made if one.ratio.beyond]


def _of_place(cells: Mapping[int, CellResult], asked: Sequence[CellShapes], minimum_effect: float) -> list[Periodic]:
    found = [_Found(cells[one.cell], one, one.period) for one in asked if one.period is not None]
    groups: dict[int, list[_Found]] = defaultdict(list)
    for one in found:
        groups[one.period.every].append(one)
    return [
        _periodic(group, [(cells[one.cell], one) for one in asked], minimum_effect)
        for group in groups.values()
        if not _is_of_a_timer(group, found)
    ]


def _is_of_a_timer(group: Sequence[_Found], found: Sequence[_Found]) -> bool:
    """Whether another cell has another number of messages and the same time between its slow ones."""
    return any(
        other.period.every != one.period.every and _ratio(other.period.between_s, one.period.between_s) <= ALIKE
        for one in group
        for other in found
    )


def _periodic(
    group: Sequence[_Found], asked: Sequence[tuple[CellResult, CellShapes]], minimum_effect: float
) -> Periodic:
    ranked = sorted(group, key=lambda one: one.period.mean_ratio, reverse=True)  # most excesses are alike in seconds
    top = ranked[0]
    period = top.period
    least = period.mean_interval[0] if period.mean_interval else 0.0
    having = {one.cell.cell for one in group}
    return Periodic(
        slow=top.cell,
        fast=top.cell,
        metric=top.shapes.metric,
        slow_s=period.fast_s * period.mean_ratio,
        fast_s=period.fast_s,
        ratio=Ratio(period.mean_ratio, period.mean_interval, least > 1 + minimum_effect),
        every=period.every,
        count=period.slow,
        counted="messages" if _is_counted(group) else "either",
        seen=tuple(_seen(one) for one in ranked),
        lacking=tuple(cell for cell, one in asked if one.messages >= _ENOUGH * period.every and one.cell not in having),
    )


def _seen(one: _Found) -> SlowPlaces:
    period, shapes = one.period, one.shapes
    ratio = Ratio(period.ratio, period.interval, True)
    return SlowPlaces(
        one.cell, period.slow_s, period.fast_s, ratio, shapes.launches, shapes.messages, period.between_s, period.p
    )


def _is_counted(group: Sequence[_Found]) -> bool:
    """Whether no timer makes this: the number stays where the time does not."""
    times = [one.period.between_s for one in group]
    unsteady = any(one.period.between_spread_ratio >= UNSTEADY for one in group)
    return unsteady or _ratio(max(times), min(times)) >= UNLIKE


def _ratio(one: float, other: float) -> float:
    """The larger over the smaller; of a time of 0, which is not known, infinite."""
    return max(one, other) / min(one, other) if min(one, other) > 0 else float("inf")
