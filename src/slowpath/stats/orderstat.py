# SPDX-License-Identifier: Apache-2.0
"""Quantiles, and the exact distribution-free interval of one quantile from order statistics.

With n independent values, the number that lie below the p-quantile is binomial(n, p); so the order statistics
x_(r) and x_(s) enclose the quantile with a probability that is known exactly, whatever the distribution is.
Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2; David and Nagaraja, Order
Statistics, section 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats, Values, check_level, finite
from slowpath.stats.interval import Interval


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
    return quantiles_in_place(np.array(values), probabilities)


def quantiles_in_place(array: NDArray[Any], probabilities: Sequence[float]) -> Floats:
    """`quantiles` without a copy: reorders `array`."""
    position, below, above = _ranks(array, probabilities)
    # A selection of a handful of ranks costs less than half of a full sort at 10^4 values.
    array.partition(np.unique(np.concatenate([below, above])))
    return _between(array, position, below, above)


def quantiles_of_sorted(array: NDArray[Any], probabilities: Sequence[float]) -> Floats:
    """`quantiles` of sorted values: several callers share one sort."""
    return _between(array, *_ranks(array, probabilities))


def _ranks(array: NDArray[Any], probabilities: Sequence[float]) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """0-based positions of the quantiles, and the order statistics around them."""
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"quantiles: a non-empty one-dimensional array is needed, got shape {array.shape}")
    return _ranks_among(array.size, tuple(probabilities))


@lru_cache(maxsize=1024)  # an analysis asks tens of thousands of times, for a handful of lengths
def _ranks_among(size: int, probabilities: tuple[float, ...]) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    position = (size - 1) * np.asarray(probabilities, dtype=np.float64)
    if not ((position >= 0) & (position <= size - 1)).all():
        raise ValueError(f"quantiles: probabilities lie in [0, 1], got {list(probabilities)}")
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, size - 1)
    for shared in (position, below, above):
        shared.flags.writeable = False
    return position, below, above


def _between(array: NDArray[Any], position: Floats, below: NDArray[np.intp], above: NDArray[np.intp]) -> Floats:
    low: Floats = array[below].astype(np.float64)
    high: Floats = array[above].astype(np.float64)
    result: Floats = low + (position - below) * (high - low)
    return result
