# SPDX-License-Identifier: Apache-2.0
"""SP030: messages that take longer the more of them were sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.core.study_results import CellShapes, MessageGrowth
from slowpath.core.units import format_time
from slowpath.findings.facts import LAW_RATIO, Difference, Facts, Ratio, ratio_words, sizes, times_words, where_words
from slowpath.findings.slow_path import Observation, SlowPath, observed


@dataclass(frozen=True, kw_only=True)
class Lengthening(Difference):
    """Each of `messages` takes longer than the one before, by per_message_s; `cells` agree on it."""

    per_message_s: float
    interval: Interval
    messages: int
    p: float
    cells: tuple[CellResult, ...]


BY_CHANCE = 0.01  # of each of the two cells

AGREE = 1.5  # what a message adds in one of them, over the other

UNLIKE = 3.0  # what a message takes in one of them, over the other


class _Growth(NamedTuple):
    cell: CellResult
    shapes: CellShapes
    growth: MessageGrowth


def lengthenings(cells: Mapping[int, CellResult], shapes: Iterable[CellShapes]) -> list[Lengthening]:
    """Those that make a tenth and more of the shortest message."""
    places: dict[tuple[object, ...], list[_Growth]] = defaultdict(list)
    for shape in shapes:
        growth, cell = shape.growth, cells[shape.cell]
        if growth is not None and growth.p <= BY_CHANCE and growth.interval[0] > 0:
            places[cell.mpi, cell.environment, cell.placement].append(_Growth(cell, shape, growth))
    made = (_lengthening(found) for found in places.values())
    return [one for one in made if one is not None and one.ratio.beyond]


def _lengthening(found: Sequence[_Growth]) -> Lengthening | None:
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


def observe(facts: Facts) -> Sequence[Observation]:
    """Growth by the same for each message, in cells whose messages are unlike."""
    return [_observation(facts, lengthening) for lengthening in lengthenings(facts.cells, facts.shapes)]


def _observation(facts: Facts, one: Lengthening) -> Observation:
    size = f"{sizes([one.slow])} message".strip()
    low, high = (format_time(end) for end in one.interval)
    return observed(
        one,
        about="growth over a launch",
        place=facts.place(one.cells, where_words(one.cells)),
        text=f"Each {size} takes {format_time(one.per_message_s)} [{low}, {high}] longer than the previous one. "
        f"After {one.messages} of them it is {ratio_words(one.ratio)} slower than at the start of a launch: "
        f"{times_words(one)}.",
        affects_default=facts.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        slow_cells=tuple(cell.cell for cell in one.cells),
        fast_cells=(),
        evidence=(
            f"{len(one.cells)} cells agree on the growth per message, although their times per message differ by 3 "
            f"times or more; by chance: p = {one.p:.1g}",
        ),
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP030",
    name="growth",
    title="Messages get slower the more a launch has sent",
    what="A launch becomes slower with each message: a list that is searched and never emptied, requests or handles "
    "that are not freed, a cache that fills up.",
    needs="100 single messages and more in 3 launches or more, of two lengths whose times are 3 times apart; both "
    "grow by the same amounts.",
    remedy="Free requests and datatypes, and report it: a time that grows without end is a defect of the library.",
    observe=observe,
    cause="The library does more for each message, the more of them there were.",
    hypotheses=(
        "a list grows and is searched for each message",
        "requests or handles are not freed",
        "a cache fills up, or memory becomes fragmented",
    ),
    needs_law=False,
    kind="fault",
    probes=("long series",),
)
