# SPDX-License-Identifier: Apache-2.0
"""Student's t: interval and p of a mean, and Welch's version for two independent samples.

Used on logarithms of launch medians only, never on raw samples. Values that are all equal say nothing about
their spread (a coarse clock or a rounded log makes them so), therefore they give no interval and no p, rather
than p = 0.
Source: Student 1908, doi 10.1093/biomet/6.1.1; Welch 1947, doi 10.1093/biomet/34.1-2.28.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slowpath.stats.inputs import Values, check_level, finite
from slowpath.stats.interval import Interval


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
