# SPDX-License-Identifier: Apache-2.0
"""Constants for well aligned allocations, with a step between them, and a cost by the page for all others.

Two GPUs: whole multiples of a large page cost nothing up to 384 MiB and 7 to 11 ms, whatever their length, from 512 MiB
on; one byte more costs 7.4 ms a GiB. A line through four such lengths is none of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.stats.laws.allocation import SIDES, sides
from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.granules import CLASSES, alignment, granules_of
from slowpath.stats.laws.law import Column, Law, Place, Variant, intercept, missing, with_transfer
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.steps import FEWEST, FEWEST_BESIDE, count_of_groups, gaps_between_groups
from slowpath.stats.laws.sweep import Covariates


@dataclass(frozen=True)
class _Threshold:
    """length: covariate. limits: the least alignment of each class but the first, ascending; the last class has no
    remainder. least: alignment of the first class. above: the last length without a remainder before the step.
    """

    length: str
    limits: tuple[float, ...]
    least: float
    above: float

    def __call__(self, covariates: Covariates) -> Sequence[Column]:
        lengths = covariates[self.length]
        index = np.searchsorted(self.limits, alignment(lengths), side="right")
        later = (index == len(self.limits)) & (lengths > self.above)
        terms = [intercept(covariates), Column("beyond the threshold", None, later.astype(np.float64))]
        for number, page in enumerate([self.least, *self.limits[:-1]]):
            terms.append(granules_of(int(page), np.where(index == number, np.ceil(lengths / page), 0.0)))
        return terms


def _variants(covariates: Covariates) -> Sequence[Variant]:
    found = []
    for name, text in sides(covariates).items():
        levels = np.unique(alignment(covariates[name])).tolist()
        for switches in range(1, CLASSES):
            for limits in combinations(levels[1:], switches):
                found += _of_classes(covariates, name, text, limits)
    return with_transfer(found, covariates)


def _of_classes(covariates: Covariates, name: str, text: str, limits: tuple[float, ...]) -> list[Variant]:
    """One for each place of the step among the lengths without a remainder."""
    lengths = covariates[name]
    levels = np.unique(alignment(lengths))
    clean = np.unique(lengths[alignment(lengths) >= limits[-1]]).tolist()
    if count_of_groups(clean) < FEWEST:
        return []
    aligned = [Bracket(f"{text}'s alignment", float(levels[levels < limit].max()), limit) for limit in limits]
    classes = ", ".join(format_bytes(int(limit)) for limit in (levels[0], *limits))
    return [
        Variant(
            f"step after {format_bytes(int(low))}, classes {classes}",
            _Threshold(name, limits, float(levels[0]), low),
            (*aligned, Bracket(name, low, high)),
        )
        for low, high in gaps_between_groups(clean, FEWEST_BESIDE)
    ]


def _needs(covariates: Covariates) -> str | None:
    if (why := missing(covariates, *SIDES)) is not None:
        return why
    if _variants(covariates):
        return None
    return f"too few points: needs lengths with a remainder, and {FEWEST} lengths without one"


def _probes(covariates: Covariates) -> list[Place]:
    return [place for name in sides(covariates) for place in spread(covariates, name)]


LAW = Law(
    name="threshold",
    formula="t = a + b [no remainder, allocation > L] + sum of c_g pages_g(allocation with a remainder)",
    needs=_needs,
    variants=_variants,
    probes=_probes,
    shape_matters=False,
    along=tuple(SIDES),
    fewest=6,
)
