# SPDX-License-Identifier: Apache-2.0
"""First allocations of imported logs that are not like later ones. Pure."""

from __future__ import annotations

from dataclasses import replace

from slowpath.experiments.measured import Reduced
from slowpath.stats.estimate import quantiles
from slowpath.stats.launches import tails, within

# Seen in logs of 1 KiB messages from 1 GiB of GPU memory: 0.88 ms for the first message of the first allocation, 3.4 ms
# for those of the next ones (docs/results/gpu.md).

ENOUGH_LATER = 4  # allocations on each side of a comparison: fewer have no 95 % interval of a shift

ReducedSeries = dict[tuple[int, str, str], dict[int, tuple[int, Reduced]]]


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
