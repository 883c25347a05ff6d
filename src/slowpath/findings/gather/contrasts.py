# SPDX-License-Identifier: Apache-2.0
"""Slow over fast, out of a contrast or of two cells of the same launches. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, ContrastSide
from slowpath.findings.evidence.evidence import Ratio, Slowdown
from slowpath.stats.contrast import paired
from slowpath.stats.inputs import Floats

DECIDED = ("slower", "faster")
SIGNIFICANCE = 0.05


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
    )
