# SPDX-License-Identifier: Apache-2.0
"""Messages that take longer the more of them were sent, distinguished from a machine that becomes slower. Pure.

A machine that becomes slower slows long messages by more than short ones. What a library searches or keeps for each
message adds the same to both: two cells have to agree on it, whose times, over all launches, are 3 times apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.shape_results import CellShapes, MessageGrowth
from slowpath.findings.evidence.evidence import LAW_RATIO, Lengthening, Ratio

BY_CHANCE = 0.01  # of each of the two cells
AGREE = 1.5  # what a message adds in one of them, over the other
UNLIKE = 3.0  # what a message takes in one of them, over the other


class _Found(NamedTuple):
    cell: CellResult
    shapes: CellShapes
    growth: MessageGrowth


def lengthenings(cells: Mapping[int, CellResult], shapes: Iterable[CellShapes]) -> list[Lengthening]:
    """Those that make a tenth and more of the shortest message."""
    places: dict[tuple[object, ...], list[_Found]] = defaultdict(list)
    for one in shapes:
        growth, cell = one.growth, cells[one.cell]
        if growth is not None and growth.p <= BY_CHANCE and growth.interval[0] > 0:
            places[cell.mpi, cell.environment, cell.placement].append(_Found(cell, one, growth))
    made = (_lengthening(found) for found in places.values())
    return [one for one in made if one is not None and one.ratio.beyond]


def _lengthening(found: Sequence[_Found]) -> Lengthening | None:
    agreeing = [one for one in found if any(_agree(one.growth, other.growth) for other in found)]
    if not agreeing:
        return None
    top = min(agreeing, key=lambda one: one.growth.least_s)
    growth, messages = top.growth, top.shapes.messages
    ratios = [1 + each * messages / growth.least_s for each in (growth.per_message_s, *growth.interval)]
    return Lengthening(
        slow=top.cell,
        fast=top.cell,
        metric=top.shapes.metric,
        slow_s=growth.least_s * ratios[0],
        fast_s=growth.least_s,
        ratio=Ratio(ratios[0], (ratios[1], ratios[2]), ratios[1] >= LAW_RATIO),
        per_message_s=growth.per_message_s,
        interval=growth.interval,
        messages=messages,
        p=growth.p,
        cells=tuple(one.cell for one in agreeing),
    )


def _agree(one: MessageGrowth, other: MessageGrowth) -> bool:
    apart = max(one.most_s, other.most_s) / min(one.least_s, other.least_s)
    return one is not other and _ratio(one.per_message_s, other.per_message_s) <= AGREE and apart >= UNLIKE


def _ratio(one: float, other: float) -> float:
    return max(one, other) / min(one, other)
