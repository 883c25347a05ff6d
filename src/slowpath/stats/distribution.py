# SPDX-License-Identifier: Apache-2.0
"""Three numbers of a cell that its median does not show: mean, stalls, period. Pure.

Each is made within launches and taken as the median over them, so that one launch that the machine disturbed does not
decide. What is normal is not known here: a healthy run's numbers say it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.estimate import Floats, Values, median, positive

FAR_RATIO = 2.0  # over the median of the launch, at least
FEWEST_OF_PERIOD = 20  # samples of each launch
# One long stall must not outweigh all other samples; nor may a call of 0.1 us that takes 0.5 count as one of 30 us.
_CLIPS_LOG = (math.log(4.0), math.log(64.0))
TURNS = 2  # periods that a launch has to hold: each 16th of 40 calls is seen in 7 of 10 cells of three launches
MOST_PERIOD = 512
_LEAST_PEAK = 0.15  # of an autocorrelation over its neighbours
_PEAK_PER_SD = 6.0  # a thousand series without a period show none
_AS_HIGH = 0.8  # of the highest one's correlation: multiples of a period have as high ones as the period itself
ONE_EACH = (0.7, 1.5)  # samples far above the median in a period: stalls, and not a wave or what is long at random
_STANDS_OUT = 0.4  # of the highest peak: a series half of which is out of step by one has a neighbour half as high


@dataclass(frozen=True)
class Distribution:
    """mean_ratio: mean over median.  far_share: samples far above the median, of all.  period: samples from one slow
    group to the next; None: there is none, or too few samples.
    """

    mean_ratio: float
    far_share: float
    period: int | None


def distribution_of(launches: Sequence[Values]) -> Distribution:
    """Return the three numbers.

    Args:   launches: the samples of each launch in the order of measurement, shape (n_i,), > 0, in any one unit.
    Raises: ValueError: no launch, an empty one, or a sample that is not positive.
    """
    if not launches:
        raise ValueError("distribution_of: at least one launch is needed")
    arrays = [positive(samples, "samples") for samples in launches]
    medians = [median(array) for array in arrays]
    pairs = list(zip(arrays, medians, strict=True))
    far_share = median([_far_share(array, middle) for array, middle in pairs])
    return Distribution(
        mean_ratio=median([float(array.mean()) / middle for array, middle in pairs]),
        far_share=far_share,
        period=next(filter(None, (_period(arrays, clip, far_share) for clip in _CLIPS_LOG)), None),
    )


def _far_share(array: Floats, middle: float) -> float:
    """Return the share nearer to the second longest than to the median, as logarithms: what is regular comes twice."""
    second = float(np.partition(array, -2)[-2]) if array.size > 1 else middle
    return float(np.mean(array > max(FAR_RATIO, math.sqrt(second / middle)) * middle))


def _period(arrays: Sequence[Floats], clip_log: float, far_share: float) -> int | None:
    """Return the shortest lag whose autocorrelation stands out from its neighbours' as the highest one does.

    Where it holds several slow samples, another that stands out and holds one: a call beside each part of the series
    puts that one out of step, but not the longer one.

    Neighbours are subtracted since a drift or a change of level makes every short lag alike. A lag weighs by its pairs
    of samples: where a call beside the series puts half of it out of step, a long lag may fit all of its few.
    """
    kept = [array for array in arrays if array.size >= FEWEST_OF_PERIOD]
    if not kept:
        return None
    longest = min((MOST_PERIOD, *(array.size // TURNS for array in kept)))
    correlations = np.mean([_autocorrelation(array, longest + 1, clip_log) for array in kept], axis=0)
    peaks = correlations[2:-1] - np.maximum(correlations[1:-2], correlations[3:])  # of the lags from 2 on
    if peaks.max() < max(_LEAST_PEAK, _PEAK_PER_SD * math.sqrt(1.5 / sum(array.size for array in kept))):
        return None
    pairs = 1 - np.arange(2, longest + 1) / np.mean([array.size for array in kept])
    peaks, weighed = peaks * pairs, correlations[2:-1] * pairs
    stands_out = peaks >= _STANDS_OUT * peaks.max()
    is_high = stands_out & (weighed >= _AS_HIGH * weighed[np.argmax(peaks)])
    holds = far_share * np.arange(2, longest + 1)
    holds_one = stands_out & (holds >= ONE_EACH[0]) & (holds <= ONE_EACH[1])
    holds_several = holds[np.argmax(is_high)] > ONE_EACH[1]
    return 2 + int(np.argmax(holds_one if holds_several and holds_one.any() else is_high))


def _autocorrelation(array: Floats, longest: int, clip_log: float) -> Floats:
    """Return that of the clipped logarithms for the lags 0 to `longest`; zeros where all samples are equal."""
    logs = np.clip(np.log(array / np.median(array)), -clip_log, clip_log)
    logs -= logs.mean()
    products = np.array([float(logs[lag:] @ logs[: logs.size - lag]) / (logs.size - lag) for lag in range(longest + 1)])
    return products / products[0] if products[0] > 0 else np.zeros_like(products)
