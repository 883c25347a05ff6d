# SPDX-License-Identifier: Apache-2.0
"""Spread, outliers and tails of the samples of a launch, and the spread between launches. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Floats, Values, finite, median, median_of_sorted, positive
from slowpath.stats.orderstat import minimal_n, quantiles, quantiles_of_sorted

# Outliers are counted, never dropped: they are time that was really spent.

MILD_IQR = 1.5
SEVERE_IQR = 3.0


@dataclass(frozen=True)
class TukeyOutliers:
    """Samples beyond Tukey's fences, and the share of all time that the severe ones took."""

    mild: int  # beyond 1.5, up to 3 interquartile ranges outside the quartiles
    severe: int  # beyond 3
    severe_time_ratio: float
    samples: int


def tukey(samples: Values, ordered: Floats | None = None) -> TukeyOutliers:
    """Count the outliers of one launch. Source: Tukey, Exploratory Data Analysis, 1977, section 2D.

    Args: samples: shape (n,), times > 0, each of the same number of operations.  ordered: the same, sorted; None: they
          were not sorted.
    """
    array = positive(samples, "samples") if ordered is None else _positive_as_sorted(samples, ordered)
    first, third = quantiles(array, (0.25, 0.75)) if ordered is None else quantiles_of_sorted(ordered, (0.25, 0.75))
    if ordered is not None and max(first - ordered[0], ordered[-1] - third) <= MILD_IQR * (third - first):
        return TukeyOutliers(0, 0, 0.0, array.size)  # not even the extremes are outside
    distance = np.maximum(first - array, array - third)
    severe = distance > SEVERE_IQR * (third - first)
    mild = (distance > MILD_IQR * (third - first)) & ~severe
    ratio = float(array[severe].sum() / array.sum())
    return TukeyOutliers(int(mild.sum()), int(severe.sum()), ratio, array.size)


def _positive_as_sorted(samples: Values, ordered: Floats) -> Floats:
    """`positive` of samples that were sorted: their extremes say it, since NaN is sorted to the end."""
    if not (ordered[0] > 0.0 and ordered[-1] < math.inf):
        return positive(samples, "samples")
    return np.asarray(samples, dtype=np.float64)


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


def tails(samples: Values, ordered: Floats | None = None) -> Tails:
    """Tail table of samples, shape (n,), n >= 1.

    A quantile counts as estimable from the n on at which its two-sided 95 % interval exists (36, 368, 3688);
    the median and the extremes are always given. The samples should be single operations: a batch hides the
    tail of its members.
    Args: ordered: the same samples, sorted; None: they were not sorted.
    """
    array = np.sort(finite(samples, "samples")) if ordered is None else ordered
    if not (-math.inf < array[0] and array[-1] < math.inf):
        finite(samples, "samples")
    values = quantiles_of_sorted(array, _PROBABILITIES)
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
        float(array[0]),
        float(array[-1]),
        array.size,
        reason,
    )


_MAD_TO_SD = 1.4826  # of a normal law, 1 / the 75 % quantile of the standard normal


@dataclass(frozen=True)
class Spread:
    """Relative spreads. None: fewer than 2 samples in every launch (within), fewer than 2 launches
    (between).
    """

    within_ratio: float | None
    between_ratio: float | None


def within(samples: Values, ordered: Floats | None = None) -> float | None:
    """1.4826 times the median absolute deviation over the median, of one launch; None with fewer than 2
    samples.

    Args: ordered: the same samples, sorted; None: they were not sorted.
    """
    array = positive(samples, "samples") if ordered is None else _positive_as_sorted(samples, ordered)
    if array.size < 2:
        return None
    middle = median(array) if ordered is None else median_of_sorted(ordered)
    return _MAD_TO_SD * median(np.abs(array - middle)) / middle


def between(launch_medians: Values) -> float | None:
    """Standard deviation of the log launch medians; None with fewer than 2 launches."""
    logs = np.log(positive(launch_medians, "launch medians"))
    return float(logs.std(ddof=1)) if logs.size >= 2 else None


def spread(launches: Sequence[Values]) -> Spread:
    """Return both spreads of a cell; within is the median over its launches.

    Args: launches: for each launch its samples, shape (n_i,), times > 0 of one unit.
    """
    inside = [value for value in map(within, launches) if value is not None]
    medians = [median(positive(samples, "samples")) for samples in launches]
    return Spread(median(inside) if inside else None, between(medians) if medians else None)
