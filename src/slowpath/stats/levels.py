# SPDX-License-Identifier: Apache-2.0
"""Stretches of constant level in a series over time, and where it changes from one to the next.

Optimal partitioning of the standardised series, as for the warm-up of launches, with a penalty that is calibrated: of
stationary series at most one in a hundred is split, whether its noise is normal, has outliers, or follows itself with a
correlation of up to 0.5 (tests/unit/stats/test_levels.py). The noise is taken from differences of neighbours, which a
few changes of level don't enlarge, and its memory from those of points further apart.
Source: Jackson et al. 2005, doi 10.1109/LSP.2001.838216 (optimal partitioning).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from slowpath.stats.inputs import Floats, Values, finite, median
from slowpath.stats.warmup import clip_spikes, partition

FEWEST: Final = 12  # points; of fewer nothing is split
FALSE_ALARMS: Final = 0.01  # of stationary series, at most
_FAR: Final = 4  # points between which noise is compared
_MAD_TO_SD: Final = 1.4826
_PENALTY: Final = 10.0  # times log n
_FEW_POINTS: Final = 20.0
_LARGEST_MEMORY: Final = 0.8


@dataclass(frozen=True)
class Level:
    """A stretch. start, end: indices of its first point and behind its last one.  value: median of its points."""

    start: int
    end: int
    value: float


def levels(series: Values, least_noise: float) -> tuple[Level, ...]:
    """Return the stretches of constant level, in order; one stretch: nothing changes, or there are too few points.

    Args: series: shape (n,), evenly spaced in time.  least_noise: standard deviation below which noise is not believed.
    Raises: ValueError: it is empty, or a value is not finite.
    """
    array = finite(series, "series")
    if array.size < FEWEST:
        return (Level(0, array.size, median(array)),)
    sd = max(_long_run_sd(array), least_noise)
    z = clip_spikes(array, max(_sd_of_steps(array, 1), least_noise))
    penalty = _PENALTY * math.log(z.size) * (1.0 + _FEW_POINTS / z.size)
    starts = partition((z - z.mean()) / sd, penalty)
    ends = [*starts[1:], z.size]
    return tuple(Level(a, b, median(array[a:b])) for a, b in zip(starts, ends, strict=True))


def _sd_of_steps(z: Floats, lag: int) -> float:
    """Of the noise, from points that are `lag` apart."""
    steps = z[lag:] - z[:-lag]
    return _MAD_TO_SD * median(np.abs(steps - np.median(steps))) / math.sqrt(2.0)


def _long_run_sd(z: Floats) -> float:
    """As large as the noise of a mean over many points is, were they independent: autoregression of first order."""
    near, far = _sd_of_steps(z, 1), _sd_of_steps(z, _FAR)
    if far <= 0.0 or near <= 0.0:
        return max(near, far)
    sought, low, high = (far / near) ** 2, 0.0, _LARGEST_MEMORY
    for _ in range(40):  # 1 + r + r^2 + r^3 grows with r
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**k for k in range(_FAR)) < sought else (low, middle)
    memory = low if sought > 1 else 0.0
    variance = max(near**2 / (1 - memory), far**2 / (1 - memory**_FAR))
    return math.sqrt(variance * (1 + memory) / (1 - memory))
