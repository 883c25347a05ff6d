# SPDX-License-Identifier: Apache-2.0
"""A linear scale from 0, for quantities that add up."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Maps [low, high] to [start, end]."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0

    def __call__(self, value: float) -> float:
        """Return the position of `value`, limited to the axis."""
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, at_most: int = 6) -> list[float]:
        """Return round values on the axis, at most `at_most`."""
        rough = (self.high - self.low) / max(1, at_most - 1)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]
