# SPDX-License-Identifier: Apache-2.0
"""One law fitted to a sweep: its best shape, coefficients over launches, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from slowpath.core.errors import SlowpathError
from slowpath.stats import signedrank, student
from slowpath.stats.estimate import SIGNED_RANK_LAUNCHES, T_LAUNCHES
from slowpath.stats.inputs import Floats
from slowpath.stats.interval import percent
from slowpath.stats.laws.centre import MARGIN, CentreFit, design, fit_centres
from slowpath.stats.laws.curve import CentreCurve, curve
from slowpath.stats.laws.found import Bracket, Coefficient
from slowpath.stats.laws.law import Column, Law, Variant
from slowpath.stats.laws.least_squares import solve_times
from slowpath.stats.laws.separate import contains
from slowpath.stats.laws.sweep import Sweep

# A coefficient over launches: fitted in each launch by itself, then centre and interval as everywhere else.
#
# On the coefficients as they are, not on logarithms: a coefficient may be zero.


def coefficients(sweep: Sweep, centre: CentreCurve, variant: Variant, level: float = 0.95) -> tuple[Coefficient, ...]:
    """Return the coefficient of each term; empty when no launch measured enough points to determine them."""
    fitted = _by_launch(sweep, centre, variant)
    columns = variant.columns(sweep.covariates)
    if not fitted:
        return ()
    by_term = np.array(fitted).T.tolist()
    return tuple(_over_launches(c, values, level) for c, values in zip(columns, by_term, strict=True))


def _by_launch(sweep: Sweep, centre: CentreCurve, variant: Variant) -> list[Floats]:
    """The launch's points that were measured, with the errors of the sweep: the same question to each launch."""
    columns = variant.columns(sweep.covariates)
    matrix = np.stack([column.values for column in columns], axis=1)
    nonnegative = np.array([column.nonnegative for column in columns])
    fits = []
    for times in centre.clipped_s:
        there = np.isfinite(times)
        found = solve_times(matrix[there], times[there], centre.sigma_ratio[there], nonnegative)
        if found is not None:
            fits.append(found)
    return fits


def _over_launches(column: Column, values: list[float], level: float) -> Coefficient:
    # In parts of the largest: seconds for a byte are as small as what student.mean takes for rounding errors.
    scale = max(map(abs, values)) or 1.0
    mean = student.mean([value / scale for value in values])
    n = len(values)

    def as_found(value: float, low: float, high: float, kind: str, achieved: float | None) -> Coefficient:
        return Coefficient(column.name, column.per, value, (low, high), kind, achieved, tuple(values), column.at_bytes)

    if n >= SIGNED_RANK_LAUNCHES:
        rank = signedrank.hodges_lehmann(values, level)
        if rank.interval is not None:
            found = rank.interval
            return as_found(rank.value, found.low, found.high, f"signed-rank {percent(level)}", found.level)
    if n >= T_LAUNCHES and (t := mean.interval(level)) is not None:
        return as_found(scale * mean.value, scale * t.low, scale * t.high, f"t {percent(level)} over launches", level)
    if n == 2:
        return as_found(scale * mean.value, min(values), max(values), "range of 2 launches, no interval", None)
    why = "one launch: run-to-run spread unknown" if n == 1 else "launches are equal, no interval"
    return Coefficient(column.name, column.per, scale * mean.value, None, why, None, tuple(values), column.at_bytes)


class NotDetermined(SlowpathError):
    """The points of the sweep can't determine the law. why: without its name."""

    def __init__(self, law: str, why: str) -> None:
        super().__init__(f"law '{law}': {why}")
        self.why = why


@dataclass(frozen=True)
class Fit:
    """fitted_s, residual_ratio: shape (points,); residual_ratio = centre / fitted - 1. centre: the fit that laws are
    compared by. alternatives: other shapes of the law that the points can't tell from this one, best first.
    """

    law: Law
    centre: CentreFit
    coefficients: tuple[Coefficient, ...]
    fitted_s: Floats
    residual_ratio: Floats
    brackets: tuple[Bracket, ...]
    alternatives: tuple[CentreFit, ...]

    @property
    def name(self) -> str:
        return self.law.name

    @property
    def shape(self) -> str:
        return self.centre.variant.label

    @property
    def left_out_ratio(self) -> float | None:
        """Typical relative error of a point that is predicted from the others; None: no point can be."""
        return self.centre.left_out_ratio

    @property
    def rms_ratio(self) -> float:
        return float(np.sqrt(np.mean(self.residual_ratio**2)))

    @property
    def span_ratio(self) -> float:
        """Longest over shortest fitted time, less 1: how much of the time the law is about."""
        return float(self.centre.fitted_s.max() / max(self.centre.fitted_s.min(), 1e-300)) - 1.0


def fit(law: Law, sweep: Sweep, level: float = 0.95) -> Fit:
    """Return the law's fit to this sweep.

    Raises: NotDetermined: the sweep lacks what the law is about, or has too few points for it.
    """
    return fit_on(law, sweep, curve(sweep), level)


def fit_on(law: Law, sweep: Sweep, centre: CentreCurve, level: float = 0.95) -> Fit:
    """`fit` with the centre curve already made."""
    if (why := law.needs(sweep.covariates) or law.too_few(sweep.covariates)) is not None:
        raise NotDetermined(law.name, why)
    found = fit_centres(law, sweep.covariates, centre.centre_s, centre.sigma_ratio)
    if not found:
        raise NotDetermined(law.name, f"{sweep.points} points can't determine it; measure more points")
    best = found[0]
    close = [other for other in found[1:] if other.evidence - best.evidence < MARGIN]
    brackets, others = _widened(best, close)
    terms = coefficients(sweep, centre, best.variant, level)
    if not terms:
        raise NotDetermined(law.name, "no launch measured enough of the points; repeat the missing ones")
    fitted = design(best.variant, sweep.covariates) @ np.array([term.value for term in terms])
    return Fit(
        law=law,
        centre=best,
        coefficients=terms,
        fitted_s=fitted,
        residual_ratio=centre.centre_s / np.maximum(fitted, 1e-300) - 1.0,
        brackets=brackets,
        alternatives=_alternatives(best, others, centre.sigma_ratio),
    )


def _widened(best: CentreFit, close: Sequence[CentreFit]) -> tuple[tuple[Bracket, ...], list[CentreFit]]:
    """Brackets wide enough for every shape that fits as well and differs in the places of its limits alone, and the
    shapes that differ in more."""
    brackets, others = list(best.variant.brackets), []
    for other in close:
        wider = _union(brackets, other.variant.brackets)
        if wider is None or other.matrix.shape[1] != best.matrix.shape[1]:
            others.append(other)
        else:
            brackets = wider
    return tuple(brackets), others


def _union(one: Sequence[Bracket], two: Sequence[Bracket]) -> list[Bracket] | None:
    """Return brackets that hold both; None when they are of different limits, or two neighbours would overlap."""
    if not one or [b.covariate for b in one] != [b.covariate for b in two]:
        return None
    wider = [
        replace(a, above=min(a.above, b.above), up_to=max(a.up_to, b.up_to)) for a, b in zip(one, two, strict=True)
    ]
    return None if any(a.up_to > b.above for a, b in pairwise(wider)) else wider


def _alternatives(best: CentreFit, others: Sequence[CentreFit], sigma_ratio: Floats) -> tuple[CentreFit, ...]:
    """Not those that only hold more or fewer terms of the same, which the criterion has judged by their cost."""
    if not best.law.shape_matters:
        return ()
    return tuple(
        other for other in others if not contains(other, best, sigma_ratio) and not contains(best, other, sigma_ratio)
    )
