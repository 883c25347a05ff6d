# SPDX-License-Identifier: Apache-2.0
"""A step at some length, and a constant on both sides of it: another path from a threshold on, whose cost nothing else
decides. Steps in counts have laws of their own (live_buffers, repetition).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.stats.laws.allocation import SIDES, sides
from slowpath.stats.laws.law import Law, Place, Variant, missing, varies, with_transfer
from slowpath.stats.laws.message import MESSAGE
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.steps import count_of_groups, gaps_between_groups, step
from slowpath.stats.laws.sweep import Covariates

FEWEST = 5  # lengths: two constants, the step, and two that could contradict them
FEWEST_BESIDE = 2  # lengths on each side: one could not show that the side is constant


def _variants(covariates: Covariates) -> Sequence[Variant]:
    found = [variant for name in sides(covariates) for variant in _along(covariates, name)]
    found = with_transfer(found, covariates)
    if varies(covariates, MESSAGE):
        found += _along(covariates, MESSAGE)
    return found


def _along(covariates: Covariates, name: str) -> list[Variant]:
    values = np.unique(covariates[name]).tolist()
    gaps = gaps_between_groups(values, FEWEST_BESIDE) if count_of_groups(values) >= FEWEST else []
    return [step(name, term, *gap, rising=rising) for gap in gaps for term, rising in _TERMS]


_TERMS = (("beyond the step", True), ("up to the step", False))


def _probes(covariates: Covariates) -> list[Place]:
    names = [*sides(covariates), *([MESSAGE] if varies(covariates, MESSAGE) else [])]
    return [place for name in names for place in spread(covariates, name)]


LAW = Law(
    name="step",
    formula="t = a + b [length > L]",
    needs=lambda covariates: missing(covariates, *SIDES, MESSAGE),
    variants=_variants,
    probes=_probes,
    shape_matters=False,
    along=(*SIDES, MESSAGE),
    fewest=FEWEST,
)
