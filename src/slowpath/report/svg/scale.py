# SPDX-License-Identifier: Apache-2.0
"""Scales of axes and their ticks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

_LADDERS: tuple[tuple[float, ...], ...] = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))


@dataclass(frozen=True, slots=True)
class Scale(ABC):
    """Maps [low, high] to [start, end]."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0

    def __call__(self, value: float) -> float:
        """Return the position of `value`, limited to the axis."""
        inside = min(max(value, self.low), self.high)
        return self.start + self._share(inside) * (self.end - self.start)

    @abstractmethod
    def _share(self, inside: float) -> float:
        """Return the part of the axis that lies below a value on it."""

    @abstractmethod
    def ticks(self, at_most: int = 6) -> list[float]:
        """Return round values on the axis, at most `at_most`."""


@dataclass(frozen=True, slots=True)
class LogScale(Scale):
    """On a logarithmic axis; both ends are above 0."""

    def _share(self, inside: float) -> float:
        return math.log(inside / self.low) / math.log(self.high / self.low)

    def ticks(self, at_most: int = 6) -> list[float]:
        """Return round values on the axis, at most `at_most`, of the finest ladder that fits."""
        best: list[float] = []
        for steps in _LADDERS:
            found = self._on_ladder(steps)
            if best and len(found) > at_most:
                break
            best = found
        if len(best) < 3:
            # The axis spans less than a decade.
            best = [value for value in round_values(self.low, self.high, at_most) if value > 0]
        return best[:: math.ceil(len(best) / at_most)]

    def _on_ladder(self, steps: Iterable[float]) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        values = (step * 10.0**decade for decade in decades for step in steps)
        return [value for value in values if self.low <= value * (1 + 1e-12) and value <= self.high * (1 + 1e-12)]


def round_values(low: float, high: float, at_most: int) -> list[float]:
    """Return evenly spaced round values between two ends, about `at_most`."""
    rough = (high - low) / max(1, at_most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def spanning(values: Iterable[float | None], least: float = 1.5, margin: float = 1.06) -> tuple[float, float] | None:
    """Return ends of an axis for all finite positive `values`, at least a factor `least` apart, or None."""
    finite = [v for v in values if v is not None and v > 0 and math.isfinite(v)]
    if not finite:
        return None
    low, high = min(finite) / margin, max(finite) * margin
    if high / low < least:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(least), middle * math.sqrt(least)
    return low, high


def powers_of_two(low: float, high: float, at_most: int) -> list[int]:
    """Return at most `at_most` powers of 2 between two sizes in bytes, in steps of 2 or a power of 4."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / at_most))
    return [2**n for n in range(first + (-first) % step, last + 1, step)]


@dataclass(frozen=True, slots=True)
class LinearScale(Scale):
    """On an axis whose parts are equally long."""

    def _share(self, inside: float) -> float:
        return (inside - self.low) / (self.high - self.low)

    def ticks(self, at_most: int = 6) -> list[float]:
        """Return round values on the axis, at most `at_most`."""
        return round_values(self.low, self.high, at_most)
