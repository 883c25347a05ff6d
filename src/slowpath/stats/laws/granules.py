# SPDX-License-Identifier: Apache-2.0
"""Time by the pages with which an allocation is mapped, where its own alignment decides how large they are.

What maps a foreign allocation takes the largest page that divides its length and its base: a remainder of one byte
turns 2 MiB pages into 4 KiB ones (docs/results/gpu.md). Each page size has a cost of its own, since the work for a page
is not the same at every size. Which sizes there are is read from the sweep: alignments are divided into classes, and a
class maps with the least alignment in it. A limit between two classes is known as well as the sampled alignments
bracket it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.allocation import SIDES, sides
from slowpath.stats.laws.found import Bracket, per_page
from slowpath.stats.laws.law import Column, Law, Place, Variant, intercept, missing, varies, with_transfer
from slowpath.stats.laws.probes import existing
from slowpath.stats.laws.sweep import Covariates

HOST_PAGE = 4096  # lengths are rounded up to it before anything is mapped
LARGEST = 2**26  # of a page: alignment above it is an accident of the length
CLASSES = 3
_REMAINDERS = tuple(2**power for power in range(12, 26))
BASE = "base"
ASKED = "buffer_bytes"
Alignment = Callable[[Covariates], Floats]
Rest = Literal["free", "paged", "by length"]  # what the best aligned class costs: a constant, by page, one a length
_SAID = {"free": ", the last free", "paged": "", "by length": ", the last as each length has it"}


def alignment(values: Floats) -> Floats:
    """Largest power of two, from HOST_PAGE to LARGEST, that divides each length or address rounded up to HOST_PAGE."""
    whole = np.ceil(values / HOST_PAGE).astype(np.int64)
    lowest = np.where(whole > 0, whole & -whole, LARGEST // HOST_PAGE)
    found: Floats = np.minimum(lowest * HOST_PAGE, LARGEST).astype(np.float64)
    return found


@dataclass(frozen=True)
class _Classes:
    """length: covariate. of: its alignment. limits: the least alignment of each class but the first, ascending. asked:
    lengths that have a constant of their own where `rest` says so.
    """

    length: str
    of: Alignment
    limits: tuple[float, ...]
    least: float
    rest: Rest
    asked: tuple[float, ...] = ()

    def pages(self) -> list[float]:
        """Page size of each class that pays by the page."""
        starts = [self.least, *self.limits]
        return starts if self.rest == "paged" else starts[:-1]

    def __call__(self, covariates: Covariates) -> Sequence[Column]:
        index = np.searchsorted(self.limits, self.of(covariates), side="right")
        terms = _bases(covariates, self.asked) if self.rest == "by length" else [intercept(covariates)]
        for number, page in enumerate(self.pages()):
            count = np.where(index == number, np.ceil(covariates[self.length] / page), 0.0)
            terms.append(granules_of(int(page), count))
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


def granules_of(page_bytes: int, count: Floats) -> Column:
    """Return the term of an allocation's pages of this length."""
    return Column(f"{format_bytes(page_bytes)} granules", per_page(page_bytes), count)


def _variant(classes: _Classes, what: str, levels: Floats) -> Variant:
    brackets = tuple(Bracket(what, float(levels[levels < limit].max()), limit) for limit in classes.limits)
    text = ", ".join(format_bytes(int(start)) for start in [classes.least, *classes.limits])
    return Variant(f"granules of the {what}: {text}{_SAID[classes.rest]}", classes, brackets)


def _alignments(covariates: Covariates, length: str, text: str) -> dict[str, Alignment]:
    found: dict[str, Alignment] = {f"{text}'s length": lambda c: alignment(c[length])}
    if BASE in covariates:
        found[f"{text}'s base"] = lambda c: alignment(c[BASE])
        found[f"{text}'s length and base"] = lambda c: np.minimum(alignment(c[length]), alignment(c[BASE]))
    return found


def _variants(covariates: Covariates) -> Sequence[Variant]:
    rests: tuple[Rest, ...] = ("free", "paged", "by length") if varies(covariates, ASKED) else ("free", "paged")
    asked = tuple(np.unique(covariates[ASKED]).tolist()) if ASKED in covariates else ()
    found = []
    for length, text in sides(covariates).items():
        for what, of in _alignments(covariates, length, text).items():
            levels = np.unique(of(covariates))
            for switches in range(1, CLASSES):
                for limits in combinations(levels[1:].tolist(), switches):
                    for rest in rests:
                        found.append(
                            _variant(_Classes(length, of, limits, float(levels[0]), rest, asked), what, levels)
                        )
    return with_transfer(found, covariates)


def _needs(covariates: Covariates) -> str | None:
    if (why := missing(covariates, *SIDES)) is not None:
        return why
    return None if _variants(covariates) else "every allocation has the same alignment"


def _probes(covariates: Covariates) -> list[Place]:
    """Return each place with the remainder of its length taken away, of one byte, and of every power of two."""
    found: list[Place] = []
    for place in existing(covariates):
        for length in sides(covariates):
            whole = place.get(ASKED, place[length] // LARGEST * LARGEST)
            for rest in (0, 1, *_REMAINDERS) if whole > 0 else ():
                found.append({**place, length: float(whole + rest)})
    return found


LAW = Law(
    name="granules",
    formula="t = a + sum over page sizes g of b_g pages_g(allocation) [+ c message_bytes]",
    needs=_needs,
    variants=_variants,
    probes=_probes,
    along=tuple(SIDES),
)
