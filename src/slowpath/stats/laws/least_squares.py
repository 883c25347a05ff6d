# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares with terms that can't be negative, for a handful of columns.

The non-negative optimum sets some coefficients to zero and is the ordinary solution in the others (Lawson and Hanson,
Solving Least Squares Problems, chapter 23, whose algorithm this is).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats

_RANK_RATIO = 1e-9
_ROUNDS = 20
_SETTLED_RATIO = 1e-6
_STEEPEST = 8.0  # a point that the law misses altogether must not take all of the weight
_ROUNDING_RATIO = 1e-12


def solve(matrix: Floats, target: Floats, weights: Floats, nonnegative: NDArray[np.bool_]) -> Floats | None:
    """Coefficients, shape (columns,), of the least sum of (weights (target - matrix @ c))^2.

    Args:    matrix: shape (points, columns).  target, weights: shape (points,).  nonnegative: shape (columns,).
    Returns: None when the columns are not independent on these points: then there is no one answer.
    """
    weighted = matrix * weights[:, None]
    scale = np.sqrt(np.add.reduce(np.square(weighted), axis=0))
    if matrix.shape[0] < matrix.shape[1] or not scale.all():
        return None
    weighted /= scale
    if not independent(weighted):
        return None
    aim = target * weights
    best = _clip(weighted, aim, nonnegative)
    coefficients: Floats = best / scale
    return coefficients


def solve_times(matrix: Floats, times_s: Floats, sigma_ratio: Floats, nonnegative: NDArray[np.bool_]) -> Floats | None:
    """Coefficients of times whose errors multiply: least sum of (ln(time / fitted) / sigma_ratio)^2.

    The sum of terms stays a sum; only its error is looked at as a ratio. With L the logarithmic mean of time and
    fitted, ln(time / fitted) = (time - fitted) / L, and weights 1 / (sigma sqrt(L fitted)) make the linear problem's
    gradient that of the logarithms. Where a law fits this is a fit with relative
    weights; where it does not, being off by a factor of 6 up and down count alike.
    Args: sigma_ratio: shape (points,).  Returns: as `solve`.
    """
    weights = 1.0 / (sigma_ratio * times_s)
    least, most = times_s / _STEEPEST, times_s * _STEEPEST
    found = solve(matrix, times_s, weights, nonnegative)
    for _ in range(_ROUNDS):
        if found is None:
            return None
        fitted = np.minimum(np.maximum(matrix @ found, least), most)
        if np.abs(fitted / times_s - 1.0).max() < 0.1:  # there L differs from the time by less than 5 %
            return found
        fresh = 1.0 / (sigma_ratio * np.sqrt(_logarithmic_mean(times_s, fitted) * fitted))
        change = float(np.abs(fresh / weights - 1.0).max())
        weights = np.sqrt(weights * fresh)  # half the way: the whole of it can swing to and fro
        found = solve(matrix, times_s, weights, nonnegative)
        if change < _SETTLED_RATIO:
            break
    return found


def _logarithmic_mean(a: Floats, b: Floats) -> Floats:
    ratio = np.log(a / b)
    near = np.abs(ratio) < 1e-6
    if not near.any():
        apart: Floats = (a - b) / ratio
        return apart
    mean: Floats = np.where(near, 0.5 * (a + b), (a - b) / np.where(near, 1.0, ratio))
    return mean


def log_residuals(times_s: Floats, fitted_s: Floats) -> Floats:
    """ln(time / fitted), shape (points,); a fitted time that is not positive counts as a millionth of the time."""
    found: Floats = np.log(times_s / np.maximum(fitted_s, 1e-6 * times_s))
    return found


def independent(scaled: Floats) -> bool:
    """Whether columns of length 1 are linearly independent to within rounding."""
    if scaled.shape[1] == 1:
        return True
    if scaled.shape[1] == 2:  # the product of both singular values is what the second has across the first
        first, second = scaled[:, 0], scaled[:, 1]
        along = float(first @ second)
        across = second - along * first
        return math.sqrt(float(across @ across)) > _RANK_RATIO * (1.0 + abs(along))
    singular = np.linalg.svd(scaled, compute_uv=False)
    return bool(singular[-1] > _RANK_RATIO * singular[0])


def _clip(matrix: Floats, aim: Floats, nonnegative: NDArray[np.bool_]) -> Floats:
    """The non-negative optimum; columns that may be negative are free from the start."""
    coefficients = _of_columns(matrix, aim, range(matrix.shape[1]))
    if not (nonnegative & ~(coefficients >= 0)).any():
        return coefficients
    free = ~nonnegative
    coefficients = _ordinary(matrix, aim, free)
    small = _ROUNDING_RATIO * float(np.linalg.norm(aim))
    for _ in range(3 * matrix.shape[1]):  # as many releases as Lawson and Hanson allow
        gradient = np.where(free, -np.inf, matrix.T @ (aim - matrix @ coefficients))
        if gradient.max() <= small:
            break
        free[int(np.argmax(gradient))] = True
        coefficients = _inside(matrix, aim, free, coefficients, nonnegative)
    return coefficients


def _ordinary(matrix: Floats, aim: Floats, free: NDArray[np.bool_]) -> Floats:
    return _of_columns(matrix, aim, np.flatnonzero(free).tolist())


def _of_columns(matrix: Floats, aim: Floats, columns: Sequence[int]) -> Floats:
    """The ordinary solution in some columns; 0 for the others."""
    coefficients = np.zeros(matrix.shape[1])
    if len(columns) == 1:
        column = matrix[:, columns[0]]
        coefficients[columns[0]] = (column @ aim) / (column @ column)
    elif len(columns) == 2:  # Gram and Schmidt: a fifth of the time of LAPACK's, which most laws here pay 20 times
        first, second = matrix[:, columns[0]], matrix[:, columns[1]]
        length = first @ first
        along = (first @ second) / length
        across = second - along * first
        across -= ((first @ across) / length) * first
        of_second = (across @ aim) / (across @ across)
        coefficients[columns[1]] = of_second
        coefficients[columns[0]] = first @ (aim - of_second * second) / length
    elif len(columns):
        coefficients[list(columns)] = np.linalg.lstsq(matrix[:, list(columns)], aim, rcond=None)[0]
    return coefficients


def _inside(
    matrix: Floats, aim: Floats, free: NDArray[np.bool_], start: Floats, nonnegative: NDArray[np.bool_]
) -> Floats:
    """Walk from `start` towards the optimum of the free columns; stop at each bound and hold that column there."""
    while True:
        wanted = _ordinary(matrix, aim, free)
        outside = free & nonnegative & (wanted <= 0)
        if not outside.any():
            return wanted
        steps = np.full(start.shape, np.inf)
        steps[outside] = start[outside] / np.maximum(start[outside] - wanted[outside], np.finfo(float).tiny)
        wall = int(np.argmin(steps))
        start = start + steps[wall] * (wanted - start)
        free &= ~(outside & (start <= np.finfo(float).eps * np.abs(wanted)))
        free[wall] = False  # it is there but for rounding; else this need not end
        start = np.where(free, start, 0.0)
