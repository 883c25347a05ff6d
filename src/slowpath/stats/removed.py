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
    times = np.array([positive(one, "times") for one in (slow, slow_changed, fast, fast_changed)])
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
