# SPDX-License-Identifier: Apache-2.0
"""What every statistic asks of its values, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Values: TypeAlias = NDArray[Any] | Sequence[float]


def finite(values: Values, name: str = "values") -> Floats:
    """`values` as a non-empty one-dimensional float64 array, shape (n,).

    Raises: ValueError when it is empty, not one-dimensional, or holds a value that is not finite.
    """
    array: Floats = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: a non-empty one-dimensional array is needed, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: every value must be finite; leave missing values out instead")
    return array


def positive(values: Values, name: str = "values") -> Floats:
    """Like `finite`, and every value > 0: times and rates, whose logarithm is taken.

    Raises: ValueError as `finite`, and when a value is zero or negative.
    """
    array = finite(values, name)
    if not (array > 0).all():
        raise ValueError(f"{name}: every value must be > 0, the smallest is {array.min():g}")
    return array


def median(values: Values) -> float:
    """`numpy.median` of values, shape (n,), n >= 1, none of them NaN, to the last bit in a fifth of its time for few.

    An analysis takes tens of thousands of medians of a handful of launches or some hundred samples.
    """
    array = np.array(values, dtype=np.float64)
    half = array.size // 2
    if array.size % 2:
        array.partition(half)
        return float(array[half])
    array.partition((half - 1, half))
    return float((array[half - 1] + array[half]) / 2.0)


def median_of_sorted(array: Floats) -> float:
    """`median` of sorted values, to the last bit."""
    half = array.size // 2
    return float(array[half]) if array.size % 2 else float((array[half - 1] + array[half]) / 2.0)


def group_medians(array: Floats, size: int) -> Floats:
    """Medians of `size` consecutive values, shape (n // size,); what is left over at the end is not used."""
    groups = array.size // size
    medians: Floats = np.median(array[: groups * size].reshape(groups, size), axis=1)
    return medians


def check_level(level: float) -> None:
    """Check that a confidence level lies between 0 and 1.  Raises: ValueError: it does not."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: a confidence level lies between 0 and 1, got {level:g}")
