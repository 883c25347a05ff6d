# SPDX-License-Identifier: Apache-2.0
"""What the samples of launches show beside their centre: spread and warm-up. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slowpath.stats.estimate import (
    Floats,
    Values,
    finite,
    group_medians,
    median,
    minimal_n,
    positive,
    quantiles,
)

# Spread and tails of the samples of a launch, and the spread between launches.

# The tail of a distribution: only the quantiles that the number of samples can carry.

_PROBABILITIES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Tails:
    """Quantiles of type 7 in the unit of the input; None where not estimable, and then `reason` says why."""

    p50: float
    p90: float | None
    p99: float | None
    p999: float | None
    min: float
    max: float
    samples: int
    reason: str | None


def tails(samples: Values) -> Tails:
    """Tail table of samples, shape (n,), n >= 1.

    A quantile counts as estimable from the n on at which its two-sided 95 % interval exists (36, 368, 3688);
    the median and the extremes are always given. The samples should be single operations: a batch hides the
    tail of its members.
    """
    array = finite(samples, "samples")
    least, *values, most = quantiles(array, (0.0, *_PROBABILITIES, 1.0))
    missing: list[str] = []
    shown: list[float | None] = []
    for p, value in zip(_PROBABILITIES[1:], values[1:], strict=True):
        needed = minimal_n(p)
        estimable = array.size >= needed
        shown.append(float(value) if estimable else None)
        if not estimable:
            missing.append(f"p{100 * p:g} needs {needed}")
    reason = f"{array.size} samples: {', '.join(missing)}" if missing else None
    return Tails(
        float(values[0]),
        shown[0],
        shown[1],
        shown[2],
        float(least),
        float(most),
        array.size,
        reason,
    )


MAD_TO_SD = 1.4826  # of a normal law, 1 / the 75 % quantile of the standard normal


def within(samples: Values, middle: float) -> float | None:
    """1.4826 times the median absolute deviation over the median, of one launch; None with fewer than 2
    samples.

    Args: middle: their median, > 0.
    """
    array = finite(samples, "samples")
    return MAD_TO_SD * median(np.abs(array - middle)) / middle if array.size >= 2 else None


def between(launch_medians: Values) -> float | None:
    """Standard deviation of the log launch medians; None with fewer than 2 launches."""
    logs = np.log(positive(launch_medians, "launch medians"))
    return float(logs.std(ddof=1)) if logs.size >= 2 else None


def beyond_errors(changes: Sequence[tuple[float, float]]) -> float:
    """Return the standard deviation of changes beyond their own errors.  Args: changes: each with its standard error.

    With it half of the changes lie within the quartiles of the normal law, so a few large ones don't count.
    Source: Efron 2004, doi 10.1198/016214504000000089.
    """
    least, most = 0.0, 10.0
    for _ in range(40):
        middle = (least + most) / 2
        typical = median([abs(change) / math.hypot(error, middle) for change, error in changes or [(0.0, 1.0)]])
        least, most = (middle, most) if MAD_TO_SD * typical > 1 else (least, middle)
    return least


# Where the steady state of a launch begins, if it has one, and whether its first message is slower.
#
# The log times are condensed to about 80 medians, mean shifts are found by optimal partitioning, and segments
# that end within 1 % of the last one are merged with it; the cut is where that merged segment starts. Unlike a
# truncation rule that minimises a standard error, this also answers "there is none" when the launch slows down
# late.
# Source: Jackson et al. 2005, doi 10.1109/LSP.2001.838216 (optimal partitioning); the classes are those of
# Barrett et al. 2017, doi 10.1145/3133876.

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
    return max(MAD_TO_SD * median(np.abs(steps - np.median(steps))) / math.sqrt(2.0), _NOISE_FLOOR_LOG)


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
