# SPDX-License-Identifier: Apache-2.0
"""A confidence interval and the level that it really has."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
