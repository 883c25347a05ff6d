# SPDX-License-Identifier: Apache-2.0
"""How b compares with a: the ratio b / a, its intervals and its p. What the ratio means is decided in
`verdict`.

Paired: launches of a and b stand in randomised interleaved pairs, so slow drift of the machine is common to
both sides of a pair and cancels in the logarithm of their ratio. The estimate and its interval follow the
table of `estimate`; p is the paired t test, because the smallest p of a signed-rank test with 8 pairs
(0.0078) cannot survive the correction for some tens of contrasts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from slowpath.stats import ranksum, signedrank, student
from slowpath.stats.estimate import SIGNED_RANK_LAUNCHES, T_LAUNCHES
from slowpath.stats.inputs import Floats, Values, group_medians, positive
from slowpath.stats.interval import Interval, percent

EQUIVALENCE_LEVEL = 0.90  # two one-sided tests at 5 % each: Schuirmann 1987, doi 10.1007/BF01068419


@dataclass(frozen=True)
class ContrastEstimate:
    """b over a; ratio > 1 means that b takes longer. Intervals are of the ratio."""

    ratio: float
    low: float | None
    high: float | None
    kind: str
    level: float | None  # None: low and high (if any) are a range; nothing can be concluded from them
    n: int  # pairs; unpaired: launches on the smaller side; within a launch: samples on the smaller side
    minimum_effect: float  # smallest relative difference that counts, e.g. 0.03
    p: float | None = None  # two-sided, of "the ratio is 1", not corrected for the number of contrasts
    equivalence: Interval | None = None  # the 90 % interval that "same" is judged by
    t: Interval | None = None
    sd_log: float | None = None  # of the log ratios of pairs (unpaired: of log launch medians, times sqrt 2)
    within_launch: bool = False

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


def paired(a: Values, b: Values, minimum_effect: float, *, level: float = 0.95) -> ContrastEstimate:
    """Contrast of launches measured in pairs.

    Args:    a, b: shape (pairs,), launch medians, > 0, one unit; a[j] and b[j] belong to one pair.
    Returns: 1 pair: the ratio alone (see `within_launch`). 2: geometric mean and range. 3 to 5: geometric
             mean and t interval. 6 and more: Hodges-Lehmann estimate and exact signed-rank interval. p from 3
             pairs on.
    Raises:  ValueError: empty, unequal lengths, or a value that is not finite and positive.
    """
    first, second = positive(a, "a"), positive(b, "b")
    if first.size != second.size:
        raise ValueError(f"paired: a has {first.size} launches and b {second.size}; pairs need one of each")
    d: Floats = np.log(second) - np.log(first)
    n = d.size
    centre = student.mean(d)
    ratio = math.exp(centre.value)
    if n == 1:
        return ContrastEstimate(ratio, None, None, "one pair of launches, no interval", None, 1, minimum_effect)
    if n < T_LAUNCHES:
        low, high = math.exp(float(d.min())), math.exp(float(d.max()))
        kind = f"range of {n} pairs, no interval"
        return ContrastEstimate(ratio, low, high, kind, None, n, minimum_effect, sd_log=centre.sd)
    if n >= SIGNED_RANK_LAUNCHES:
        ranked = _signed_rank(d, centre, minimum_effect, level)
        if ranked is not None:
            return ranked
    return _student(centre, n, minimum_effect, level, f"t {percent(level)} on log ratios of pairs")


def _signed_rank(d: Floats, centre: student.MeanWithT, minimum_effect: float, level: float) -> ContrastEstimate | None:
    found = signedrank.hodges_lehmann(d, level)
    if found.interval is None:
        return None
    interval = found.interval.exp()
    t = centre.interval(level)
    p_t = centre.p()
    return ContrastEstimate(
        math.exp(found.value),
        interval.low,
        interval.high,
        f"signed-rank {percent(level)}",
        interval.level,
        d.size,
        minimum_effect,
        p=signedrank.p_value(d) if p_t is None else p_t,
        equivalence=_exp(signedrank.hodges_lehmann(d, EQUIVALENCE_LEVEL).interval),
        t=_exp(t),
        sd_log=centre.sd,
    )


def _student(centre: student.MeanWithT, n: int, minimum_effect: float, level: float, kind: str) -> ContrastEstimate:
    t = _exp(centre.interval(level))
    ratio = math.exp(centre.value)
    if t is None:
        return ContrastEstimate(
            ratio,
            None,
            None,
            "launches do not differ at all, no interval",
            None,
            n,
            minimum_effect,
            sd_log=centre.sd,
        )
    equivalence = _exp(centre.interval(EQUIVALENCE_LEVEL))
    return ContrastEstimate(
        ratio,
        t.low,
        t.high,
        kind,
        level,
        n,
        minimum_effect,
        p=centre.p(),
        equivalence=equivalence,
        t=t,
        sd_log=centre.sd,
    )


def unpaired(a: Values, b: Values, minimum_effect: float, *, level: float = 0.95) -> ContrastEstimate:
    """Contrast of launches that were not interleaved, such as two runs: Welch's t on log launch medians.

    Args:    a: shape (launches_a,).  b: shape (launches_b,). Launch medians, > 0, one unit.
    Returns: what separates the runs, drift between their dates included. No interval with fewer than 2
             launches on a side.
    """
    first, second = positive(a, "a"), positive(b, "b")
    n = min(first.size, second.size)
    centre = student.welch(np.log(first), np.log(second))
    if centre.sd is None:
        return ContrastEstimate(
            math.exp(centre.value), None, None, "one launch on a side, no interval", None, n, minimum_effect
        )
    scaled = student.MeanWithT(centre.value, centre.sd * math.sqrt(2.0), centre.se, centre.df)
    return _student(
        scaled, n, minimum_effect, level, f"Welch t {percent(level)} on log launch medians, not interleaved"
    )


def within_launch(
    a_samples: Values, b_samples: Values, minimum_effect: float, *, level: float = 0.95, lag: int = 1
) -> ContrastEstimate:
    """Contrast inside one launch, or of logs that hold one launch each: what an imported log allows.

    Args:    a_samples: shape (n_a,).  b_samples: shape (n_b,). Times, > 0, one unit, in the order of measurement.
             lag: 1 for independent samples, such as first messages of fresh allocations; for consecutive samples the
             number over which they are correlated: medians of that many take their place in the test.
    Returns: ratio of the medians; interval of the shift of logarithms by the exact rank-sum law (None when the samples
             are too few); its p. Spread between launches is not in it, and `kind` says so.
    """
    if lag < 1:
        raise ValueError(f"lag: at least 1, got {lag}")
    first, second = positive(a_samples, "a"), positive(b_samples, "b")
    ratio = float(np.median(second)) / float(np.median(first))
    if lag > 1 and min(first.size, second.size) < lag:
        kind = f"{min(first.size, second.size)} samples within one launch, correlated over {lag}, no interval"
        return ContrastEstimate(
            ratio, None, None, kind, None, min(first.size, second.size), minimum_effect, within_launch=True
        )
    logs_a, logs_b = np.log(group_medians(first, lag)), np.log(group_medians(second, lag))
    n = min(first.size, second.size)
    found = ranksum.shift(logs_a, logs_b, level)
    p = ranksum.p_value(logs_a, logs_b)
    if found.interval is None:
        kind = f"{first.size} against {second.size} samples within one launch, no interval"
        return ContrastEstimate(ratio, None, None, kind, None, n, minimum_effect, p=p, within_launch=True)
    interval = found.interval.exp()
    name = "rank-sum" if found.exact else "rank-sum (Edgeworth)"
    return ContrastEstimate(
        ratio,
        interval.low,
        interval.high,
        f"{name} {percent(level)} within one launch",
        interval.level,
        n,
        minimum_effect,
        p=p,
        equivalence=_exp(ranksum.shift(logs_a, logs_b, EQUIVALENCE_LEVEL).interval),
        within_launch=True,
    )


def _exp(interval: Interval | None) -> Interval | None:
    return None if interval is None else interval.exp()
