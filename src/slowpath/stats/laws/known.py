# SPDX-License-Identifier: Apache-2.0
"""The laws that are known. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from slowpath.core.units import format_bytes
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.law import (
    BYTE,
    Bracket,
    Column,
    Covariates,
    Law,
    Variant,
    intercept,
    is_missing,
    per_byte_of,
    per_page,
    single,
    varies,
)

# Laws that are constant, or grow in proportion to one thing that is counted.


# The postal model, alpha + beta n (Hockney 1994, doi 10.1016/S0167-8191(06)80021-9).
MESSAGE = "message_bytes"
BY_BYTE = Law(
    name="bytes",
    formula="t = a + b message_bytes",
    lacks=lambda covariates: is_missing(covariates, MESSAGE),
    variants=lambda covariates: [Variant("bytes", single("transfer", BYTE, lambda c: c[MESSAGE]))],
    along=(MESSAGE,),
    fewest=4,
)


# The base case: every other law has to fit better.
CONSTANT = Law(
    name="constant",
    formula="t = a",
    lacks=lambda covariates: False,
    variants=lambda covariates: [Variant("constant", lambda c: [intercept(c)])],
)


# Time by the allocation's length: what registers or maps a buffer often does so with all of it, however short the
# message.

# Whose allocation: both sides' where they are alike, else each may be the one that counts.
SIDES = {
    "allocation_bytes": "allocation",
    "sender_allocation_bytes": "sender's allocation",
    "receiver_allocation_bytes": "receiver's allocation",
}


def sides(covariates: Covariates) -> dict[str, str]:
    """Return the names of the allocations whose length varies in this sweep."""
    return {name: text for name, text in SIDES.items() if varies(covariates, name)}


def _variant(name: str, text: str) -> Variant:
    return Variant(text, single("by length", per_byte_of(text), lambda c: c[name]))


ALLOCATION = Law(
    name="allocation",
    formula="t = a + b allocation_bytes",
    lacks=lambda covariates: is_missing(covariates, *SIDES),
    variants=lambda covariates: [_variant(name, text) for name, text in sides(covariates).items()],
    along=tuple(SIDES),
    fewest=4,
)


# Time by the pages with which an allocation is mapped, where its own alignment decides how large they are.
#
# What maps a foreign allocation takes the largest page that divides its length and its base: a remainder of one byte
# turns 2 MiB pages into 4 KiB ones (docs/results/gpu.md). Each page size has a cost of its own, since the work for a
# page is not the same at every size. Which sizes there are is read from the sweep: alignments are divided into classes,
# and a class maps with the least alignment in it. A limit between two classes is known as well as the sampled
# alignments bracket it.

HOST_PAGE = 4096  # lengths are rounded up to it before anything is mapped
LARGEST = 2**26  # of a page: alignment above it is an accident of the length
CLASSES = 3
ASKED = "buffer_bytes"
Rest = Literal["free", "paged", "by length"]  # what the best aligned class costs: a constant, by page, one a length
_SAID = {"free": ", the last free", "paged": "", "by length": ", the last by length"}


def alignment(values: Floats) -> Floats:
    """Largest power of two, from HOST_PAGE to LARGEST, that divides each length or address rounded up to HOST_PAGE."""
    whole = np.ceil(values / HOST_PAGE).astype(np.int64)
    lowest = np.where(whole > 0, whole & -whole, LARGEST // HOST_PAGE)
    granule: Floats = np.minimum(lowest * HOST_PAGE, LARGEST).astype(np.float64)
    return granule


@dataclass(frozen=True)
class _Classes:
    """length: covariate. limits: the least alignment of each class but the first, ascending.
    asked: lengths that have a constant of their own where `rest` says so."""

    length: str
    limits: tuple[float, ...]
    least: float
    rest: Rest
    asked: tuple[float, ...] = ()

    def pages(self) -> list[float]:
        """Page size of each class that pays by the page."""
        starts = [self.least, *self.limits]
        return starts if self.rest == "paged" else starts[:-1]

    def __call__(self, covariates: Covariates) -> Sequence[Column]:
        index = np.searchsorted(self.limits, alignment(covariates[self.length]), side="right")
        terms = _bases(covariates, self.asked) if self.rest == "by length" else [intercept(covariates)]
        for number, page in enumerate(self.pages()):
            count = np.where(index == number, np.ceil(covariates[self.length] / page), 0.0)
            terms.append(Column(f"{format_bytes(int(page))} granules", per_page(int(page)), count))
        return terms


def _bases(covariates: Covariates, lengths: tuple[float, ...]) -> list[Column]:
    """A constant for each length that was asked for, before over-allocation."""
    asked = covariates[ASKED]
    return [
        Column(
            f"constant at {format_bytes(int(length))}", None, (asked == length).astype(np.float64), at_bytes=int(length)
        )
        for length in lengths
    ]


def _granules_variant(classes: _Classes, measure: str, levels: Floats) -> Variant:
    brackets = tuple(Bracket(measure, float(levels[levels < limit].max()), limit) for limit in classes.limits)
    text = ", ".join(format_bytes(int(start)) for start in [classes.least, *classes.limits])
    return Variant(f"granules of the {measure}: {text}{_SAID[classes.rest]}", classes, brackets)


def _granules_variants(covariates: Covariates) -> Sequence[Variant]:
    rests: tuple[Rest, ...] = ("free", "paged", "by length") if varies(covariates, ASKED) else ("free", "paged")
    asked = tuple(np.unique(covariates[ASKED]).tolist()) if ASKED in covariates else ()
    granules = []
    for length, text in sides(covariates).items():
        levels = np.unique(alignment(covariates[length]))
        for switches in range(1, CLASSES):
            for limits in combinations(levels[1:].tolist(), switches):
                for rest in rests:
                    classes = _Classes(length, limits, float(levels[0]), rest, asked)
                    granules.append(_granules_variant(classes, f"{text}'s length", levels))
    return granules


def _lacks(covariates: Covariates) -> bool:
    return is_missing(covariates, *SIDES) or not _granules_variants(covariates)


GRANULES = Law(
    name="granules",
    formula="t = a + sum over page sizes g of b_g pages_g(allocation) [+ c message_bytes]",
    lacks=_lacks,
    variants=_granules_variants,
    along=tuple(SIDES),
)


# Bytes again, with other coefficients from some length on: protocol switches.
#
# Each stretch is a straight line in linear space, fitted with relative weights; the places of the switches are found by
# dynamic programming over all of them. Straight lines in a plot of logarithms would not do: a + b n is curved there,
# and the bend is taken for a switch.

# Where stretches of straight lines begin, such that each line is one that a protocol can have: it costs no less than
# nothing at 0 bytes, and no less for a longer message. Dynamic programming over all places, in time and memory O(n^2).

FEWEST_SIZES = 4  # in a stretch: two coefficients, and two more points that could contradict them
MOST_SEGMENTS = 6
MOST_SIZES = 3000  # a second, and 70 MB


def best_splits(lengths: Floats, times_s: Floats, weights: Floats, most: int = MOST_SEGMENTS) -> list[list[int]]:
    """For each number of segments from 2 on, where the next one begins: indices into ascending lengths.

    Args: lengths, times_s, weights: shape (n,); weights multiply residuals.
    """
    n = lengths.size
    if n < 2 * FEWEST_SIZES:
        return []
    cost = line_costs(lengths, times_s, weights**2)
    total, came = cost[0].copy(), []
    best = []
    for segments in range(2, most + 1):
        if n < segments * FEWEST_SIZES:
            break
        total, begin = _one_more(total, cost)
        came.append(begin)
        splits, end = [], n
        for step in reversed(came):
            end = int(step[end])
            splits.append(end)
        best.append(splits[::-1])
    return best


def _one_more(total: Floats, cost: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the least cost of the first j points with one more segment, and where its last segment begins."""
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
    alternatives = []
    for splits in best_splits(lengths, centre_s[order], 1.0 / (sigma_ratio * centre_s)[order]):
        alternatives.append(_between(lengths, splits))
        for which, split in enumerate(splits):
            for moved in (split - 1, split + 1):
                shifted = [*splits[:which], moved, *splits[which + 1 :]]
                edges = [0, *shifted, lengths.size]
                if all(b - a >= FEWEST_SIZES for a, b in pairwise(edges)):
                    alternatives.append(_between(lengths, shifted))
    return alternatives


def _between(lengths: Floats, splits: Sequence[int]) -> Variant:
    return switched([(float(lengths[s - 1]), float(lengths[s])) for s in splits])


def _segments_lacks(covariates: Covariates) -> bool:
    if is_missing(covariates, MESSAGE):
        return True
    lengths = covariates[MESSAGE]
    return np.unique(lengths).size != lengths.size or not 2 * FEWEST_SIZES <= lengths.size <= MOST_SIZES


SEGMENTS = Law(
    name="segments",
    formula="t = a_j + b_j message_bytes in stretch j",
    lacks=_segments_lacks,
    variants=lambda covariates: [],
    shape_matters=False,
    placed=variants,
    along=(MESSAGE,),
)


# Every law there is, simplest first.

LAWS: tuple[Law, ...] = (
    CONSTANT,
    BY_BYTE,
    ALLOCATION,
    GRANULES,
    SEGMENTS,
)
