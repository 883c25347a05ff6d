# SPDX-License-Identifier: Apache-2.0
"""Steps: a constant time on both sides of a limit, in a length or in a count. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from slowpath.stats.laws.allocation import SIDES, sides
from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.law import Column, Law, Place, Variant, intercept, missing, varies, with_transfer
from slowpath.stats.laws.linear import MESSAGE
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates

ALIKE_RATIO = 1.25  # of lengths that count as one: what is constant over them may as well grow


def step(name: str, term: str, above: float, up_to: float, *, rising: bool) -> Variant:
    """A constant more from `up_to` on (rising), or up to `above` (falling)."""

    def columns(covariates: Covariates) -> Sequence[Column]:
        later = covariates[name] > above
        return [intercept(covariates), Column(term, None, (later if rising else ~later).astype(np.float64))]

    return Variant(f"step after {above:g}", columns, (Bracket(name, above, up_to),))


def steps(covariates: Covariates, name: str, term: str, *, rising: bool) -> list[Variant]:
    """One for each gap between neighbouring values of the covariate."""
    values = np.unique(covariates[name]).tolist()
    found = [step(name, term, low, high, rising=rising) for low, high in pairwise(values)]
    return with_transfer(found, covariates)


def gaps_between_groups(lengths: Sequence[float], fewest_beside: int) -> list[tuple[float, float]]:
    """Return where a step between constants may lie: (last length before it, first one behind it), with so many lengths
    on either side that stand ALIKE_RATIO or more apart. A length and one byte more are one length here.

    Args: lengths: ascending.
    """
    ends = [index for index, (low, high) in enumerate(pairwise(lengths)) if high > ALIKE_RATIO * low]
    inner = ends[fewest_beside - 1 : len(ends) + 1 - fewest_beside]
    return [(lengths[index], lengths[index + 1]) for index in inner]


def count_of_groups(lengths: Sequence[float]) -> int:
    """Ascending lengths that stand ALIKE_RATIO or more apart."""
    return sum(high > ALIKE_RATIO * low for low, high in pairwise(lengths)) + bool(lengths)


def _stepping(name: str, formula: str, covariate: str, term: str, *, rising: bool) -> Law:
    """One step along a number.  Args: rising: the slow side is above it."""
    return Law(
        name=name,
        formula=formula,
        needs=lambda covariates: missing(covariates, covariate),
        variants=lambda covariates: steps(covariates, covariate, term, rising=rising),
        probes=lambda covariates: spread(covariates, covariate),
        shape_matters=False,
        along=(covariate,),
        fewest=5,
    )


# More buffers are in use than a cache of handles or registrations holds. Buffers used in turn miss a cache with
# least-recently-used replacement either never or every time, so the cost does not grow: it begins. Known capacities:
# docs/internals/statistics.md.
LIVE = "live_buffers"
LIVE_BUFFERS = _stepping("live buffers", "t = a + b [live_buffers > K]", LIVE, "miss", rising=True)

# A path that opens at the n-th use of a buffer, counted from 1. n = 2 is a cost of the first use alone. MPICH's XPMEM
# opens at the fifth use of an address (its source, src/mpid/ch4/shm/ipc/xpmem).
REPETITION = "repetition"
REPETITIONS = _stepping("repetition", "t = a + b [repetition < n]", REPETITION, "before it opens", rising=False)


# A step at some length: another path from a limit on, whose cost depends on nothing else.
FEWEST = 5  # lengths: two constants, the step, and two that could contradict them
FEWEST_BESIDE = 2  # lengths on each side: one could not show that the side is constant


def _step_variants(covariates: Covariates) -> Sequence[Variant]:
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


def _step_probes(covariates: Covariates) -> list[Place]:
    names = [*sides(covariates), *([MESSAGE] if varies(covariates, MESSAGE) else [])]
    return [place for name in names for place in spread(covariates, name)]


STEP = Law(
    name="step",
    formula="t = a + b [length > L]",
    needs=lambda covariates: missing(covariates, *SIDES, MESSAGE),
    variants=_step_variants,
    probes=_step_probes,
    shape_matters=False,
    along=(*SIDES, MESSAGE),
    fewest=FEWEST,
)
