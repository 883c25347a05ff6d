# SPDX-License-Identifier: Apache-2.0
"""Time that grows with a length and levels off: what a longer buffer has pushed out of the caches is out.

    t = a + b (1 - exp(-length / c))

c is searched where the times want it, but only where the levelling off was seen: the longest length is at least
SEEN times c. A curve that is still straight at its end is not distinguished from a line, and no law says where it
would end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.allocation import SIDES, sides
from slowpath.stats.laws.found import per_curve
from slowpath.stats.laws.law import Column, Law, Place, Variant, intercept, missing, varies
from slowpath.stats.laws.least_squares import log_residuals, solve_times
from slowpath.stats.laws.linear import MESSAGE
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates

SEEN = 2.0  # longest length over c: 86 % of the growth lies within the sweep
_GRID_RATIO = 1.5  # between the values of c that are tried first
_NARROWINGS = 4  # each divides the ratio between neighbours of c by 3
_WORDS = {MESSAGE: "message", **SIDES}


def _lengths(covariates: Covariates) -> dict[str, str]:
    """Return the lengths that vary: covariate -> whose length it is."""
    found = dict(sides(covariates))
    if varies(covariates, MESSAGE):
        found[MESSAGE] = _WORDS[MESSAGE]
    return found


def levelling(name: str, c_bytes: float) -> Variant:
    """Return the variant whose length c is fixed."""
    per = per_curve(f"(1 - exp(-{_WORDS[name]} / {format_bytes(round(c_bytes))}))")

    def columns(covariates: Covariates) -> Sequence[Column]:
        return [intercept(covariates), Column("levels off", per, -np.expm1(-covariates[name] / c_bytes))]

    def turned(covariates: Covariates) -> Floats:
        share = covariates[name] / c_bytes
        slope: Floats = -share * np.exp(-share)  # of the last column by ln c
        return slope

    return Variant(f"levels off over {format_bytes(round(c_bytes))}", columns, searched=1, turned=turned)


def placed(covariates: Covariates, centre_s: Floats, sigma_ratio: Floats) -> list[Variant]:
    """Return, for each length that varies, the variant whose c fits these times best; none where c would lie beyond
    what was swept.
    """
    best = [_best(name, covariates, centre_s, sigma_ratio) for name in _lengths(covariates)]
    return [variant for variant in best if variant is not None]


def _best(name: str, covariates: Covariates, centre_s: Floats, sigma_ratio: Floats) -> Variant | None:
    lengths = covariates[name]
    low = max(1.0, float(lengths[lengths > 0].min()) / 2)
    high = max(low, float(lengths.max()) / SEEN)

    def misfit(c_bytes: float) -> float:
        matrix = np.stack([column.values for column in levelling(name, c_bytes).columns(covariates)], axis=1)
        found = solve_times(matrix, centre_s, sigma_ratio, np.array([True, True]))
        if found is None:
            return float("inf")
        return float(((log_residuals(centre_s, matrix @ found) / sigma_ratio) ** 2).sum())

    ratio = _GRID_RATIO
    tried = np.append(np.exp(np.arange(np.log(low), np.log(high), np.log(ratio))), high)
    for _ in range(_NARROWINGS):
        best = float(tried[int(np.argmin([misfit(float(c)) for c in tried]))])
        ratio **= 1 / 3
        tried = np.clip(best * ratio ** np.arange(-2.0, 3.0), low, high)
    best = float(tried[int(np.argmin([misfit(float(c)) for c in tried]))])
    return levelling(name, best) if best < high else None


def _probes(covariates: Covariates) -> list[Place]:
    return [place for name in _lengths(covariates) for place in spread(covariates, name)]


LAW = Law(
    name="saturates",
    formula="t = a + b (1 - exp(-length / c))",
    needs=lambda covariates: missing(covariates, *SIDES, MESSAGE),
    variants=lambda covariates: [],
    probes=_probes,
    shape_matters=False,
    placed=placed,
    along=(*SIDES, MESSAGE),
    fewest=5,
)
