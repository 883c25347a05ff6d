# SPDX-License-Identifier: Apache-2.0
"""Bytes again, with other coefficients from some length on: protocol switches.

Each stretch is a straight line in linear space, fitted with relative weights; the places of the switches are found by
dynamic programming over all of them. Straight lines in a plot of logarithms would not do: a + b n is curved there, and
the bend is taken for a switch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.found import BYTE, Bracket
from slowpath.stats.laws.law import Column, Law, Place, Variant, missing
from slowpath.stats.laws.linear import MESSAGE
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates

# Where stretches of straight lines begin, such that each line is one that a protocol can have: it costs no less than
# nothing at 0 bytes, and no less for a longer message. Dynamic programming over all places, in time O(n^2); above
# MOST_PLACES lengths over places at equal distances, then each is moved to where it is best between its neighbours.
# All lengths count in either case.

FEWEST_SIZES = 4  # in a stretch: two coefficients, and two more points that could contradict them
MOST_SEGMENTS = 6
MOST_PLACES = 1000  # among which the beginnings are searched at once
MOST_PASSES = 10  # of moving them


def best_splits(lengths: Floats, times_s: Floats, weights: Floats, most: int = MOST_SEGMENTS) -> list[list[int]]:
    """For each number of segments from 2 on, where the next one begins: indices into ascending lengths.

    Args: lengths, times_s, weights: shape (n,); weights multiply residuals.
    """
    n = lengths.size
    if n < 2 * FEWEST_SIZES:
        return []
    squares = weights**2
    places = np.arange(n + 1) if n <= MOST_PLACES else np.linspace(0, n, MOST_PLACES + 1).round().astype(np.int64)
    cost = line_costs(lengths, times_s, squares, places)
    total, came = cost[0].copy(), []
    found = []
    for segments in range(2, most + 1):
        if n < segments * FEWEST_SIZES:
            break
        total, begin = _one_more(total, cost)
        came.append(begin)
        splits, end = [], places.size - 1
        for step in reversed(came):
            end = int(step[end])
            splits.append(int(places[end]))
        found.append(splits[::-1] if n <= MOST_PLACES else _moved(splits[::-1], lengths, times_s, squares))
    return found


def _moved(splits: list[int], x: Floats, y: Floats, w: Floats) -> list[int]:
    """Move each split in turn to where the lines on both its sides cost least, until none moves."""
    edges = [0, *splits, x.size]
    for _ in range(MOST_PASSES):
        before = list(edges)
        for k in range(1, len(edges) - 1):
            a, b = edges[k - 1], edges[k + 1]
            ends = slice(a + FEWEST_SIZES, b - FEWEST_SIZES + 1)
            left = _from(x[a:b], y[a:b], w[a:b])
            right = _from(x[a:b][::-1], y[a:b][::-1], w[a:b][::-1])[::-1]
            both = left[ends.start - a - 1 : ends.stop - a - 1] + right[ends.start - a : ends.stop - a]
            edges[k] = ends.start + int(np.argmin(both))
        if edges == before:
            break
    return edges[1:-1]


def _one_more(total: Floats, cost: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the least cost of the first j points with one more segment, and where its last segment begins."""
    least = np.full(total.size, np.inf)
    begin = np.zeros(total.size, dtype=np.int64)
    for i in np.flatnonzero(np.isfinite(total)):
        ways = total[i] + cost[i]
        better = ways < least
        least[better], begin[better] = ways[better], i
    return least, begin


def line_costs(x: Floats, y: Floats, w: Floats, places: NDArray[np.int64] | None = None) -> Floats:
    """cost[i, j]: weighted sum of squares about the best line a + b x with a, b >= 0 through points i .. j - 1; inf
    where these are fewer than FEWEST_SIZES. Shape (n + 1, n + 1), or of `places`, ascending from 0 to n.

    Args: x: ascending, each once.  y: above 0.  w: weights of squares.
    """
    n = x.size
    places = np.arange(n + 1) if places is None else places
    cost = np.full((places.size, places.size), np.inf)
    for row, i in enumerate(places[places <= n - FEWEST_SIZES]):
        first = int(np.searchsorted(places, i + FEWEST_SIZES))
        cost[row, first:] = _from(x[i:], y[i:], w[i:])[places[first:] - i - 1]
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


def switched(limits: Sequence[tuple[float, float]]) -> Variant:
    """limits: of each switch the last length before it and the first one behind it."""
    edges = [high for _, high in limits]

    def columns(covariates: Covariates) -> Sequence[Column]:
        index = np.searchsorted(edges, covariates[MESSAGE], side="right")
        terms = []
        for number in range(len(edges) + 1):
            inside = (index == number).astype(np.float64)
            # Neither may be negative: a line that meets 0 bytes below 0 s is a piece of a curve, and no protocol.
            terms.append(Column(f"constant {number + 1}", None, inside))
            terms.append(Column(f"transfer {number + 1}", BYTE, inside * covariates[MESSAGE]))
        return terms

    text = " and ".join(f"{low:.12g} B" for low, _ in limits)
    brackets = tuple(Bracket(MESSAGE, low, high) for low, high in limits)
    return Variant(f"switch after {text}", columns, brackets, searched=len(limits))


def variants(covariates: Covariates, centre_s: Floats, sigma_ratio: Floats) -> list[Variant]:
    """The best placing of 1, 2, ... switches for these times, and for each what its neighbours would be."""
    order = np.argsort(covariates[MESSAGE], kind="stable")
    lengths = covariates[MESSAGE][order]
    found = []
    for splits in best_splits(lengths, centre_s[order], 1.0 / (sigma_ratio * centre_s)[order]):
        found.append(_between(lengths, splits))
        for which, split in enumerate(splits):
            for moved in (split - 1, split + 1):
                shifted = [*splits[:which], moved, *splits[which + 1 :]]
                edges = [0, *shifted, lengths.size]
                if all(b - a >= FEWEST_SIZES for a, b in pairwise(edges)):
                    found.append(_between(lengths, shifted))
    return found


def _between(lengths: Floats, splits: Sequence[int]) -> Variant:
    return switched([(float(lengths[s - 1]), float(lengths[s])) for s in splits])


def _needs(covariates: Covariates) -> str | None:
    if (why := missing(covariates, MESSAGE)) is not None:
        return why
    lengths = covariates[MESSAGE]
    if np.unique(lengths).size != lengths.size:
        return "several points have the same message_bytes; take one sweep of lengths at a time"
    if lengths.size < 2 * FEWEST_SIZES:
        return f"{lengths.size} lengths; a switch needs {FEWEST_SIZES} on each side"
    return None


def _probes(covariates: Covariates) -> list[Place]:
    return spread(covariates, MESSAGE)


LAW = Law(
    name="segments",
    formula="t = a_j + b_j message_bytes in stretch j",
    needs=_needs,
    variants=lambda covariates: [],
    probes=_probes,
    shape_matters=False,
    placed=variants,
    along=(MESSAGE,),
)
