# SPDX-License-Identifier: Apache-2.0
"""Wilcoxon's signed-rank test and the Hodges-Lehmann estimate, both exact.

The statistic is counted over the Walsh averages (x_i + x_j) / 2, i <= j: T+ is how many of them are positive.
In that form
the test and the interval are one thing: the interval holds exactly the shifts that the test does not reject.
Ties and zeros are resolved against rejection (a Walsh average of zero counts for whichever side makes p
larger), so p is never too small.
Source: Hollander and Wolfe, Nonparametric Statistical Methods, 2nd ed., sections 3.1 to 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from slowpath.stats.inputs import Floats, Values, check_level, finite, median
from slowpath.stats.interval import Interval

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True)
class HodgesLehmann:
    """The median of the Walsh averages, and its exact interval (None when n is too small for the level)."""

    value: float
    interval: Interval | None


@lru_cache(maxsize=128)
def _cumulative_law(n: int) -> Floats:
    probability = np.zeros(n * (n + 1) // 2 + 1)
    probability[0] = 1.0
    top = 0  # largest reachable T+ so far
    for rank in range(1, n + 1):
        shifted = probability[: top + 1].copy()
        probability[: top + 1] *= 0.5
        probability[rank : top + rank + 1] += 0.5 * shifted
        top += rank
    law: Floats = np.minimum(np.cumsum(probability), 1.0)
    law.setflags(write=False)
    return law


def cumulative_law(n: int) -> Floats:
    """P(T+ <= t) for t = 0 .. n(n+1)/2 when n values are symmetric about zero; n^3 / 3 additions, cached."""
    if n < 1:
        raise ValueError(f"signed rank: needs n >= 1, got {n}")
    return _cumulative_law(n)


def _walsh_averages(array: Floats) -> Floats:
    i, j = np.triu_indices(array.size)
    averages: Floats = 0.5 * array[i] + 0.5 * array[j]
    return averages


def p_value(differences: Values, alternative: Alternative = "two-sided") -> float:
    """Exact p of "the differences are symmetric about zero"; conservative under ties and zeros.

    Args: differences: shape (n,), independent; `greater` means that they tend to be positive.
    """
    array = finite(differences, "differences")
    averages = _walsh_averages(array)
    law = cumulative_law(array.size)
    total = averages.size
    # The law is symmetric: P(T >= t) = P(T <= total - t).
    upper = float(law[total - int(np.count_nonzero(averages > 0))])
    lower = float(law[total - int(np.count_nonzero(averages < 0))])
    if alternative == "greater":
        return upper
    if alternative == "less":
        return lower
    return min(1.0, 2.0 * min(upper, lower))


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
