# SPDX-License-Identifier: Apache-2.0
"""Bytes again, with other coefficients from some length on: protocol switches.

Each stretch is a straight line in linear space, fitted with relative weights; the places of the switches are found by
dynamic programming over all of them. Straight lines in a plot of logarithms would not do: a + b n is curved there, and
the bend is taken for a switch. docs/internals/laws.md has how well switches are found and how often none is invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.law import Column, Law, Place, Variant, missing
from slowpath.stats.laws.message import MESSAGE
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates

FEWEST_SIZES = 4  # in a stretch: two coefficients, and two more points that could contradict them
MOST_SEGMENTS = 6


def switched(limits: Sequence[tuple[float, float]]) -> Variant:
    """limits: of each switch the last length before it and the first one behind it."""
    edges = [high for _, high in limits]

    def columns(covariates: Covariates) -> Sequence[Column]:
        index = np.searchsorted(edges, covariates[MESSAGE], side="right")
        terms = []
        for number in range(len(edges) + 1):
            inside = (index == number).astype(np.float64)
            # A stretch that begins far from 0 bytes may well meet the axis below 0 s.
            terms.append(Column(f"constant {number + 1}", "", inside, nonnegative=number == 0))
            terms.append(Column(f"transfer {number + 1}", "byte", inside * covariates[MESSAGE]))
        return terms

    text = " and ".join(f"{low:.12g} B" for low, _ in limits)
    brackets = tuple(Bracket(MESSAGE, low, high) for low, high in limits)
    return Variant(f"switch after {text}", columns, brackets, searched=len(limits))


def best_splits(lengths: Floats, times_s: Floats, weights: Floats, most: int = MOST_SEGMENTS) -> list[list[int]]:
    """For each number of segments from 2 on, where the next one begins: indices into ascending lengths.

    Args: lengths, times_s, weights: shape (n,); weights multiply residuals.  Dynamic programming over all places.
    """
    cost = _costs(lengths, times_s, weights**2)
    n = lengths.size
    total, came = cost[0].copy(), []
    found = []
    for segments in range(2, most + 1):
        if n < segments * FEWEST_SIZES:
            break
        ways = total[:, None] + cost[:, :]
        begin = np.argmin(ways[:n], axis=0)
        total = ways[begin, np.arange(n + 1)]
        came.append(begin)
        splits, end = [], n
        for step in reversed(came):
            end = int(step[end])
            splits.append(end)
        found.append(splits[::-1])
    return found


def _costs(x: Floats, y: Floats, w: Floats) -> Floats:
    """cost[i, j]: weighted sum of squares about the best line through points i .. j - 1, inf where these are too few;
    shape (n + 1, n + 1)."""
    n = x.size
    cost = np.full((n + 1, n + 1), np.inf)
    for i in range(n):
        for j in range(i + FEWEST_SIZES, n + 1):
            part = slice(i, j)
            root = np.sqrt(w[part])
            matrix = np.stack([root, root * x[part] / x[j - 1]], axis=1)
            rest = root * y[part] - matrix @ np.linalg.lstsq(matrix, root * y[part], rcond=None)[0]
            cost[i, j] = float(rest @ rest)
    return cost


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
)
