# SPDX-License-Identifier: Apache-2.0
"""Five numbers of a cell that its median does not show: tail, stalls, period, kinds of launches, growth. Pure.

Each is made within launches and taken as the median over them, so that one launch that the machine disturbed does not
decide. What is normal is not known here: a healthy run's numbers say it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.estimate import Floats, Values, median, positive
from slowpath.stats.launches import between, within

FAR_RATIO = 2.0  # over the median of the launch
FEWEST_OF_PERIOD = 20  # samples of each launch
FEWEST_OF_SLOPE = 30
_WARM_UP = 0.1  # of the samples at the head, which the slope leaves out
_LEAST_WITHIN = 1e-3  # quantised times may have a median absolute deviation of zero
_CLIP_LOG = math.log(4.0)  # one long stall must not outweigh all other samples
TURNS = 2  # periods that a launch has to hold: each 16th of 40 calls is seen in 7 of 10 cells of three launches
MOST_PERIOD = 512
_LEAST_PEAK = 0.15  # of an autocorrelation over its neighbours
_PEAK_PER_SD = 6.0  # a thousand series without a period show none
_AS_HIGH = 0.8  # of the highest peak: multiples of a period have peaks as high as the period itself


@dataclass(frozen=True)
class Distribution:
    """Five numbers of a cell. None: too few samples or launches; of the period also where there is none.

    mean_ratio: mean over median.  far_share: samples above twice the median, of all.  period: samples from one slow
    group to the next.  between_ratio: spread of the launches' medians over the spread within a launch.  slope_ratio:
    median of a launch's last third over that of its first third.
    """

    mean_ratio: float
    far_share: float
    period: int | None
    between_ratio: float | None
    slope_ratio: float | None


def distribution_of(launches: Sequence[Values]) -> Distribution:
    """Return the five numbers.

    Args:   launches: the samples of each launch in the order of measurement, shape (n_i,), > 0, in any one unit.
    Raises: ValueError: no launch, an empty one, or a sample that is not positive.
    """
    if not launches:
        raise ValueError("distribution_of: at least one launch is needed")
    arrays = [positive(samples, "samples") for samples in launches]
    medians = [median(array) for array in arrays]
    pairs = list(zip(arrays, medians, strict=True))
    spreads = [spread for spread in map(within, arrays) if spread is not None]
    between_sd = between(medians)
    slopes = [_slope(array) for array in arrays if array.size >= FEWEST_OF_SLOPE]
    return Distribution(
        mean_ratio=median([float(array.mean()) / middle for array, middle in pairs]),
        far_share=median([float(np.mean(array > FAR_RATIO * middle)) for array, middle in pairs]),
        period=_period(arrays),
        between_ratio=between_sd / max(median(spreads), _LEAST_WITHIN) if spreads and between_sd is not None else None,
        slope_ratio=median(slopes) if slopes else None,
    )


def _slope(array: Floats) -> float:
    begin = int(_WARM_UP * array.size)
    third = (array.size - begin) // 3
    return median(array[-third:]) / median(array[begin : begin + third])


def _period(arrays: Sequence[Floats]) -> int | None:
    """Return the shortest lag whose autocorrelation stands out from its neighbours' as the highest one does.

    Neighbours are subtracted since a drift or a change of level makes every short lag alike. A lag weighs by its pairs
    of samples: where a call beside the series puts half of it out of step, a long lag may fit all of its few.
    """
    kept = [array for array in arrays if array.size >= FEWEST_OF_PERIOD]
    if not kept:
        return None
    longest = min((MOST_PERIOD, *(array.size // TURNS for array in kept)))
    correlations = np.mean([_autocorrelation(array, longest + 1) for array in kept], axis=0)
    peaks = correlations[2:-1] - np.maximum(correlations[1:-2], correlations[3:])  # of the lags from 2 on
    if peaks.max() < max(_LEAST_PEAK, _PEAK_PER_SD * math.sqrt(1.5 / sum(array.size for array in kept))):
        return None
    peaks *= 1 - np.arange(2, longest + 1) / np.mean([array.size for array in kept])
    return 2 + int(np.argmax(peaks >= _AS_HIGH * peaks.max()))


def _autocorrelation(array: Floats, longest: int) -> Floats:
    """Return that of the clipped logarithms for the lags 0 to `longest`; zeros where all samples are equal."""
    logs = np.clip(np.log(array / np.median(array)), -_CLIP_LOG, _CLIP_LOG)
    logs -= logs.mean()
    products = np.array([float(logs[lag:] @ logs[: logs.size - lag]) / (logs.size - lag) for lag in range(longest + 1)])
    return products / products[0] if products[0] > 0 else np.zeros_like(products)
