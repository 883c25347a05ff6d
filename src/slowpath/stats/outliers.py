# SPDX-License-Identifier: Apache-2.0
"""Outliers are counted, never dropped: they are time that was really spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Values, positive
from slowpath.stats.orderstat import quantiles

MILD_IQR = 1.5
SEVERE_IQR = 3.0


@dataclass(frozen=True)
class Outliers:
    """Samples beyond Tukey's fences, and the share of all time that the severe ones took."""

    mild: int  # beyond 1.5, up to 3 interquartile ranges outside the quartiles
    severe: int  # beyond 3
    severe_time_ratio: float
    samples: int


def tukey(samples: Values) -> Outliers:
    """Count the outliers of one launch. Source: Tukey, Exploratory Data Analysis, 1977, section 2D.

    Args: samples: shape (n,), times > 0, each of the same number of operations.
    """
    array = positive(samples, "samples")
    first, third = quantiles(array, (0.25, 0.75))
    distance = np.maximum(first - array, array - third)
    severe = distance > SEVERE_IQR * (third - first)
    mild = (distance > MILD_IQR * (third - first)) & ~severe
    ratio = float(array[severe].sum() / array.sum())
    return Outliers(int(mild.sum()), int(severe.sum()), ratio, array.size)
