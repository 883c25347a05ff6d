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
from slowpath.stats.laws.splits import FEWEST_SIZES, best_splits
from slowpath.stats.laws.sweep import Covariates


def switched(limits: Sequence[tuple[float, float]]) -> Variant:
    """limits: of each switch the last length before it and the first one behind it."""
    edges = [high for _, high in limits]

    def columns(covariates: Covariates) -> Sequence[Column]:
        index = np.searchsorted(edges, covariates[MESSAGE], side="right")
        terms = []
        for number in range(len(edges) + 1):
            inside = (index == number).astype(np.float64)
            # Neither may be negative: a line that meets 0 bytes below 0 s is a piece of a curve, and no protocol.
            terms.append(Column(f"constant {number + 1}", "", inside))
            terms.append(Column(f"transfer {number + 1}", "byte", inside * covariates[MESSAGE]))
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
