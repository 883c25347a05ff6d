# SPDX-License-Identifier: Apache-2.0
"""Two sides compared: ratio with interval, verdict, what a change removed, what was chosen among many. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from slowpath.stats.estimate import (
    Estimate,
    Floats,
    Interval,
    MeanWithT,
    Values,
    by_t,
    check_level,
    estimate_of,
    finite,
    mean,
    median,
    percent,
    positive,
    welch,
)

# Adjusted p values for a family of contrasts: with 50 of them, one has p < 0.05 nearly always.


def benjamini_hochberg(p_values: Values) -> Floats:
    """Adjusted p, shape (m,), in the order given: rejecting those <= q keeps the false discovery rate <= q.

    Holds for independent and for positively dependent tests.
    Source: Benjamini and Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x; Benjamini and Yekutieli 2001,
    theorem 1.2.
    """
    p = finite(p_values, "p values")
    if ((p < 0.0) | (p > 1.0)).any():
        raise ValueError(f"p values: each lies in [0, 1], got {p.min():g} to {p.max():g}")
    m = p.size
    order = np.argsort(p, kind="stable")
    scaled = p[order] * (m / np.arange(1, m + 1))  # a factor >= 1: rounding never makes p smaller
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


# The two-sample rank-sum (Mann-Whitney) test and its Hodges-Lehmann shift interval.
#
# U is counted over all pairs: how many b_j - a_i are positive. Ties count for whichever side makes p larger, so
# p is never too small and the shift interval, which holds the shifts that the test does not reject, never too short.
# The law is the normal one with continuity correction and the first Edgeworth term, whose error in P is 2e-6 for large
# equal sizes, 2e-5 for 20 on the smaller side, 2e-3 for 3.
# Source: Mann and Whitney 1947, doi 10.1214/aoms/1177730491; Fix and Hodges 1955, doi 10.1214/aoms/1177728547
# (Edgeworth); Hollander and Wolfe, 2nd ed., sections 4.1 to 4.3.


@dataclass(frozen=True)
class LocationShift:
    """Median of all b_j - a_i, and the interval of the shift of b against a (None: too few samples)."""

    value: float
    interval: Interval | None


def _lower_tail(u: int, n_a: int, n_b: int) -> float:
    """P(U <= u) when both samples come from one distribution."""
    pairs = n_a * n_b
    normal = NormalDist()
    z = (u + 0.5 - pairs / 2.0) / math.sqrt(pairs * (n_a + n_b + 1) / 12.0)
    excess = (n_a**2 + n_b**2 + pairs + n_a + n_b) / (20.0 * pairs * (n_a + n_b + 1))
    # No order is rarer than that in which all of one side stand first.
    return min(max(normal.cdf(z) + normal.pdf(z) * (z**3 - 3.0 * z) * excess, 1 / math.comb(n_a + n_b, n_a)), 1.0)


def rank_sum_p(a: Values, b: Values) -> float:
    """Two-sided p of "a and b come from one distribution". Conservative under ties.

    Args: a: shape (n_a,).  b: shape (n_b,).  Independent values within and between.
    """
    first, second = np.sort(finite(a, "a")), finite(b, "b")
    pairs = first.size * second.size
    above = int(np.searchsorted(first, second, side="left").sum())  # pairs with b > a
    below = pairs - int(np.searchsorted(first, second, side="right").sum())
    tails = (_lower_tail(pairs - count, first.size, second.size) for count in (above, below))
    return min(1.0, 2.0 * min(tails))


def rank_sum_shift(a: Values, b: Values, level: float = 0.95) -> LocationShift:
    """Return how far b lies above a, in the unit of the values (pass logarithms to get the logarithm of a ratio).

    Args: a: shape (n_a,).  b: shape (n_b,).  Independent values within and between.
    """
    check_level(level)
    first, second = finite(a, "a"), finite(b, "b")
    differences = np.sort(np.subtract.outer(second, first).ravel())
    pairs = differences.size
    value = median(differences)
    # The ends are the k-th difference from below and from above, k the number of u with P(U <= u) <= tail.
    tail = (1.0 - level) / 2.0
    k = bisect_right(range(pairs), tail, key=lambda u: _lower_tail(u, first.size, second.size))
    if k < 1:
        return LocationShift(value, None)
    achieved = 1.0 - 2.0 * _lower_tail(k - 1, first.size, second.size)
    return LocationShift(value, Interval(float(differences[k - 1]), float(differences[pairs - k]), achieved))


# How b compares with a: the ratio b / a, its intervals and its p. `judge` says what it means.
#
# Paired: launches of a and b stand in randomised interleaved pairs, so slow drift of the machine is common to
# both sides of a pair and cancels in the logarithm of their ratio. The estimate and its interval follow the
# table of `estimate`; p is the paired t test, because the smallest p of a signed-rank test with 8 pairs
# (0.0078) cannot survive the correction for some tens of contrasts.

NO_SPREAD = MeanWithT(0.0, None, None, None)
EQUIVALENCE_LEVEL = 0.90  # two one-sided tests at 5 % each: Schuirmann 1987, doi 10.1007/BF01068419


@dataclass(frozen=True, kw_only=True)
class ContrastEstimate(Estimate):
    """b over a: the value above 1 means that b takes longer. Intervals are of the ratio.

    n: pairs; unpaired: launches on the smaller side; within a launch: samples on the smaller side.  p: not corrected
    for the number of contrasts.  sd: of the log ratios of pairs (unpaired: of log launch medians, times sqrt 2).
    minimum_effect: smallest relative difference that counts, e.g. 0.03.  equivalence: the 90 % interval that "same" is
    judged by.  noise_ratio: by which repetitions of one side differ among themselves.
    """

    minimum_effect: float
    equivalence: Interval | None = None
    within_launch: bool = False
    noise_ratio: float = 1.0

    @property
    def ratio(self) -> float:
        return self.value


def _contrast(of_level: Callable[[float], Estimate], level: float, minimum_effect: float) -> ContrastEstimate:
    """Args: of_level: the estimate of the logarithm of the ratio, with the interval of a level."""
    inner = of_level(EQUIVALENCE_LEVEL).exp()
    equivalence = Interval(*inner.interval, inner.level) if inner.interval and inner.level else None
    return ContrastEstimate(**vars(of_level(level).exp()), minimum_effect=minimum_effect, equivalence=equivalence)


def paired(a: Values, b: Values, minimum_effect: float, *, level: float = 0.95) -> ContrastEstimate:
    """Contrast of launches measured in pairs.

    Args:    a, b: shape (pairs,), launch medians, > 0, one unit; a[j] and b[j] belong to one pair.
    Raises:  ValueError: unequal lengths, no pair, or a value that is not finite and positive.
    """
    first, second = positive(a, "a"), positive(b, "b")
    if first.size != second.size:
        raise ValueError(f"paired: a has {first.size} launches and b {second.size}; pairs need one of each")
    logs: Floats = np.log(second) - np.log(first)
    return _contrast(lambda level: estimate_of(logs, level, ("pair", "pairs")), level, minimum_effect)


def unpaired(
    a: Values, b: Values, minimum_effect: float, *, level: float = 0.95, spread: MeanWithT = NO_SPREAD
) -> ContrastEstimate:
    """Contrast of launches that were not interleaved, such as two runs: Welch's t on log launch medians.

    Args:    a: shape (launches_a,).  b: shape (launches_b,). Launch medians, > 0, one unit.
             spread: what else moves the logarithm of a ratio between two runs, as its standard error with its df.
    Returns: what separates the runs, drift included. No interval with fewer than 2 launches on a side.
    """
    first, second = positive(a, "a"), positive(b, "b")
    centre, n = welch(np.log(first), np.log(second)), min(first.size, second.size)
    if (sd := centre.sd) is None:
        alone = Estimate(centre.value, None, None, "one launch on a side, no interval", None, n)
        return _contrast(lambda _: alone, level, minimum_effect)
    if spread.se and spread.df:
        own = centre.se**4 / centre.df if centre.se and centre.df else 0.0
        se = math.hypot(centre.se or 0.0, spread.se)
        centre = replace(centre, se=se, df=se**4 / (own + spread.se**4 / spread.df))
    scaled = MeanWithT(centre.value, sd * math.sqrt(2.0), centre.se, centre.df)
    return _contrast(lambda level: by_t(scaled, n, level, "separate launches"), level, minimum_effect)


def within_launch(
    a_samples: Values, b_samples: Values, minimum_effect: float, *, level: float = 0.95, noise_ratio: float = 1.0
) -> ContrastEstimate:
    """Contrast inside one launch, or of logs that hold one launch each: what an imported log allows.

    Args:    a_samples: shape (n_a,).  b_samples: shape (n_b,). Times, > 0, one unit, independent, such as first
             messages of fresh allocations.  noise_ratio: by which repetitions of one side differ among themselves.
    Returns: ratio of the medians; interval of the shift of logarithms by the rank-sum law (None when the samples
             are too few); its p. Spread between launches is not in it, and `kind` says so.
    """
    first, second = np.log(positive(a_samples, "a")), np.log(positive(b_samples, "b"))
    centre, p, n = float(np.median(second) - np.median(first)), rank_sum_p(first, second), min(first.size, second.size)

    def of_level(level: float) -> Estimate:
        shift = rank_sum_shift(first, second, level).interval
        if shift is None:
            kind = f"{first.size} against {second.size} samples within one launch, no interval"
            return Estimate(centre, None, None, kind, None, n, p)
        return Estimate(
            centre, shift.low, shift.high, f"rank-sum {percent(level)} within one launch", shift.level, n, p
        )

    return replace(_contrast(of_level, level, minimum_effect), within_launch=True, noise_ratio=noise_ratio)


# The four verdict words, and how many more pairs of launches an undecided contrast needs.

Word = Literal["faster", "slower", "same", "undecided"]
WITHIN_NOISE = "within the log's own noise"

DEFAULT_PAIRS = 8
SIGNIFICANCE = 0.05
_POWER = 0.8
_FINEST_GAP = 0.25  # of the minimum effect: a closer decision would cost more than 16 times the pairs


@dataclass(frozen=True)
class ContrastVerdict:
    """What may be claimed about b over a, why, and what is missing when nothing may be."""

    word: Word
    reason: str
    more_pairs: int | None = None  # only when undecided


def judge(estimate: ContrastEstimate, p_adjusted: float | None) -> ContrastVerdict:
    """The verdict on one contrast.

    faster, slower: the interval excludes 1, the estimate lies beyond 1 -+ minimum_effect, and p_adjusted <=
    0.05.
    same:           the 90 % interval lies inside 1 -+ minimum_effect (two one-sided tests at 5 %), or the interval
                    within what repetitions of one side differ by.
    undecided:      everything else; never "no difference".

    Args:   p_adjusted: p after the correction over its family (`multiplicity`); None when there is none.
    Raises: ValueError: unless 0 <= estimate.minimum_effect < 1.
    """
    minimum_effect = estimate.minimum_effect
    if not 0.0 <= minimum_effect < 1.0:
        raise ValueError(f"minimum effect: a ratio from 0 to below 1, got {minimum_effect:g}")
    if estimate.level is None or estimate.low is None or estimate.high is None:
        return _undecided(estimate, estimate.kind)
    if 1.0 / estimate.noise_ratio < estimate.low <= estimate.high < estimate.noise_ratio:
        return ContrastVerdict("same", f"{WITHIN_NOISE} of {estimate.noise_ratio:.3g}x")
    beyond = estimate.ratio > 1.0 + minimum_effect or estimate.ratio < 1.0 - minimum_effect
    excludes = estimate.low > 1.0 or estimate.high < 1.0
    if beyond and excludes and p_adjusted is not None and p_adjusted <= SIGNIFICANCE:
        word: Word = "slower" if estimate.ratio > 1.0 else "faster"
        return ContrastVerdict(word, f"interval excludes 1, beyond {minimum_effect:.3g}, adjusted p {p_adjusted:.2g}")
    inner = estimate.equivalence
    if inner is not None and 1.0 - minimum_effect < inner.low and inner.high < 1.0 + minimum_effect:
        return ContrastVerdict("same", f"90 % interval inside 1 +- {minimum_effect:.3g}")
    return _undecided(estimate, _why(beyond, excludes, p_adjusted, minimum_effect))


def _why(beyond: bool, excludes: bool, p_adjusted: float | None, minimum_effect: float) -> str:
    if not excludes:
        return "the interval contains 1"
    if not beyond:
        return f"the difference is below {100 * minimum_effect:.3g} %"
    if p_adjusted is None:
        return "no p value"
    return f"adjusted p {p_adjusted:.2g} > {SIGNIFICANCE:g}: not significant among so many contrasts"


def pairs_needed(sd_log: float, minimum_effect: float, power: float = _POWER) -> int:
    """Pairs of launches that find a ratio of 1 + minimum_effect with this power at 5 %.

    ((z_0.975 + z_power) sd_log / ln(1 + minimum_effect))^2 + 2, rounded up; the 2 stands for estimating
    sd_log.
    Source: normal sample-size formula, e.g. Lehr 1992, doi 10.1002/sim.4780110811.
    """
    check_level(power)
    if sd_log < 0.0 or minimum_effect <= 0.0:
        raise ValueError(f"pairs_needed: sd_log >= 0 and an effect > 0, got {sd_log:g} and {minimum_effect:g}")
    z = NormalDist().inv_cdf(1.0 - SIGNIFICANCE / 2.0) + NormalDist().inv_cdf(power)
    return math.ceil((z * sd_log / math.log1p(minimum_effect)) ** 2 + 2.0)


def _undecided(estimate: ContrastEstimate, reason: str) -> ContrastVerdict:
    return ContrastVerdict("undecided", reason, _more_pairs(estimate))


def _more_pairs(estimate: ContrastEstimate) -> int:
    if estimate.within_launch:
        return DEFAULT_PAIRS  # samples of one launch are no pairs: all of them are still to be measured
    minimum_effect = estimate.minimum_effect
    missing = max(DEFAULT_PAIRS - estimate.n, 0)
    if estimate.sd is None or estimate.level is None or minimum_effect == 0.0:
        return max(missing, 1)
    missing = max(missing, pairs_needed(estimate.sd, minimum_effect) - estimate.n)
    if missing > 0:
        return missing
    # Enough pairs for the minimum effect, so the estimate stands near it: size the run for that distance.
    full = math.log1p(minimum_effect)
    gap = max(abs(abs(math.log(estimate.ratio)) - full), _FINEST_GAP * full)
    return max(pairs_needed(estimate.sd, math.expm1(gap)) - estimate.n, 1)


# How much of the gap between a slow and a fast side a change removes.

_RESAMPLES = 4000
_NO_GAP = 0.005  # of the resamples in which slow may not be slower than fast


@dataclass(frozen=True)
class Removed:
    """value: 1: all of the gap is gone; 0: none; negative: it grew.  interval: 95 %, by bootstrap over rounds.

    excess_s, left_s: the gap before and after the change.
    """

    value: float
    interval: tuple[float, float]
    excess_s: float
    left_s: float


def removed(slow: Values, slow_changed: Values, fast: Values, fast_changed: Values) -> Removed | None:
    """1 - (slow_changed - fast_changed) / (slow - fast) of medians over rounds.

    Args:    shape (rounds,) each, seconds; the i-th values belong to one round.
    Returns: None where slow is not slower than fast in nearly every resample: there is no gap then.
    Raises:  ValueError: empty, unequal lengths, or a value that is not finite and positive.
    """
    times = np.array([positive(side, "times") for side in (slow, slow_changed, fast, fast_changed)])
    chosen = np.random.default_rng(0).integers(0, times.shape[1], size=(_RESAMPLES, times.shape[1]))
    before, after, reference, changed = np.median(times[:, chosen], axis=2)
    gap = before - reference
    if np.mean(gap <= 0) > _NO_GAP:
        return None
    shares = 1 - (after - changed)[gap > 0] / gap[gap > 0]
    centre = np.median(times, axis=1)
    excess_s, left_s = float(centre[0] - centre[2]), float(centre[1] - centre[3])
    value = 1 - left_s / excess_s
    low, high = np.quantile(shares, [0.025, 0.975])
    return Removed(value, (min(float(low), value), max(float(high), value)), excess_s, left_s)


# An interval of a mean that holds at every number of values at once, so that one may look after each and stop.
#
# Of normal values with unknown spread, the Bayes factor of a normal prior on mean / sd is a martingale under each mean,
# whatever the spread; by Ville's inequality it passes 1 / alpha at any time with probability alpha at most. The
# interval holds the means that have not passed it. Values that are symmetric with longer tails widen it (as they do
# Student's). Source: Lai 1976, doi 10.1214/aos/1176343406; Wang and Ramdas 2023, arXiv 2310.03722.

# Variance of the prior on mean / sd. Larger: sooner decided where the effect is many times the spread, later near it.
PRIOR = 4.0


def critical_t(n: int, level: float) -> float:
    """The t of `n` values beyond which a mean is excluded; inf: so few exclude nothing."""
    check_level(level)
    if n < 2:
        return math.inf
    spread = 1.0 + n * PRIOR
    limit = math.exp(2.0 / n * (-math.log1p(-level) + 0.5 * math.log(spread)))
    if limit >= spread:
        return math.inf
    return math.sqrt((n - 1) * (limit - 1.0) / (1.0 - limit / spread))


def interval(values: Values, level: float = 0.95) -> Interval | None:
    """Return the interval of the mean of independent values.

    Args: values, shape (n,).
    Returns: None with too few values, or where all are equal.
    """
    estimate = mean(values)
    n = len(values)
    critical = critical_t(n, level)
    if estimate.se is None or math.isinf(critical):
        return None
    return Interval(estimate.value - critical * estimate.se, estimate.value + critical * estimate.se, level)


def half_width(n: int, sd: float, level: float) -> float:
    """Return half the width of the interval of `n` values with this spread."""
    return critical_t(n, level) * sd / math.sqrt(n)


CONTROL_WITHIN_RATIO = 1.1


def held(ratio: float, interval: tuple[float, float], effect: float) -> bool:
    """Whether a negative control stayed: within 10 %, and its interval leaves open less than half of the effect.

    Args: effect: a ratio above 1; its root is half of it in logarithms.
    """
    low, high = interval
    return 1 / CONTROL_WITHIN_RATIO <= ratio <= CONTROL_WITHIN_RATIO and max(high, 1 / low) < effect**0.5
