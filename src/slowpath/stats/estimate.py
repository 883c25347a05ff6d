# SPDX-License-Identifier: Apache-2.0
"""One number and its interval from the medians of launches: the launch is the unit of replication.

Samples of one launch share that launch's placement, page layout and neighbours, so an interval over samples
says how well one
launch is known, not how well the cell is: with a launch effect of 2 % a nominal 95 % interval over 1000
samples holds the truth about one time in ten (tests/unit/stats/test_coverage.py). Logarithms, because noise
on times is multiplicative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from slowpath.stats import orderstat, signedrank, student
from slowpath.stats.inputs import Floats, Values, group_medians, median, positive
from slowpath.stats.interval import Interval, percent

SIGNED_RANK_LAUNCHES = 6  # below this the exact signed-rank interval at 95 % does not exist
T_LAUNCHES = 3
LAG_SAMPLES = 10  # consecutive samples of a launch are correlated; medians of this many nearly are not


@dataclass(frozen=True)
class Estimate:
    """A centre, what lies around it and how that came about; all in the unit of the input."""

    value: float
    low: float | None
    high: float | None
    kind: str
    level: float | None  # None: low and high (if any) are a range, not a confidence interval
    n: int  # launches; samples for an estimate within one launch
    t: Interval | None = None  # the t interval, stored next to the signed-rank one

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


def estimate_over_launches(launch_medians: Values, level: float = 0.95) -> Estimate:
    """Centre and interval over launches.

    Args:    launch_medians: shape (launches,), one median per launch, > 0, any unit.
    Returns: 1 launch: the value alone. 2: geometric mean and range. 3 to 5: geometric mean and t interval on
             logarithms. 6 and more: Hodges-Lehmann estimate on logarithms and exact signed-rank interval, the
             t interval next to it.
    Raises:  ValueError: empty, or a value that is not finite and positive.
    """
    medians = positive(launch_medians, "launch medians")
    n = medians.size
    logs: Floats = np.log(medians)
    if n == 1:
        return Estimate(float(medians[0]), None, None, "one launch, no interval over launches", None, 1)
    centre = student.mean(logs)
    if n < T_LAUNCHES:
        kind = f"range of {n} launches, no interval"
        return Estimate(math.exp(centre.value), float(medians.min()), float(medians.max()), kind, None, n)
    t = centre.interval(level)
    t = None if t is None else t.exp()
    if n >= SIGNED_RANK_LAUNCHES:
        rank = signedrank.hodges_lehmann(logs, level)
        if rank.interval is not None:
            found = rank.interval.exp()
            kind = f"signed-rank {percent(level)}"
            return Estimate(math.exp(rank.value), found.low, found.high, kind, found.level, n, t)
    if t is None:
        return Estimate(math.exp(centre.value), None, None, "launch medians are equal, no interval", None, n)
    return Estimate(math.exp(centre.value), t.low, t.high, f"t {percent(level)} on log launch medians", level, n, t)


def estimate_within_launch(samples: Values, level: float = 0.95, lag: int = LAG_SAMPLES) -> Estimate:
    """Median of one launch's samples with the order-statistic interval over medians of `lag` consecutive
    samples.

    Args: samples: shape (n,) in the order of measurement, > 0.  lag: 1 where samples are independent, such as
          the first messages of fresh allocations.
    The interval says nothing about other launches, and its kind says so.
    """
    array = positive(samples, "samples")
    if lag < 1:
        raise ValueError(f"lag: at least 1, got {lag}")
    value = median(array)
    found = orderstat.quantile_interval(group_medians(array, lag), 0.5, level) if array.size >= lag else None
    if found is None:
        needed = orderstat.minimal_n(0.5, level) * lag
        return Estimate(
            value, None, None, f"one launch, {array.size} samples < {needed}, no interval", None, array.size
        )
    kind = "order statistics within one launch"
    return Estimate(value, found.low, found.high, kind, found.level, array.size)
