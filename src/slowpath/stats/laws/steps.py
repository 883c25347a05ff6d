# SPDX-License-Identifier: Apache-2.0
"""A step in a count: the shape that live buffers and repetitions share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.law import Column, Variant, intercept, with_transfer
from slowpath.stats.laws.sweep import Covariates

ALIKE_RATIO = 1.25  # of lengths that count as one: what is constant over them may as well grow


def step(name: str, term: str, above: float, up_to: float, *, rising: bool) -> Variant:
    """A constant more from `up_to` on (rising), or up to `above` (falling)."""

    def columns(covariates: Covariates) -> Sequence[Column]:
        later = covariates[name] > above
        return [intercept(covariates), Column(term, "", (later if rising else ~later).astype(np.float64))]

    return Variant(f"step after {above:g}", columns, (Bracket(name, above, up_to),))


def steps(covariates: Covariates, name: str, term: str, *, rising: bool) -> list[Variant]:
    """One for each gap between neighbouring values of the covariate."""
    values = np.unique(covariates[name]).tolist()
    found = [step(name, term, low, high, rising=rising) for low, high in pairwise(values)]
    return with_transfer(found, covariates)


def gaps_between_groups(lengths: Sequence[float], fewest_beside: int) -> list[tuple[float, float]]:
    """Where a step between constants may lie: (last length before it, first one behind it), with so many lengths on
    either side that stand ALIKE_RATIO or more apart. A length and one byte more are one length here.

    Args: lengths: ascending.
    """
    ends = [index for index, (low, high) in enumerate(pairwise(lengths)) if high > ALIKE_RATIO * low]
    inner = ends[fewest_beside - 1 : len(ends) + 1 - fewest_beside]
    return [(lengths[index], lengths[index + 1]) for index in inner]


def count_of_groups(lengths: Sequence[float]) -> int:
    """Ascending lengths that stand ALIKE_RATIO or more apart."""
    return sum(high > ALIKE_RATIO * low for low, high in pairwise(lengths)) + bool(lengths)
