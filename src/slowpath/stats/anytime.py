# SPDX-License-Identifier: Apache-2.0
"""An interval of a mean that holds at every number of values at once, so that one may look after each and stop.

Of normal values with unknown spread, the Bayes factor of a normal prior on mean / sd is a martingale under each mean,
whatever the spread; by Ville's inequality it passes 1 / alpha at any time with probability alpha at most. The interval
holds the means that have not passed it. Values that are symmetric with longer tails widen it (as they do Student's).
Source: Lai 1976, doi 10.1214/aos/1176343406; Wang and Ramdas 2023, arXiv 2310.03722.
"""

from __future__ import annotations

import math

from slowpath.stats import student
from slowpath.stats.inputs import Values, check_level
from slowpath.stats.interval import Interval

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
    found = student.mean(values)
    n = len(values)
    critical = critical_t(n, level)
    if found.se is None or math.isinf(critical):
        return None
    return Interval(found.value - critical * found.se, found.value + critical * found.se, level)


def half_width(n: int, sd: float, level: float) -> float:
    """Return half the width of the interval of `n` values with this spread."""
    return critical_t(n, level) * sd / math.sqrt(n)


def fewest(level: float) -> int:
    """The first number of values that excludes anything."""
    return next(n for n in range(2, 1000) if math.isfinite(critical_t(n, level)))
