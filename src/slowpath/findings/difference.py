# SPDX-License-Identifier: Apache-2.0
"""Differences between two measurements, and decided contrasts as slow over fast. Pure.

Times are seconds. Every difference names its slow side first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import ContrastResult, ContrastSide
from slowpath.core.result import Interval
from slowpath.stats.contrast import paired
from slowpath.stats.estimate import Floats

INSTEAD = "instead: "  # begins the name of an environment in which the library makes one choice otherwise
WITHOUT_USER = "without your settings"  # the environment that lacks all of the user's own

LAW_RATIO = 1.1  # least of a law: of many, some fit noise, to 1.08 in 4 of 60 clean runs (docs/results/plants.md)

CLEAR_RATIO = 1.25  # from here on a difference is called a slow path also where no law or rule says more about it


@dataclass(frozen=True)
class Place:
    """Where a slow path was seen; None: not known, as in imported logs. words: the same and more, for people."""

    words: str
    mpi: str | None = None
    environment: str | None = None
    placement: str | None = None


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


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two measurements of one metric, slow over fast."""

    slow: CellResult
    fast: CellResult
    metric: str
    slow_s: float
    fast_s: float
    ratio: Ratio

    @property
    def excess_s(self) -> float:
        return self.slow_s - self.fast_s


@dataclass(frozen=True, kw_only=True)
class Slowdown(Difference):
    """A decided contrast beyond the minimum effect. slow_value, fast_value: what the axis is set to.

    affects_default: whether users who change nothing are on the slow side; None: neither side is theirs.
    suspect: what is doubtful about its values.  of_two_kinds: as `are_of_two_kinds` says of its launches.
    """

    contrast: str
    axis: str
    slow_value: str
    fast_value: str
    slow_phase: str
    fast_phase: str
    affects_default: bool | None
    suspect: tuple[str, ...] = ()
    of_two_kinds: bool = False


DECIDED = ("slower", "faster")

SIGNIFICANCE = 0.05


_FEWEST_OF_KINDS = 5  # launches, of which one may be of the other kind
_NEAR, _APART = 0.25, 0.5  # of the excess of the slow kind: what reaches the other side, and what does not
_LEAST_EXCESS = np.log(2.0)  # of the slow kind: under it noise looks like two kinds


def are_of_two_kinds(slow_s: Sequence[float] | Floats, fast_s: Sequence[float] | Floats) -> bool:
    """Whether some launches of the slow side are as fast as all of the other side, and the rest far from it.

    All launches of an environment have what it sets, so such a difference has another cause: what a launch found, or
    what it had done before. Seen with Intel MPI 2021.18: one-way messages of 1 MiB take 6 times as long in all
    launches, and only in those, in which no message of 16 MiB went before them (20 of 20; malloc's thresholds change
    nothing, and why it is so is not known).

    Args: medians of launches, above 0 s, shape (launches,).
    """
    slow, fast = np.sort(np.log(slow_s)), np.log(fast_s)
    if len(slow) < _FEWEST_OF_KINDS or len(fast) < _FEWEST_OF_KINDS:
        return False
    middle = float(np.median(fast))
    split = 1 + int(np.argmax(np.diff(slow)))
    excess = float(np.median(slow[split:])) - middle
    reaches, stays_away = slow[split - 1] <= middle + _NEAR * excess, slow[split] >= middle + _APART * excess
    return bool(excess >= _LEAST_EXCESS and reaches and stays_away and fast.max() <= middle + _NEAR * excess)


def ratio_of(slow_s: Sequence[float] | Floats, fast_s: Sequence[float] | Floats, minimum_effect: float) -> Ratio:
    """Slow over fast from medians of the same launches, in their order; shape (launches,), above 0 s."""
    found = paired(fast_s, slow_s, minimum_effect)
    if found.level is None or found.interval is None or found.p is None:
        return Ratio(found.ratio, None, False)
    beyond = found.interval[0] > 1 + minimum_effect and found.p <= SIGNIFICANCE
    return Ratio(found.ratio, found.interval, beyond)


def slowdown(contrast: ContrastResult, cells: Mapping[int, CellResult]) -> Slowdown | None:
    """None unless it is decided, no control, and its interval lies beyond the minimum effect."""
    if contrast.verdict not in DECIDED or contrast.control or not contrast.interval or contrast.ratio is None:
        return None
    a, b = (contrast.a, contrast.a_value_s), (contrast.b, contrast.b_value_s)
    ratio, (low, high) = contrast.ratio, contrast.interval
    if ratio < 1:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    if low <= 1 + contrast.minimum_effect:
        return None
    slow, fast = (b, a) if contrast.ratio > 1 else (a, b)
    return _between(contrast, cells, slow, fast, Ratio(ratio, (low, high), True))


def _between(
    contrast: ContrastResult,
    cells: Mapping[int, CellResult],
    slow: tuple[ContrastSide, float | None],
    fast: tuple[ContrastSide, float | None],
    ratio: Ratio,
) -> Slowdown | None:
    (slow_side, slow_s), (fast_side, fast_s) = slow, fast
    if slow_s is None or fast_s is None:
        return None
    default = {"a": contrast.a, "b": contrast.b}[contrast.default_side] if contrast.default_side else None
    return Slowdown(
        slow=cells[slow_side.cell],
        fast=cells[fast_side.cell],
        metric=contrast.metric,
        slow_s=slow_s,
        fast_s=fast_s,
        ratio=ratio,
        contrast=contrast.id,
        axis=contrast.axis,
        slow_value=slow_side.value,
        fast_value=fast_side.value,
        slow_phase=slow_side.phase,
        fast_phase=fast_side.phase,
        affects_default=None if default is None else default is slow_side,
        suspect=tuple(contrast.suspect),
        of_two_kinds=_of_two_kinds(contrast),
    )


def _of_two_kinds(contrast: ContrastResult) -> bool:
    if not contrast.pairs or contrast.ratio is None:
        return False
    a_s, b_s = np.array(contrast.pairs, dtype=np.float64).T
    return are_of_two_kinds(b_s, a_s) if contrast.ratio > 1 else are_of_two_kinds(a_s, b_s)
