# SPDX-License-Identifier: Apache-2.0
"""Where stretches of straight lines begin, such that each line is one that a protocol can have: it costs no less than
nothing at 0 bytes, and no less for a longer message. Dynamic programming over all places, in time O(n^2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats

FEWEST_SIZES = 4  # in a stretch: two coefficients, and two more points that could contradict them
MOST_SEGMENTS = 6


def best_splits(lengths: Floats, times_s: Floats, weights: Floats, most: int = MOST_SEGMENTS) -> list[list[int]]:
    """For each number of segments from 2 on, where the next one begins: indices into ascending lengths.

    Args: lengths, times_s, weights: shape (n,); weights multiply residuals.
    """
    n = lengths.size
    if n < 2 * FEWEST_SIZES:
        return []
    cost = line_costs(lengths, times_s, weights**2)
    total, came = cost[0].copy(), []
    found = []
    for segments in range(2, most + 1):
        if n < segments * FEWEST_SIZES:
            break
        total, begin = _one_more(total, cost)
        came.append(begin)
        splits, end = [], n
        for step in reversed(came):
            end = int(step[end])
            splits.append(end)
        found.append(splits[::-1])
    return found


def _one_more(total: Floats, cost: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """With one more segment: the least cost of the first j points, and where its last segment begins."""
    least = np.full(total.size, np.inf)
    begin = np.zeros(total.size, dtype=np.int64)
    for i in np.flatnonzero(np.isfinite(total)):
        ways = total[i] + cost[i]
        better = ways < least
        least[better], begin[better] = ways[better], i
    return least, begin


def line_costs(x: Floats, y: Floats, w: Floats) -> Floats:
    """cost[i, j]: weighted sum of squares about the best line a + b x with a, b >= 0 through points i .. j - 1; inf
    where these are fewer than FEWEST_SIZES. Shape (n + 1, n + 1).

    Args: x: ascending, each once.  y: above 0.  w: weights of squares.
    """
    n = x.size
    cost = np.full((n + 1, n + 1), np.inf)
    for i in range(n - FEWEST_SIZES + 1):
        cost[i, i + FEWEST_SIZES :] = _from(x[i:], y[i:], w[i:])[FEWEST_SIZES - 1 :]
    return cost


def _from(x: Floats, y: Floats, w: Floats) -> Floats:
    """Costs of the lines through the first 1, 2, ... points. Sums begin at the first point, and those of the free line
    are of differences from it, so that a few near points far from 0 lose no digits.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        dx, dy = x - x[0], y - y[0]
        sw, sx, sy = np.cumsum(w), np.cumsum(w * dx), np.cumsum(w * dy)
        sxx, sxy, syy = np.cumsum(w * dx * dx), np.cumsum(w * dx * dy), np.cumsum(w * dy * dy)
        slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
        level = (sy - slope * sx) / sw  # of the free line at the first point, less y[0]
        free = syy - level * sy - slope * sxy
        possible = (slope >= 0) & (y[0] + level - slope * x[0] >= 0)
        # Else the best line lies on the border: no constant, or the same time for every length.
        through_0 = np.cumsum(w * y * y) - np.cumsum(w * x * y) ** 2 / np.cumsum(w * x * x)
        flat = syy - sy * sy / sw
        costs: Floats = np.maximum(np.where(possible, free, np.fmin(through_0, flat)), 0.0)
    return costs
