# SPDX-License-Identifier: Apache-2.0
"""Is the first message slower than what follows? Judged per launch, then counted over launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Values, positive

# 10 standard deviations of a normal law: |x - median| / MAD > 10 * 1.4826.
# Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993, chapter 3 (modified z); the threshold
# is hyperfine's.
THRESHOLD = 14.826
_LAUNCH_SHARE = 0.75
_SPREAD_FLOOR = 1e-3  # of the median: quantised times can have a median absolute deviation of zero


@dataclass(frozen=True)
class FirstSlowTest:
    """slow: in at least 3/4 of the launches. z: one (x_first - median) / MAD per launch."""

    slow: bool
    launches_slow: int
    launches: int
    z: tuple[float, ...]


def first_slow(first: Values, steady: Sequence[Values], quantum: float = 0.0) -> FirstSlowTest:
    """The "first slow" test.

    Args:   first: shape (launches,), the first message of each launch.  steady: for each launch its steady
            samples, shape (n_i,).
            quantum: smallest step of the clock per operation; a spread below it is not believed. All in one
            unit, times > 0.
    Raises: ValueError: unequal numbers of launches, none, or a time that is not positive.
    """
    firsts = positive(first, "first")
    if firsts.size != len(steady):
        raise ValueError(f"first_slow: {firsts.size} first messages but steady samples of {len(steady)} launches")
    z: list[float] = []
    for x, samples in zip(firsts, steady, strict=True):
        array = positive(samples, "steady samples")
        median = float(np.median(array))
        spread = max(float(np.median(np.abs(array - median))), quantum, _SPREAD_FLOOR * median)
        z.append((float(x) - median) / spread)
    slow = sum(value > THRESHOLD for value in z)
    return FirstSlowTest(slow >= _LAUNCH_SHARE * len(z), slow, len(z), tuple(z))
