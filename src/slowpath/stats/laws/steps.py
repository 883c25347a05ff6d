# SPDX-License-Identifier: Apache-2.0
"""A step in a count: the shape that live buffers and repetitions share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.law import Column, Variant, intercept, with_transfer
from slowpath.stats.laws.sweep import Covariates


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
