# SPDX-License-Identifier: Apache-2.0
"""How much of the gap between a slow and a fast side a change removes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Values, positive

_RESAMPLES = 4000
_NO_GAP = 0.005  # of the resamples in which slow may not be slower than fast


@dataclass(frozen=True)
class Removed:
    """value: 1: all of the gap is gone; 0: none; negative: it grew.  interval: 95 %, by bootstrap over rounds.

    excess_s, left_s: the gap before and after the change.
    """

    value: float
    interval: tuple[float, float]
    excess_s: float
    left_s: float


def removed(slow: Values, slow_changed: Values, fast: Values, fast_changed: Values) -> Removed | None:
    """1 - (slow_changed - fast_changed) / (slow - fast) of medians over rounds.

    Args:    shape (rounds,) each, seconds; the i-th values belong to one round.
    Returns: None where slow is not slower than fast in nearly every resample: there is no gap then.
    Raises:  ValueError: empty, unequal lengths, or a value that is not finite and positive.
    """
    times = np.array([positive(side, "times") for side in (slow, slow_changed, fast, fast_changed)])
    chosen = np.random.default_rng(0).integers(0, times.shape[1], size=(_RESAMPLES, times.shape[1]))
    before, after, reference, changed = np.median(times[:, chosen], axis=2)
    gap = before - reference
    if np.mean(gap <= 0) > _NO_GAP:
        return None
    found = 1 - (after - changed)[gap > 0] / gap[gap > 0]
    centre = np.median(times, axis=1)
    excess_s, left_s = float(centre[0] - centre[2]), float(centre[1] - centre[3])
    value = 1 - left_s / excess_s
    low, high = np.quantile(found, [0.025, 0.975])
    return Removed(value, (min(float(low), value), max(float(high), value)), excess_s, left_s)


def toggled(slow: Values, fast: Values) -> Removed | None:
    """Return what a change that leads from slow to fast takes away in each round, over the excess of all rounds.

    Args:    shape (rounds,) each, seconds; the i-th values belong to one round.
    Returns: value 1, since the fast side is the change's own; the interval says how alike the rounds are. None as
             `removed`.
    Raises:  ValueError: as `removed`.
    """
    times = np.array([positive(side, "times") for side in (slow, fast)])
    gaps = times[0] - times[1]
    chosen = np.random.default_rng(0).integers(0, gaps.size, size=(_RESAMPLES, gaps.size))
    excess_s = float(np.median(gaps))
    found = np.median(gaps[chosen], axis=1)
    if excess_s <= 0 or np.mean(found <= 0) > _NO_GAP:
        return None
    low, high = np.quantile(found / excess_s, [0.025, 0.975])
    return Removed(1.0, (min(float(low), 1.0), max(float(high), 1.0)), excess_s, 0.0)
