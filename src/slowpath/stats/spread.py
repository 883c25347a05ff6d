# SPDX-License-Identifier: Apache-2.0
"""How much times vary inside a launch, and how much launches vary among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Values, positive

_MAD_TO_SD = 1.4826  # of a normal law, 1 / the 75 % quantile of the standard normal


@dataclass(frozen=True)
class Spread:
    """Relative spreads. None: fewer than 2 samples in every launch (within), fewer than 2 launches
    (between).
    """

    within_ratio: float | None
    between_ratio: float | None


def within(samples: Values) -> float | None:
    """1.4826 times the median absolute deviation over the median, of one launch; None with fewer than 2
    samples.
    """
    array = positive(samples, "samples")
    if array.size < 2:
        return None
    median = float(np.median(array))
    return _MAD_TO_SD * float(np.median(np.abs(array - median))) / median


def between(launch_medians: Values) -> float | None:
    """Standard deviation of the log launch medians; None with fewer than 2 launches."""
    logs = np.log(positive(launch_medians, "launch medians"))
    return float(logs.std(ddof=1)) if logs.size >= 2 else None


def spread(launches: Sequence[Values]) -> Spread:
    """Both spreads of a cell; within is the median over its launches.

    Args: launches: for each launch its samples, shape (n_i,), times > 0 of one unit.
    """
    inside = [value for value in map(within, launches) if value is not None]
    medians = [float(np.median(positive(samples, "samples"))) for samples in launches]
    return Spread(float(np.median(inside)) if inside else None, between(medians) if medians else None)
