# SPDX-License-Identifier: Apache-2.0
"""Two measurements side by side, the slow one first, out of a contrast or of two cells of the same launches. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowpath.findings.rule import Interval
from slowpath.stats.contrast import paired
from slowpath.stats.inputs import Floats

Cell = Mapping[str, Any]
Contrast = Mapping[str, Any]
DECIDED = ("slower", "faster")
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Compared:
    """slow over fast; slow_value, fast_value: what the axis is set to.  usual: None: neither side is the user's more
    than the other, else whether it is the slow one.  contrast: its id, None where there is none in the campaign.
    """

    slow: Cell
    fast: Cell
    slow_value: str
    fast_value: str
    metric: str
    slow_phase: str
    fast_phase: str
    slow_s: float
    fast_s: float
    ratio: float
    interval: Interval | None
    usual: bool | None
    contrast: str | None
    suspect: tuple[str, ...] = ()

    @property
    def excess_s(self) -> float:
        return self.slow_s - self.fast_s


def from_contrast(contrast: Contrast, cells: Mapping[int, Cell]) -> Compared | None:
    """None unless it is decided, and its interval lies beyond the minimum effect."""
    if contrast["verdict"] not in DECIDED or contrast["control"] or not contrast["interval"]:
        return None
    slow, fast = ("b", "a") if contrast["ratio"] > 1 else ("a", "b")
    ratio, (low, high) = contrast["ratio"], contrast["interval"]
    if ratio < 1:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    if low <= 1 + contrast["minimum_effect"]:
        return None
    usual = contrast.get("usual")
    return Compared(
        slow=cells[contrast[slow]["cell"]],
        fast=cells[contrast[fast]["cell"]],
        slow_value=str(contrast[slow]["value"]),
        fast_value=str(contrast[fast]["value"]),
        metric=contrast["metric"],
        slow_phase=contrast[slow]["phase"],
        fast_phase=contrast[fast]["phase"],
        slow_s=contrast[f"{slow}_value_s"],
        fast_s=contrast[f"{fast}_value_s"],
        ratio=ratio,
        interval=(low, high),
        usual=None if usual is None else usual == slow,
        contrast=contrast["id"],
        suspect=tuple(contrast["suspect"]),
    )


# The least that a law has to make of a difference. Many cells and laws are looked at, and over a hundred runs some fit
# noise: lower ends of 1.04 to 1.08 in 4 of 60 clean runs (docs/results/plants.md).
LAW_RATIO = 1.1


@dataclass(frozen=True)
class Ratio:
    """interval: None with fewer than 3 launches.  beyond: its lower end lies above 1 and the minimum effect."""

    value: float
    interval: Interval | None
    beyond: bool

    @property
    def least(self) -> float:
        """Lower end of the interval; the value itself where there is none."""
        return self.interval[0] if self.interval else self.value


def ratio_of(slow_s: Sequence[float] | Floats, fast_s: Sequence[float] | Floats, minimum_effect: float) -> Ratio:
    """Slow over fast from medians of the same launches, in their order; shape (launches,), above 0 s."""
    found = paired(fast_s, slow_s, minimum_effect)
    if found.level is None or found.interval is None or found.p is None:
        return Ratio(found.ratio, None, False)
    beyond = found.interval[0] > 1 + minimum_effect and found.p <= SIGNIFICANCE
    return Ratio(found.ratio, found.interval, beyond)
