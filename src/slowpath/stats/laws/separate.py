# SPDX-License-Identifier: Apache-2.0
"""Which points would tell two laws apart.

One law is taken for true, the other is fitted to it as well as it can be: what remains, in units of the noise, is what
a measurement could see. The next point is the one that makes this largest (T-optimality: Atkinson and Fedorov 1975,
doi 10.1093/biomet/62.1.57), taken both ways round and judged by the smaller of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.centre import MARGIN, CentreFit, design
from slowpath.stats.laws.law import Place
from slowpath.stats.laws.least_squares import log_residuals, solve_times
from slowpath.stats.laws.sweep import Sweep

ENOUGH = 4.0 * MARGIN  # chi^2 that the wrong law is left with: the right one then wins nearly always
ALIKE = 1.0  # chi^2 below which two laws are one curve on the points
MOST_POINTS = 3
_CANDIDATES = 60


@dataclass(frozen=True)
class SeparatingPoint:
    """A place to measure, and how far apart two laws would be then: chi^2 of the wrong one, this point and those before
    it in the list included."""

    place: Place
    chi2: float


def distance(first: CentreFit, second: CentreFit, sigma_ratio: Floats) -> float:
    """chi^2 that the points leave to the wrong one of two laws, were the other true without any noise."""
    return min(
        _left(first.fitted_s, second.matrix, second, sigma_ratio),
        _left(second.fitted_s, first.matrix, first, sigma_ratio),
    )


def contains(large: CentreFit, small: CentreFit, sigma_ratio: Floats) -> bool:
    """Whether `large`, with more parameters, can draw the curve of `small` to within a fraction of the noise."""
    noise = sigma_ratio * max(small.scale, large.scale)
    return small.parameters < large.parameters and _left(small.fitted_s, large.matrix, large, noise) < ALIKE


def _left(truth_s: Floats, matrix: Floats, wrong: CentreFit, sigma_ratio: Floats) -> float:
    if not (truth_s > 0).all():
        return 0.0
    found = solve_times(matrix, truth_s, sigma_ratio, wrong.nonnegative)
    if found is None:
        return 0.0
    return float(((log_residuals(truth_s, matrix @ found) / sigma_ratio) ** 2).sum())


def separating_points(
    first: CentreFit, second: CentreFit, sweep: Sweep, sigma_ratio: float
) -> tuple[SeparatingPoint, ...]:
    """Places to measure besides the sweep's, the most telling first; as few as are enough, at most MOST_POINTS.

    Args:    first, second: fits to this sweep.  sigma_ratio: relative standard error to expect at a new point.
    Returns: of what both laws propose near the sweep's points; empty when none distinguishes them.
    """
    open_places = _proposed(first, second, sweep)
    chosen: list[SeparatingPoint] = []
    pair = _Pair(first, second, sweep, sigma_ratio)
    while open_places and len(chosen) < MOST_POINTS:
        scores = [pair.score([*(p.place for p in chosen), place]) for place in open_places]
        best = int(np.argmax(scores))
        if scores[best] <= (chosen[-1].chi2 if chosen else pair.score([])) + 1.0:
            break
        place = open_places.pop(best)
        chosen.append(SeparatingPoint(place, scores[best]))
        if scores[best] >= ENOUGH:
            break
    return tuple(chosen)


def _proposed(first: CentreFit, second: CentreFit, sweep: Sweep) -> list[Place]:
    """Return the places that both laws propose within the measured range, each once, thinned evenly to what is worth
    the time.
    """
    places = [*first.law.probes(sweep.covariates), *second.law.probes(sweep.covariates)]
    unique = list({tuple(sorted(place.items())): place for place in places}.values())
    positive = [place for place in unique if first.predict(place) > 0 and second.predict(place) > 0]
    return positive[:: max(1, -(-len(positive) // _CANDIDATES))]


class _Pair:
    """Two fits on a sweep, and on the sweep with further places."""

    def __init__(self, first: CentreFit, second: CentreFit, sweep: Sweep, sigma_ratio: float) -> None:
        self._fits = (first, second)
        self._covariates = sweep.covariates
        self._sigma_ratio = sigma_ratio

    def score(self, places: Sequence[Place]) -> float:
        """`distance` with these places measured too; the noise is as large as the better law leaves it."""
        covariates = {
            name: np.append(values, [place[name] for place in places]) for name, values in self._covariates.items()
        }
        matrices = [design(fit.variant, covariates) for fit in self._fits]
        chi2 = []
        for true, wrong in ((0, 1), (1, 0)):
            truth = matrices[true] @ self._fits[true].coefficients
            sigma = np.full(truth.size, self._sigma_ratio)
            chi2.append(_left(truth, matrices[wrong], self._fits[wrong], sigma))
        return min(chi2)
