# SPDX-License-Identifier: Apache-2.0
"""Shapes of time of each cell (docs/reference/results.md), from the messages of its launches in their order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slowpath.core.plan import Cell
from slowpath.core.result import Interval
from slowpath.core.results import Line
from slowpath.core.study_results import (
    CellShapes,
    DrawnMessages,
    MessageGrowth,
    MessagePeriod,
    MixedMessages,
    Stalls,
    TailPoint,
)
from slowpath.core.units import format_time
from slowpath.experiments.measured import Ordered, Reduced
from slowpath.stats.estimate import Floats, estimate_over_launches, quantiles
from slowpath.stats.launches import tails, tukey, within
from slowpath.stats.shapes import (
    FEWEST_MESSAGES,
    Folded,
    LaunchGrowth,
    Numbers,
    Period,
    best_of,
    growth_of,
    mixed_of,
    period_of,
    stalled,
)

BySeries = Mapping[tuple[int, str, str], Mapping[int, tuple[int, Reduced]]]
METRICS = ("one_way_s", "send_barrier_s", "receive_s", "half_round_trip_latency_s")  # the first that a cell has
# Of collectives: in long series alone, since each cell that is asked makes
# what is found in the others less certain.
COLLECTIVE = "collective_work_s"
FEWEST_CALLS = 256
FEWEST_LAUNCHES = 3
BY_CHANCE = 1e-3  # of a period in any cell of a run
FEWEST_IN_TAIL = 100
MOST_DRAWN = 640  # messages
_SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)


@dataclass(frozen=True)
class _Launches:
    """The messages of a cell: for each launch its number and its messages."""

    cell: int
    metric: str
    numbers: tuple[int, ...]
    messages: tuple[Ordered, ...]

    @property
    def asked(self) -> bool:
        """Whether there are launches enough to look for a period."""
        return len(self.numbers) >= FEWEST_LAUNCHES

    @property
    def in_order(self) -> list[tuple[Numbers, Floats]]:
        """Of each launch its messages' numbers and times."""
        return [(messages.number, messages.times_s) for messages in self.messages]

    @property
    def fewest(self) -> int:
        return min(message.times_s.size for message in self.messages)


def shapes_of(cells: Iterable[Cell], by_series: BySeries) -> list[CellShapes]:
    """Of each cell that has single messages. One of several buffers is left out, in turn or one after the other: its
    messages differ by their buffers, and by how often these were used.
    """
    found = [one for cell in cells if _in_order(cell) and (one := _launches(cell.cell, by_series)) is not None]
    asked = [one for one in found if one.asked]
    periods = {one.cell: period_of(one.in_order) for one in asked}
    growths = {one.cell: growth_of(one.in_order) for one in asked}
    grown = sum(growth is not None for growth in growths.values())
    return [_shapes(one, periods.get(one.cell), len(asked), _growth(growths.get(one.cell), grown)) for one in found]


def _in_order(cell: Cell) -> bool:
    return all(cell.parameters.get(name, "1") == "1" for name in ("live_buffers", "allocations"))


def _launches(cell: int, by_series: BySeries) -> _Launches | None:
    for metric in (*METRICS, COLLECTIVE):
        rounds = by_series.get((cell, metric, "steady"), {})
        kept = [(launch, one.ordered) for launch, one in rounds.values() if one.ordered is not None]
        fewest = FEWEST_CALLS if metric == COLLECTIVE else FEWEST_MESSAGES
        if kept and min(one.times_s.size for _, one in kept) >= fewest:
            numbers, messages = zip(*kept, strict=True)
            return _Launches(cell, metric, numbers, messages)
    return None


def _growth(growth: LaunchGrowth | None, tried: int) -> MessageGrowth | None:
    if growth is None:
        return None
    return MessageGrowth(
        per_message_s=growth.per_message_s,
        interval=(growth.low, growth.high),
        p=best_of(growth.p, tried),
        least_s=growth.least_s,
        most_s=growth.most_s,
    )


def _shapes(one: _Launches, period: Period | None, tried: int, growth: MessageGrowth | None) -> CellShapes:
    chance = best_of(period.p, tried) if period else 1.0
    shown = _period(one, period, chance) if period and chance <= BY_CHANCE else None
    return CellShapes(
        cell=one.cell,
        metric=one.metric,
        launches=len(one.numbers),
        messages=one.fewest,
        stalls=_stalls(one),
        period=shown,
        growth=growth,
        tail=_tail(one.messages),
        drawn=_drawn(one, period) if shown and period else None,
        mixed=None if shown or not one.asked else _mixed(one),
    )


def _mixed(one: _Launches) -> MixedMessages | None:
    found = mixed_of([messages.times_s for messages in one.messages])
    if found is None:
        return None
    ratio = estimate_over_launches([launch.slow_s / launch.fast_s for launch in found])
    mean = estimate_over_launches([launch.mean_s / launch.fast_s for launch in found])
    shares = [launch.share for launch in found]
    return MixedMessages(
        share=float(np.median(shares)),
        least_share=min(shares),
        most_share=max(shares),
        slow_s=float(np.median([launch.slow_s for launch in found])),
        fast_s=float(np.median([launch.fast_s for launch in found])),
        ratio=ratio.value,
        interval=ratio.interval,
        mean_ratio=mean.value,
        mean_interval=mean.interval,
        changes_ratio=sum(launch.changes for launch in found) / sum(launch.expected for launch in found),
    )


def _stalls(one: _Launches) -> Stalls:
    each = [stalled(messages.times_s) for messages in one.messages]
    mean = estimate_over_launches([launch.mean_ratio for launch in each])
    # Of what is not lost the logarithm has a meaning; what is lost can be nothing.
    rest = estimate_over_launches([1.0 - launch.lost_ratio for launch in each])
    lasting = [launch.length_s for launch in each if launch.stalls]
    enough = len(each) >= FEWEST_LAUNCHES
    places = [place / launch.messages for launch in each for place in launch.bearing]
    bearing = len(places)
    return Stalls(
        share=float(np.median([launch.stalls / launch.messages for launch in each])),
        lost_ratio=max(0.0, 1.0 - rest.value),
        lost_interval=_turned(rest.interval) if enough else None,
        mean_ratio=mean.value,
        mean_interval=mean.interval if enough else None,
        length_s=float(np.median(lasting)) if lasting else 0.0,
        bearing=float(np.median([len(launch.bearing) for launch in each])),
        groups_ratio=sum(launch.groups for launch in each) / bearing if bearing else None,
        place=float(np.mean(places)) if places else None,
    )


def _turned(interval: Interval | None) -> Interval | None:
    return None if interval is None else (1.0 - interval[1], 1.0 - interval[0])


def _period(one: _Launches, period: Period, chance: float) -> MessagePeriod:
    ratio = estimate_over_launches([launch.slow_s / launch.fast_s for launch in period.launches])
    mean = estimate_over_launches([_mean_ratio(launch, period) for launch in period.launches])
    gaps = [
        _gaps_s(messages, launch, period.every) for messages, launch in zip(one.messages, period.launches, strict=True)
    ]
    middles = [float(np.median(gap)) for gap in gaps if gap.size]
    spreads = [float(np.abs(gap / np.median(gap) - 1.0).max()) for gap in gaps if gap.size > 1]
    return MessagePeriod(
        every=period.every,
        slow=period.slow,
        slow_s=float(np.median([launch.slow_s for launch in period.launches])),
        fast_s=float(np.median([launch.fast_s for launch in period.launches])),
        ratio=ratio.value,
        interval=ratio.interval,
        mean_ratio=mean.value,
        mean_interval=mean.interval,
        between_s=float(np.median(middles)) if middles else 0.0,
        between_spread_ratio=float(np.median(spreads)) if spreads else 0.0,
        p=chance,
    )


def _mean_ratio(launch: Folded, period: Period) -> float:
    return 1.0 + (launch.slow_s / launch.fast_s - 1.0) * period.slow / period.every


def _gaps_s(messages: Ordered, launch: Folded, every: int) -> Floats:
    """From each message at the first slow place to the next one, seconds."""
    at = messages.number % every == launch.slow[0]
    begins, numbers = messages.begin_ns[at], messages.number[at]
    return np.asarray(np.diff(begins)[np.diff(numbers) == every] * 1e-9, dtype=np.float64)


def _tail(launches: Sequence[Ordered]) -> list[TailPoint]:
    if min(launch.times_s.size for launch in launches) < FEWEST_IN_TAIL:
        return []
    pooled = np.sort(np.concatenate([launch.times_s for launch in launches]))
    shares = [share for share in _SHARES if share * pooled.size >= 1]
    times = np.quantile(pooled, [1.0 - share for share in shares])
    return [
        *(TailPoint(share=share, time_s=float(time)) for share, time in zip(shares, times, strict=True)),
        TailPoint(share=0.0, time_s=float(pooled[-1])),
    ]


def _drawn(one: _Launches, period: Period) -> DrawnMessages:
    """The launch whose slow messages are the median among launches."""
    order = sorted(range(len(period.launches)), key=lambda i: period.launches[i].slow_s)
    middle = order[len(order) // 2]
    messages = one.messages[middle]
    return DrawnMessages(
        launch=one.numbers[middle],
        numbers=[int(number) for number in messages.number[:MOST_DRAWN]],
        times_s=[float(time) for time in messages.times_s[:MOST_DRAWN]],
        slow_places=list(period.launches[middle].slow),
    )


# Cells whose very first allocation is not like the later ones: a remark, since medians over allocations hide it.
#
# Seen in logs of 1 KiB messages from 1 GiB of GPU memory: 0.88 ms for the first message of the first allocation, 3.4 ms
# for those of the next ones (docs/results/gpu.md).

ENOUGH_LATER = 4  # allocations on each side of a comparison: fewer have no 95 % interval of a shift
FEWEST = 3  # allocations: two later ones show how far they scatter
CLEAR_RATIO = 1.5  # beyond the nearest of the later ones
_MOST_LAUNCHES = 0.75  # in which it has to be so
_METRICS = ("one_way_s", "send_barrier_s")

ReducedSeries = dict[tuple[int, str, str], dict[int, tuple[int, Reduced]]]
Series = Mapping[tuple[int, str, str], Mapping[int, tuple[int, Reduced]]]


@dataclass(frozen=True)
class _Apart:
    """One cell. ratio: first allocation over the median of the later ones, median over launches."""

    label: str
    ratio: float
    first_s: float
    later_s: tuple[float, float]  # least and largest


def first_allocation_lines(cells: Sequence[Cell], by_series: Series) -> list[Line]:
    """At most one line, about the cell that shows it most; [] where no cell does.

    by_series: as Measurements has it; the samples of phase `first` are one for each allocation, in order.
    """
    judged = [one for cell in cells for metric in _METRICS if (one := _judge(cell, by_series, metric)) is not None]
    apart = [one for one in judged if isinstance(one, _Apart)]
    if not apart:
        return []
    top = max(apart, key=lambda one: abs(np.log(one.ratio)))
    low, high = (format_time(end) for end in top.later_s)
    text = (
        f"first allocation: its first message is unlike those of later allocations in {len(apart)} of {len(judged)} "
        f"cells: {format_time(top.first_s)} against {low} to {high} ({top.label}). Medians stand for the later ones."
    )
    return [Line(level="info", text=text, contrast=None)]


def without_first_allocation(by_series: ReducedSeries) -> ReducedSeries:
    """The series of an imported run, whose first messages are counted from the second allocation on.

    A part of a log begins with an allocation that is unlike the later ones, and there is one launch of it: the launches
    over which a measured run takes medians are missing. Where fewer than ENOUGH_LATER allocations would be left, all
    are counted.
    """
    return {
        key: {number: (launch, _later(one)) for number, (launch, one) in rounds.items()}
        if key[2] == "first"
        else rounds
        for key, rounds in by_series.items()
    }


def _later(one: Reduced) -> Reduced:
    if one.samples != one.kept_s.size or one.samples <= ENOUGH_LATER:
        return one
    kept_s = one.kept_s[1:]
    return replace(
        one,
        centre_s=float(quantiles(kept_s, [one.location])[0]),
        total_s=float(kept_s.sum()),
        samples=kept_s.size,
        kept_s=kept_s,
        tails=tails(kept_s),
        outliers=tukey(kept_s),
        within_ratio=within(kept_s),
    )


def _judge(cell: Cell, by_series: Series, metric: str) -> _Apart | bool | None:
    """None: this can't be asked of the cell; False: its first allocation is like the others."""
    if cell.parameters.get("live_buffers", "1") != "1":
        return None
    launches = by_series.get((cell.cell, metric, "first"), {})
    samples = [one.kept_s for _, one in launches.values() if one.samples == one.kept_s.size >= FEWEST]
    if not samples:
        return None
    below = sum(bool(sample[0] * CLEAR_RATIO < sample[1:].min()) for sample in samples)
    above = sum(bool(sample[0] > sample[1:].max() * CLEAR_RATIO) for sample in samples)
    if max(below, above) < _MOST_LAUNCHES * len(samples):
        return False
    later = np.concatenate([sample[1:] for sample in samples])
    ratio = float(np.median([sample[0] / np.median(sample[1:]) for sample in samples]))
    return _Apart(
        cell.label, ratio, float(np.median([sample[0] for sample in samples])), (float(later.min()), float(later.max()))
    )
