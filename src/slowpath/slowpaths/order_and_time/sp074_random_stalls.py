# SPDX-License-Identifier: Apache-2.0
"""SP074: a few messages that stall at random, and cost the mean message as much at any length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.study_results import CellShapes, Stalls
from slowpath.core.units import format_time
from slowpath.findings.facts import Difference, Facts, Ratio, ratio_words, sizes, where_words
from slowpath.findings.slow_path import Observation, SlowPath, observed
from slowpath.findings.witness import switches_each


@dataclass(frozen=True, kw_only=True)
class RandomStalls(Difference):
    """slow_s, fast_s, ratio: the mean message and the median one, of the cell that loses most.

    stalls: of that cell.  cells: those that agree on what the mean message loses, this one first.  losses_s: of each.
    switches: how often ranks lost a processor, for each slow message, the most of the cells.
    """

    stalls: Stalls
    losses_s: tuple[float, ...]
    cells: tuple[CellResult, ...]
    switches: float


# Of the messages, that take twice the median or more: more of them are a second kind (SP073). A few of a hundred do so
# on a healthy machine, and cost little: neither their share nor what most of them take says how many stall.
MOST_SHARE = 0.15

# The mean message takes so many times the median one, by the low end. Of 458 cells of 57 runs without such a plant,
# most with another one, none is named; two with it are.
FAR = 3.0

# Median messages of two cells, and what the mean message loses in them, by what factor they differ: what strikes after
# a time costs messages that take four times as long four times as much.
UNLIKE, ALIKE = 4.0, 2.0

# Of the stalls that hold most of the loss: so many in a launch, so many of them behind a quick message, and their mean
# place in the launch. What a launch pays once, at its begin or anywhere, and a phase of slow messages are none.
FEWEST, APART, CENTRE = 3, 0.7, (0.25, 0.75)

MOST_SWITCHES = 0.5  # for each stall: losing processors explains less than half of them


class _Stalling(NamedTuple):
    cell: CellResult
    metric: str
    median_s: float
    stalls: Stalls
    switches: float

    @property
    def loss_s(self) -> float:
        """Mean less median."""
        return self.median_s * (self.stalls.mean_ratio - 1.0)


def random_stalls(cells: Mapping[int, CellResult], shapes: Iterable[CellShapes]) -> list[RandomStalls]:
    """Return one for each place in which cells of unlike lengths stall alike."""
    places: dict[tuple[object, ...], list[_Stalling]] = defaultdict(list)
    for shape in shapes:
        cell = cells[shape.cell]
        if (found := _stalling(cell, shape)) is not None:
            places[cell.mpi, cell.environment, cell.placement, shape.metric].append(found)
    made = (_of_place(found) for found in places.values())
    return [one for one in made if one is not None]


def _stalling(cell: CellResult, shape: CellShapes) -> _Stalling | None:
    """None where too few or too many stall, in an order, or may be ranks without a processor."""
    stalls, median = shape.stalls, cell.estimate(shape.metric, "steady")
    if shape.period is not None or shape.mixed is not None or median is None or stalls.mean_interval is None:
        return None
    if not 0 < stalls.share < MOST_SHARE or stalls.mean_ratio <= 1.0:
        return None
    if not _is_random(stalls):
        return None
    lost = switches_each(cell, "steady")
    if lost is None or lost / stalls.share >= MOST_SWITCHES:
        return None
    return _Stalling(cell, shape.metric, median.value, stalls, lost / stalls.share)


def _is_random(stalls: Stalls) -> bool:
    """Whether those that cost most are several in a launch, stand apart, and are spread over it."""
    if stalls.bearing is None or stalls.groups_ratio is None or stalls.place is None:
        return False
    inside = CENTRE[0] <= stalls.place <= CENTRE[1]
    return stalls.bearing >= FEWEST and stalls.groups_ratio >= APART and inside


def _of_place(found: Sequence[_Stalling]) -> RandomStalls | None:
    agreeing = [one for one in found if any(_agree(one, other) for other in found)]
    if not agreeing:
        return None
    ranked = sorted(agreeing, key=lambda one: one.stalls.mean_ratio, reverse=True)
    top = ranked[0]
    if top.stalls.mean_interval is None or top.stalls.mean_interval[0] < FAR:
        return None
    return RandomStalls(
        slow=top.cell,
        fast=top.cell,
        metric=top.metric,
        slow_s=top.median_s * top.stalls.mean_ratio,
        fast_s=top.median_s,
        ratio=Ratio(top.stalls.mean_ratio, top.stalls.mean_interval, True),
        stalls=top.stalls,
        losses_s=tuple(one.loss_s for one in ranked),
        cells=tuple(one.cell for one in ranked),
        switches=max(one.switches for one in ranked),
    )


def _agree(one: _Stalling, other: _Stalling) -> bool:
    return _factor(one.median_s, other.median_s) >= UNLIKE and _factor(one.loss_s, other.loss_s) <= ALIKE


def _factor(one: float, other: float) -> float:
    return max(one, other) / min(one, other)


def observe(facts: Facts) -> Sequence[Observation]:
    """Cells of unlike lengths in which a few messages stall and cost the mean message the same."""
    return [_observation(facts, one) for one in random_stalls(facts.cells, facts.shapes)]


def _observation(facts: Facts, one: RandomStalls) -> Observation:
    size = f"{sizes([one.slow])} messages".strip()
    numbers = tuple(cell.cell for cell in one.cells)
    return observed(
        one,
        about="messages that stall at random",
        place=facts.place(one.cells, where_words(one.cells)),
        text=f"A few of the {size} stall: the mean message takes {format_time(one.slow_s)}, {ratio_words(one.ratio)} "
        f"what the median one takes, {format_time(one.fast_s)}.",
        affects_default=facts.is_default(one.slow),
        cells=numbers,
        slow_cells=numbers,
        fast_cells=(),
        is_sure_fault=True,
        evidence=(
            f"{len(one.cells)} lengths lose about the same for each message, {format_time(min(one.losses_s))} to "
            f"{format_time(max(one.losses_s))}, although their median messages take times {UNLIKE:.0f} times apart or "
            "more: what interrupts after a time would cost longer messages more",
            f"80% of the loss is that of {one.stalls.bearing:.0f} messages in a launch: they have no period, "
            f"{100 * (one.stalls.groups_ratio or 0):.0f}% of them do not follow each other, and on the mean they stand "
            f"at {100 * (one.stalls.place or 0):.0f}% of the launch",
            f"{100 * one.stalls.share:.1f}% of the messages take twice the median or more; ranks lost a processor "
            f"{one.switches:.2f} times for each of these",
        ),
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP074",
    name="random stalls",
    title="A few messages stall at random",
    what="A few of a hundred messages take many times as long, without a period: a lost packet, a refused request "
    "that is repeated after a timeout, a lock, an error handler.",
    needs="Some hundred single messages in each of 3 launches or more, in two cells whose median messages take "
    "times 4 times apart: the mean loses the same in both, by messages that do not follow each other.",
    remedy="Look for retries: counters of the network device, the library's statistics, its log level. Then force "
    "one transport or one thread.",
    observe=observe,
    cause="Each message may have to wait for something, at random.",
    hypotheses=(
        "a packet or a request is lost and repeated after a timeout",
        "a lock or a queue is found taken by some messages",
    ),
    needs_law=False,
    kind="fault",
    needs_cause=True,
    probes=("long series",),
)
