# SPDX-License-Identifier: Apache-2.0
"""Estimates of a centre with their intervals: order statistics, Student's t, signed ranks. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# What every statistic asks of its values, in one place.

Floats: TypeAlias = NDArray[np.float64]
Ranks: TypeAlias = NDArray[np.intp]
Values: TypeAlias = NDArray[Any] | Sequence[float]


def finite(values: Values, name: str = "values") -> Floats:
    """`values` as a non-empty one-dimensional float64 array, shape (n,).

    Raises: ValueError when it is empty, not one-dimensional, or holds a value that is not finite.
    """
    array: Floats = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: a non-empty one-dimensional array is needed, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: every value must be finite; leave missing values out instead")
    return array


def positive(values: Values, name: str = "values") -> Floats:
    """Like `finite`, and every value > 0: times and rates, whose logarithm is taken.

    Raises: ValueError as `finite`, and when a value is zero or negative.
    """
    array = finite(values, name)
    if not (array > 0).all():
        raise ValueError(f"{name}: every value must be > 0, the smallest is {array.min():g}")
    return array


def median(values: Values) -> float:
    """`numpy.median` of values, shape (n,), n >= 1, none of them NaN, to the last bit in a fifth of its time for few.

    An analysis takes tens of thousands of medians of a handful of launches or some hundred samples.
    """
    array = np.array(values, dtype=np.float64)
    ranks = [(array.size - 1) // 2, array.size // 2]
    if array.size < WORTH_BINS:
        array.partition(ranks)
        low, high = array[ranks[0]], array[ranks[1]]
    else:
        low, high = _at_ranks(array, ranks)
    return float(high if array.size % 2 else (low + high) / 2.0)


WORTH_BINS = 2048  # values
_BIN_BITS = 12


def _at_ranks(array: Floats, ranks: Ranks | list[int]) -> Floats:
    """What a sort would put at these ranks. Of many values those alone are sorted that share a bin with one of them,
    which takes a fifth of a sort of 10^4 times.

    Bins are of the leading bits: floats from +0 on are ordered as the integers of the same bits are (IEEE 754).
    """
    bits = array.view(np.int64)
    least = int(bits.min()) if array.size >= WORTH_BINS else -1
    if least < 0:
        array = array.copy()
        array.partition(ranks)
        return array[ranks]
    bins = bits - least
    bins >>= max(0, int(bins.max()).bit_length() - _BIN_BITS)
    counts = np.bincount(bins)
    ends = counts.cumsum()
    at = ends.searchsorted(ranks, side="right")
    is_near = np.zeros(counts.size, dtype=np.bool_)
    is_near[at] = True
    near = np.sort(array[is_near[bins]])
    at_ranks: Floats = near[(counts * is_near).cumsum()[at] - ends[at] + ranks]
    return at_ranks


def group_medians(array: Floats, size: int) -> Floats:
    """Medians of `size` consecutive values, shape (n // size,); what is left over at the end is not used."""
    groups = array.size // size
    medians: Floats = np.median(array[: groups * size].reshape(groups, size), axis=1)
    return medians


def check_level(level: float) -> None:
    """Check that a confidence level lies between 0 and 1.  Raises: ValueError: it does not."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: a confidence level lies between 0 and 1, got {level:g}")


# A confidence interval and the level that it really has.


@dataclass(frozen=True)
class Interval:
    """Closed interval [low, high], in the unit of the values it was made from."""

    low: float
    high: float
    level: float  # achieved by an exact method (at least what was asked for); nominal for a t interval

    def exp(self) -> Interval:
        """Return the interval of values or ratios whose logarithms this interval holds."""
        return Interval(math.exp(self.low), math.exp(self.high), self.level)

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


def percent(level: float) -> str:
    """0.95 -> "95 %"."""
    return f"{100 * level:g} %"


# Quantiles, and the exact distribution-free interval of one quantile from order statistics.
#
# With n independent values, the number that lie below the p-quantile is binomial(n, p); so the order statistics
# x_(r) and x_(s) enclose the quantile with a probability that is known exactly, whatever the distribution is.
# Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2; David and Nagaraja, Order
# Statistics, section 7.1.


@dataclass(frozen=True)
class OrderRanks:
    """1-based ranks of the two order statistics that bound the interval, and its exact level."""

    low: int
    high: int
    level: float


def _binomial_quantile(probability: float, n: int, p: float) -> int:
    """Smallest k with P(B <= k) >= probability, B binomial(n, p)."""
    from scipy import special

    guess = float(special.bdtrik(probability, n, p))
    # The continuous inverse may be off by one where the distribution function jumps, and is undefined below
    # it.
    k = min(max(math.ceil(guess), 0), n) if math.isfinite(guess) else 0
    while k > 0 and float(special.bdtr(k - 1, n, p)) >= probability:
        k -= 1
    while k < n and float(special.bdtr(k, n, p)) < probability:
        k += 1
    return k


def interval_ranks(n: int, p: float = 0.5, level: float = 0.95) -> OrderRanks | None:
    """Ranks of the equal-tailed interval of the p-quantile of n independent values.

    Returns: None when n is too small for both ends to exist; see `minimal_n`.
    Raises:  ValueError: n < 1, p or level not between 0 and 1.
    """
    check_level(level)
    if n < 1 or not 0.0 < p < 1.0:
        raise ValueError(f"interval_ranks: needs n >= 1 and 0 < p < 1, got n={n}, p={p:g}")
    from scipy import special

    tail = (1.0 - level) / 2.0
    low = _binomial_quantile(tail, n, p)
    high = _binomial_quantile(1.0 - tail, n, p) + 1
    if low < 1 or high > n:
        return None
    achieved = float(special.bdtr(high - 1, n, p)) - float(special.bdtr(low - 1, n, p))
    return OrderRanks(low, high, achieved)


def minimal_n(p: float, level: float = 0.95) -> int:
    """Smallest n for which the two-sided interval of the p-quantile exists: max(p, 1 - p)^n <= (1 - level) /
    2.
    """
    check_level(level)
    if not 0.0 < p < 1.0:
        raise ValueError(f"minimal_n: a quantile lies between 0 and 1, got {p:g}")
    return math.ceil(math.log((1.0 - level) / 2.0) / math.log(max(p, 1.0 - p)))


def quantile_interval(values: Values, p: float = 0.5, level: float = 0.95) -> Interval | None:
    """Interval of the p-quantile of independent values, shape (n,). None when n < minimal_n(p, level)."""
    array = np.sort(finite(values))
    ranks = interval_ranks(array.size, p, level)
    if ranks is None:
        return None
    return Interval(float(array[ranks.low - 1]), float(array[ranks.high - 1]), ranks.level)


def quantiles(values: Values, probabilities: Sequence[float]) -> Floats:
    """Quantiles of type 7 (Hyndman and Fan 1996): linear between the order statistics around (n - 1) p,
    0-based.

    Args:    values: shape (n,), n >= 1, any numeric type; not changed.  probabilities: each in [0, 1].
    Returns: shape (len(probabilities),), in the unit of the values.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"quantiles: a non-empty one-dimensional array is needed, got shape {array.shape}")
    above_low, ranks = _ranks_among(array.size, tuple(probabilities))
    low, high = _at_ranks(array, ranks).reshape(2, -1)
    result: Floats = low + above_low * (high - low)
    return result


@lru_cache(maxsize=1024)  # an analysis asks tens of thousands of times, for a handful of lengths
def _ranks_among(size: int, probabilities: tuple[float, ...]) -> tuple[Floats, Ranks]:
    """0-based ranks below all quantiles, then those above them, and how far the quantiles lie above the former."""
    position = (size - 1) * np.asarray(probabilities, dtype=np.float64)
    if not ((position >= 0) & (position <= size - 1)).all():
        raise ValueError(f"quantiles: probabilities lie in [0, 1], got {list(probabilities)}")
    below = np.floor(position).astype(np.intp)
    above_low, ranks = position - below, np.concatenate([below, np.minimum(below + 1, size - 1)])
    above_low.flags.writeable = ranks.flags.writeable = False
    return above_low, ranks


# Student's t: interval and p of a mean, and Welch's version for two independent samples.
#
# Used on logarithms of launch medians only, never on raw samples. Values that are all equal say nothing about
# their spread (a coarse clock or a rounded log makes them so), therefore they give no interval and no p, rather
# than p = 0.
# Source: Student 1908, doi 10.1093/biomet/6.1.1; Welch 1947, doi 10.1093/biomet/34.1-2.28.


@dataclass(frozen=True)
class MeanWithT:
    """A mean (or a difference of means), with what its t law needs. se and df are None when they cannot be
    estimated.
    """

    value: float
    sd: float | None
    se: float | None
    df: float | None

    def interval(self, level: float = 0.95) -> Interval | None:
        """Two-sided t interval; None when the standard error is unknown or zero."""
        check_level(level)
        if self.se is None or self.df is None:
            return None
        from scipy import special

        half = float(special.stdtrit(self.df, 0.5 + level / 2.0)) * self.se
        return Interval(self.value - half, self.value + half, level)

    def further_above(self, level: float = 0.95) -> float | None:
        """Lower bound of one further value of the same kind, one-sided; None where `interval` is.

        It is lower than that of the mean, which says little of the next value (Hahn and Meeker, Statistical Intervals,
        1991, chapter 4).
        """
        check_level(level)
        if self.sd is None or self.df is None:
            return None
        from scipy import special

        return self.value - float(special.stdtrit(self.df, level)) * self.sd * math.sqrt(1 + 1 / (self.df + 1))

    def p(self) -> float | None:
        """Two-sided p of "the true value is 0"; None when the standard error is unknown or zero."""
        if self.se is None or self.df is None:
            return None
        from scipy import special

        return min(1.0, 2.0 * float(special.stdtr(self.df, -abs(self.value) / self.se)))


# Below this share of the value, a spread is rounding error of the arithmetic, not of the measurement.
_EQUAL_RATIO = 1e-13


def mean(values: Values) -> MeanWithT:
    """Mean of independent values, shape (n,), n >= 1."""
    array = finite(values)
    n = array.size
    value = float(array.mean())
    if n < 2:
        return MeanWithT(value, None, None, None)
    sd = float(array.std(ddof=1))
    if sd <= _EQUAL_RATIO * max(1.0, abs(value)):
        return MeanWithT(value, 0.0, None, None)
    return MeanWithT(value, sd, sd / math.sqrt(n), float(n - 1))


def welch(a: Values, b: Values) -> MeanWithT:
    """mean(b) - mean(a) with Welch's standard error and degrees of freedom; sd is the root mean square of
    both.
    """
    first, second = mean(a), mean(b)
    value = second.value - first.value
    if first.sd is None or second.sd is None:
        return MeanWithT(value, None, None, None)
    part_a, part_b = first.sd**2 / len(a), second.sd**2 / len(b)
    sd = math.sqrt(0.5 * (first.sd**2 + second.sd**2))
    if part_a + part_b == 0.0:
        return MeanWithT(value, 0.0, None, None)
    df = (part_a + part_b) ** 2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1))
    return MeanWithT(value, sd, math.sqrt(part_a + part_b), df)


# Wilcoxon's signed-rank test and the Hodges-Lehmann estimate, both exact.
#
# The statistic is counted over the Walsh averages (x_i + x_j) / 2, i <= j: T+ is how many of them are positive.
# In that form
# the test and the interval are one thing: the interval holds exactly the shifts that the test does not reject.
# Ties and zeros are resolved against rejection (a Walsh average of zero counts for whichever side makes p
# larger), so p is never too small.
# Source: Hollander and Wolfe, Nonparametric Statistical Methods, 2nd ed., sections 3.1 to 3.3.


@dataclass(frozen=True)
class HodgesLehmann:
    """The median of the Walsh averages, and its exact interval (None when n is too small for the level)."""

    value: float
    interval: Interval | None


@lru_cache(maxsize=128)
def cumulative_law(n: int) -> Floats:
    """P(T+ <= t) for t = 0 .. n(n+1)/2 when n >= 1 values are symmetric about zero; n^3 / 3 additions."""
    probability = np.ones(1)
    for rank in range(1, n + 1):
        probability = 0.5 * (np.pad(probability, (0, rank)) + np.pad(probability, (rank, 0)))
    law: Floats = np.minimum(np.cumsum(probability), 1.0)
    law.setflags(write=False)
    return law


def _walsh_averages(array: Floats) -> Floats:
    i, j = np.triu_indices(array.size)
    averages: Floats = 0.5 * array[i] + 0.5 * array[j]
    return averages


def p_value(differences: Values) -> float:
    """Exact two-sided p of "the differences are symmetric about zero"; conservative under ties and zeros.

    Args: differences: shape (n,), independent.
    """
    array = finite(differences, "differences")
    averages = _walsh_averages(array)
    law = cumulative_law(array.size)
    # The law is symmetric: P(T >= t) = P(T <= total - t).
    tails = (float(law[averages.size - int(np.count_nonzero(side))]) for side in (averages > 0, averages < 0))
    return min(1.0, 2.0 * min(tails))


def hodges_lehmann(values: Values, level: float = 0.95) -> HodgesLehmann:
    """Hodges-Lehmann estimate of the centre of symmetry, with its exact interval.

    Args:    values: shape (n,), independent, from one symmetric distribution.  level: asked for, e.g. 0.95
             needs n >= 6.
    Returns: value and interval in the unit of the values; interval.level is what the discrete law really
             gives.
    """
    check_level(level)
    array = finite(values)
    averages = np.sort(_walsh_averages(array))
    law = cumulative_law(array.size)
    # K is the number of values t = 0, 1, ... with P(T+ <= t) <= tail: the ends are the K-th from below and
    # from above.
    k = int(np.searchsorted(law, (1.0 - level) / 2.0 * (1.0 + 1e-12), side="right"))
    value = median(averages)
    if k < 1:
        return HodgesLehmann(value, None)
    interval = Interval(float(averages[k - 1]), float(averages[averages.size - k]), 1.0 - 2.0 * float(law[k - 1]))
    return HodgesLehmann(value, interval)


# One number and its interval from the medians of launches: the launch is the unit of replication.
#
# Samples of one launch share that launch's placement, page layout and neighbours, so an interval over samples
# says how well one
# launch is known, not how well the cell is: with a launch effect of 2 % a nominal 95 % interval over 1000
# samples holds the truth about one time in ten (tests/unit/stats/test_coverage.py). Logarithms, because noise
# on times is multiplicative.

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
    p: float | None = None  # two-sided, of "the centre is 0" (of a ratio: 1)
    sd: float | None = None  # of the values (of a ratio: of their logarithms)

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    def exp(self) -> Estimate:
        """Return the estimate of values or ratios whose logarithms this one is of."""
        low, high = map(math.exp, self.interval) if self.interval else (None, None)
        return replace(self, value=math.exp(self.value), low=low, high=high)


def by_t(centre: MeanWithT, n: int, level: float, over: str) -> Estimate:
    """Return a mean with its t interval.  Args: over: what it is taken over, in words."""
    t = centre.interval(level)
    if t is None:
        return Estimate(centre.value, None, None, f"{over} are equal, no interval", None, n, None, centre.sd)
    return Estimate(centre.value, t.low, t.high, f"t {percent(level)} over {over}", level, n, centre.p(), centre.sd)


def estimate_of(values: Values, level: float = 0.95, of: tuple[str, str] = ("launch", "launches")) -> Estimate:
    """Centre and interval of independent values, shape (n,).

    Args:    of: what each is of, in words: one, and several.
    Returns: 1 value: itself alone. 2: mean and range. 3 to 5: mean and t interval. 6 and more: Hodges-Lehmann estimate
             and exact signed-rank interval.
    """
    array = finite(values, of[1])
    centre, n = mean(array), array.size
    if n == 1:
        return Estimate(centre.value, None, None, f"one {of[0]}, no interval", None, 1)
    if n < T_LAUNCHES:
        low, high, kind = float(array.min()), float(array.max()), f"range of {n} {of[1]}, no interval"
        return Estimate(centre.value, low, high, kind, None, n, None, centre.sd)
    rank = hodges_lehmann(array, level) if n >= SIGNED_RANK_LAUNCHES else None
    if rank is None or rank.interval is None:
        return by_t(centre, n, level, of[1])
    p, interval = centre.p(), rank.interval
    p = p_value(array) if p is None else p
    return Estimate(
        rank.value, interval.low, interval.high, f"signed-rank {percent(level)}", interval.level, n, p, centre.sd
    )


def estimate_over_launches(launch_medians: Values, level: float = 0.95) -> Estimate:
    """`estimate_of` on logarithms of one median per launch, > 0, any unit: the mean is the geometric one."""
    return estimate_of(np.log(positive(launch_medians, "launch medians")), level).exp()


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
    interval = quantile_interval(group_medians(array, lag), 0.5, level) if array.size >= lag else None
    if interval is None:
        needed = minimal_n(0.5, level) * lag
        return Estimate(
            value, None, None, f"one launch, {array.size} samples < {needed}, no interval", None, array.size
        )
    kind = "order statistics within one launch"
    return Estimate(value, interval.low, interval.high, kind, interval.level, array.size)
