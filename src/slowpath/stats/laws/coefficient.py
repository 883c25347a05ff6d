# SPDX-License-Identifier: Apache-2.0
"""A coefficient over launches: fitted in each launch by itself, then centre and interval as everywhere else.

On the coefficients as they are, not on logarithms: a coefficient may be zero.
"""

from __future__ import annotations

import numpy as np

from slowpath.stats import signedrank, student
from slowpath.stats.estimate import SIGNED_RANK_LAUNCHES, T_LAUNCHES
from slowpath.stats.inputs import Floats
from slowpath.stats.interval import percent
from slowpath.stats.laws.curve import Curve
from slowpath.stats.laws.found import Coefficient
from slowpath.stats.laws.law import Variant
from slowpath.stats.laws.least_squares import solve_times
from slowpath.stats.laws.sweep import Sweep


def coefficients(sweep: Sweep, centre: Curve, variant: Variant, level: float = 0.95) -> tuple[Coefficient, ...]:
    """Of each term; empty when no launch measured enough points to determine them."""
    fitted = _by_launch(sweep, centre, variant)
    columns = variant.columns(sweep.covariates)
    if not fitted:
        return ()
    by_term = np.array(fitted).T.tolist()
    return tuple(_over_launches(c.name, c.unit, values, level) for c, values in zip(columns, by_term, strict=True))


def _by_launch(sweep: Sweep, centre: Curve, variant: Variant) -> list[Floats]:
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


def _over_launches(name: str, unit: str, values: list[float], level: float) -> Coefficient:
    # In parts of the largest: seconds for a byte are as small as what student.mean takes for rounding errors.
    scale = max(map(abs, values)) or 1.0
    mean = student.mean([value / scale for value in values])
    n = len(values)

    def as_found(value: float, low: float, high: float, kind: str, achieved: float | None) -> Coefficient:
        return Coefficient(name, unit, value, (low, high), kind, achieved, tuple(values))

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
    return Coefficient(name, unit, scale * mean.value, None, why, None, tuple(values))
