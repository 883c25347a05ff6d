# SPDX-License-Identifier: Apache-2.0
"""First allocations that are not like later ones: a remark, since medians over allocations hide it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from slowpath.core.plan import Cell
from slowpath.core.results import Line
from slowpath.core.units import format_time
from slowpath.experiments.measured import Reduced
from slowpath.stats.estimate import quantiles
from slowpath.stats.launches import tails, within

# Seen in logs of 1 KiB messages from 1 GiB of GPU memory: 0.88 ms for the first message of the first allocation, 3.4 ms
# for those of the next ones (docs/results/gpu.md).

ENOUGH_LATER = 4  # allocations on each side of a comparison: fewer have no 95 % interval of a shift
FEWEST = 3  # allocations: two later ones show how far they scatter
CLEAR_RATIO = 1.5  # beyond the nearest of the later ones
_MOST_LAUNCHES = 0.75  # in which it has to be so
_METRICS = ("one_way_s", "send_barrier_s")

ReducedSeries = dict[tuple[int, str, str], dict[int, tuple[int, Reduced]]]


@dataclass(frozen=True)
class _Apart:
    """One cell. ratio: first allocation over the median of the later ones, median over launches."""

    label: str
    ratio: float
    first_s: float
    later_s: tuple[float, float]  # least and largest


def first_allocation_lines(cells: Sequence[Cell], by_series: ReducedSeries) -> list[Line]:
    """At most one line, about the cell that shows it most; [] where no cell does.

    by_series: as Measurements has it; the samples of phase `first` are one for each allocation, in order.
    """
    judged = [
        judgement for cell in cells for metric in _METRICS if (judgement := _judge(cell, by_series, metric)) is not None
    ]
    apart = [judgement for judgement in judged if isinstance(judgement, _Apart)]
    if not apart:
        return []
    top = max(apart, key=lambda side: abs(np.log(side.ratio)))
    low, high = (format_time(end) for end in top.later_s)
    text = (
        f"In {len(apart)} of {len(judged)} cells the first allocation differs from later ones, which alone count: "
        f"{format_time(top.first_s)} vs {low} to {high} ({top.label})."
    )
    return [Line(level="info", text=text, contrast=None)]


def without_first_allocation(by_series: ReducedSeries) -> ReducedSeries:
    """The series of an imported run, whose first messages are counted from the second allocation on.

    A part of a log begins with an allocation that is unlike the later ones, and there is one launch of it. Where fewer
    than ENOUGH_LATER allocations would be left, all are counted.
    """
    return {
        key: {number: (launch, _later(reduced)) for number, (launch, reduced) in rounds.items()}
        if key[2] == "first"
        else rounds
        for key, rounds in by_series.items()
    }


def _later(reduced: Reduced) -> Reduced:
    if reduced.samples != reduced.kept_s.size or reduced.samples <= ENOUGH_LATER:
        return reduced
    kept_s = reduced.kept_s[1:]
    table = tails(kept_s)
    return replace(
        reduced,
        centre_s=float(quantiles(kept_s, [reduced.location])[0]),
        total_s=float(kept_s.sum()),
        samples=kept_s.size,
        kept_s=kept_s,
        tails=table,
        within_ratio=within(kept_s, table.p50),
        repeats_ratio=float(reduced.kept_s.max() / reduced.kept_s.min()),
    )


def _judge(cell: Cell, by_series: ReducedSeries, metric: str) -> _Apart | bool | None:
    """None: this can't be asked of the cell; False: its first allocation is like the others."""
    if cell.parameters.get("live_buffers", "1") != "1":
        return None
    launches = by_series.get((cell.cell, metric, "first"), {})
    samples = [reduced.kept_s for _, reduced in launches.values() if reduced.samples == reduced.kept_s.size >= FEWEST]
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
