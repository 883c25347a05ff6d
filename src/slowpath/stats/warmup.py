# SPDX-License-Identifier: Apache-2.0
"""Where the steady state of a launch begins, if it has one, and whether its first message is slower.

The log times are condensed to about 80 medians, mean shifts are found by optimal partitioning, and segments
that end within 1 % of the last one are merged with it; the cut is where that merged segment starts. Unlike a
truncation rule that minimises a standard error, this also answers "there is none" when the launch slows down
late.
Source: Jackson et al. 2005, doi 10.1109/LSP.2001.838216 (optimal partitioning); the classes are those of
Barrett et al. 2017, doi 10.1145/3133876.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slowpath.stats.inputs import Floats, Values, group_medians, median, positive

SteadyClass = Literal["flat", "warm-up", "slowdown", "no steady state"]

MINIMUM_SAMPLES = 32  # below this one launch in ten that is flat would be called something else
_POINTS = 80
_FEWEST_POINTS = 16
_GROUP = 5  # samples to a median, as far as there are enough: it removes spikes and most of the correlation
_MERGE_LOG = 0.01
_NOISE_FLOOR_LOG = 1e-3  # of quantised times, whose differences are mostly zero
_CLIP_SD = 3.0
# Noise that is estimated from few points is often estimated too small: calibrated so that at most one flat
# series in twenty is split, from 32 samples to 1000 (tests/unit/stats/test_warmup.py).
_FEW_POINTS_PENALTY = 20.0
_MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class SteadyState:
    """cut: index of the first steady sample. steady_class None: not judged, see reason."""

    cut: int
    steady_class: SteadyClass | None
    reason: str | None = None


def _condense(logs: Floats) -> tuple[Floats, int]:
    size = max(round(logs.size / _POINTS), min(_GROUP, logs.size // _FEWEST_POINTS))
    return group_medians(logs, size), size


def _noise(z: Floats) -> float:
    steps = np.diff(z)
    return max(_MAD_TO_SD * median(np.abs(steps - np.median(steps))) / math.sqrt(2.0), _NOISE_FLOOR_LOG)


def clip_spikes(z: Floats, sd: float) -> Floats:
    """A lone slow sample is an outlier, not a level: keep within 3 sd of the running median of five."""
    padded = np.concatenate([z[1:3][::-1], z, z[-3:-1][::-1]])
    centre = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    clipped: Floats = np.clip(z, centre - _CLIP_SD * sd, centre + _CLIP_SD * sd)
    return clipped


def partition(z: Floats, penalty: float) -> list[int]:
    """Starts of the segments of constant mean that minimise squared error plus `penalty` a segment; unit
    noise.

    Args: z: shape (n,), n >= 1. Cost n^2. Exact: dynamic programming over the last segment.
    """
    n = z.size
    s1 = np.concatenate([[0.0], np.cumsum(z)])
    s2 = np.concatenate([[0.0], np.cumsum(z * z)])
    best = np.zeros(n + 1)
    last = np.zeros(n + 1, dtype=np.intp)
    for end in range(1, n + 1):
        start = np.arange(end)
        cost = best[:end] + penalty + s2[end] - s2[:end] - (s1[end] - s1[:end]) ** 2 / (end - start)
        last[end] = int(np.argmin(cost))
        best[end] = cost[last[end]]
    starts: list[int] = []
    end = n
    while end > 0:
        end = int(last[end])
        starts.append(end)
    return starts[::-1]


def steady_state(times: Values) -> SteadyState:
    """Class of one launch, and its cut.

    Args:   times: shape (n,), > 0, in the order of measurement, any unit, each of the same number of
            operations.
    Returns: cut 0 and class None with the reason when n < 32.
    """
    array = positive(times, "times")
    if array.size < MINIMUM_SAMPLES:
        return SteadyState(0, None, f"{array.size} samples < {MINIMUM_SAMPLES}")
    z, size = _condense(np.log(array))
    sd = _noise(z)
    z = clip_spikes(z, sd)
    # Centred, so that the squares lose no digits.
    penalty = 4.0 * math.log(z.size) * (1.0 + _FEW_POINTS_PENALTY / z.size)
    starts = partition((z - z.mean()) / sd, penalty)
    ends = [*starts[1:], z.size]
    level = [median(z[s:e]) for s, e in zip(starts, ends, strict=True)]
    k = len(starts) - 1
    while k > 0 and abs(level[k - 1] - level[-1]) <= _MERGE_LOG:
        k -= 1
    cut = starts[k] * size
    if cut == 0:
        return SteadyState(0, "flat")
    if cut > array.size / 2:
        return SteadyState(cut, "no steady state")
    return SteadyState(cut, "warm-up" if max(level[:k]) > level[-1] else "slowdown")


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
        middle = median(array)
        spread = max(median(np.abs(array - middle)), quantum, _SPREAD_FLOOR * middle)
        z.append((float(x) - middle) / spread)
    slow = sum(value > THRESHOLD for value in z)
    return FirstSlowTest(slow >= _LAUNCH_SHARE * len(z), slow, len(z), tuple(z))
