# SPDX-License-Identifier: Apache-2.0
"""Laws fitted to a sweep, and what they predict of points that were held out. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from slowpath.stats.estimate import SIGNED_RANK_LAUNCHES, T_LAUNCHES, Floats, estimate_of
from slowpath.stats.launches import MAD_TO_SD
from slowpath.stats.laws.law import Bracket, Coefficient, Column, Covariates, Law, Sweep, Variant

# Weighted least squares with terms that can't be negative, for a handful of columns.

_RANK_RATIO = 1e-9
_ROUNDS = 20
_SETTLED_RATIO = 1e-6
_STEEPEST = 8.0  # a point that the law misses altogether must not take all of the weight


def solve(matrix: Floats, target: Floats, weights: Floats) -> Floats | None:
    """Coefficients, shape (columns,), none below 0, of the least sum of (weights (target - matrix @ c))^2.

    Args:    matrix: shape (points, columns).  target, weights: shape (points,).
    Returns: None when the columns are not independent on these points: then there is no one answer.
    """
    from scipy.optimize import nnls

    weighted = matrix * weights[:, None]
    scale = np.sqrt(np.add.reduce(np.square(weighted), axis=0))
    if matrix.shape[0] < matrix.shape[1] or not scale.all():
        return None
    weighted /= scale
    singular = np.linalg.svd(weighted, compute_uv=False)
    if singular[-1] <= _RANK_RATIO * singular[0]:
        return None
    coefficients: Floats = nnls(weighted, target * weights)[0] / scale
    return coefficients


def solve_times(matrix: Floats, times_s: Floats, sigma_ratio: Floats) -> Floats | None:
    """Coefficients of times whose errors multiply: least sum of (ln(time / fitted) / sigma_ratio)^2.

    The sum of terms stays a sum; only its error is looked at as a ratio. With L the logarithmic mean of time and
    fitted, ln(time / fitted) = (time - fitted) / L, and weights 1 / (sigma sqrt(L fitted)) make the linear problem's
    gradient that of the logarithms. Where a law fits this is a fit with relative
    weights; where it does not, being off by a factor of 6 up and down count alike.
    Args: sigma_ratio: shape (points,).  Returns: as `solve`.
    """
    weights = 1.0 / (sigma_ratio * times_s)
    least, most = times_s / _STEEPEST, times_s * _STEEPEST
    solution = solve(matrix, times_s, weights)
    for _ in range(_ROUNDS):
        if solution is None:
            return None
        fitted = np.minimum(np.maximum(matrix @ solution, least), most)
        if np.abs(fitted / times_s - 1.0).max() < 0.1:  # there L differs from the time by less than 5 %
            return solution
        fresh = 1.0 / (sigma_ratio * np.sqrt(_logarithmic_mean(times_s, fitted) * fitted))
        change = float(np.abs(fresh / weights - 1.0).max())
        weights = np.sqrt(weights * fresh)  # half the way: the whole of it can swing to and fro
        solution = solve(matrix, times_s, weights)
        if change < _SETTLED_RATIO:
            break
    return solution


def _logarithmic_mean(a: Floats, b: Floats) -> Floats:
    ratio = np.log(a / b)
    near = np.abs(ratio) < 1e-6
    mean: Floats = np.where(near, 0.5 * (a + b), (a - b) / np.where(near, 1.0, ratio))
    return mean


def log_residuals(times_s: Floats, fitted_s: Floats) -> Floats:
    """ln(time / fitted), shape (points,); a fitted time that is not positive counts as a millionth of the time."""
    residuals: Floats = np.log(times_s / np.maximum(fitted_s, 1e-6 * times_s))
    return residuals


# One law, one variant, fitted to the centre curve, and how much it is to be believed.
#
#     criterion = n ln s^2 + chi^2 / s^2 + 2 k n / (n - k - 1) + 2 ln m,        s^2 = max(1, chi^2 / n)
#
# chi^2 is in units of the noise that the launches show. No law describes a machine to within that noise for ever, so s
# lets all errors grow until the law fits, and never shrink below what was seen; a law that fits within the noise is
# judged by chi^2 alone, one that does not by the logarithm of what it leaves. The third term is AICc's (Hurvich and
# Tsai 1989, doi 10.1093/biomet/76.2.297), the last what searching m variants gives away: among m lines that mean
# nothing, the best one gains about 2 ln m.

MARGIN = 6.0  # of the criterion: likelihoods 20 to 1


@dataclass(frozen=True)
class CentreFit:
    """coefficients: shape (columns,). fitted_s: shape (points,).  evidence: the criterion without its last term: a law
    that was searched for fits no worse for it.  scale: s.
    """

    law: Law
    variant: Variant
    matrix: Floats
    coefficients: Floats
    fitted_s: Floats
    criterion: float
    evidence: float
    scale: float

    @property
    def parameters(self) -> int:
        return int(self.matrix.shape[1]) + self.variant.searched


def design(variant: Variant, covariates: Covariates) -> Floats:
    """Shape (points, columns)."""
    matrix: Floats = np.stack([column.values for column in variant.columns(covariates)], axis=1)
    return matrix


def fit_centre(
    law: Law, variant: Variant, covariates: Covariates, centre_s: Floats, sigma_ratio: Floats, tried: int
) -> CentreFit | None:
    """Args: centre_s: shape (points,), seconds.  sigma_ratio: its standard error as a ratio.
    tried: variants that this one was chosen from.

    Returns: None when the points can't determine this variant: too few of them, or terms that are the same on them.
    """
    matrix = design(variant, covariates)
    points, parameters = centre_s.size, matrix.shape[1] + variant.searched
    if points < parameters + 2:
        return None
    coefficients = solve_times(matrix, centre_s, sigma_ratio)
    if coefficients is None:
        return None
    fitted = matrix @ coefficients
    chi2 = float(((log_residuals(centre_s, fitted) / sigma_ratio) ** 2).sum())
    scale2 = max(1.0, chi2 / points)
    evidence = points * math.log(scale2) + chi2 / scale2 + 2.0 * parameters * points / (points - parameters - 1)
    criterion = evidence + 2.0 * math.log(tried)
    return CentreFit(
        law=law,
        variant=variant,
        matrix=matrix,
        coefficients=coefficients,
        fitted_s=fitted,
        criterion=criterion,
        evidence=evidence,
        scale=math.sqrt(scale2),
    )


def fit_centres(law: Law, covariates: Covariates, centre_s: Floats, sigma_ratio: Floats) -> list[CentreFit]:
    """Every variant that the points determine, best first; empty when there is none."""
    variants = law.shapes(covariates, centre_s, sigma_ratio)
    points = centre_s.size
    fits = []
    for variant in variants:
        # A search along the sweep has tried each set of places.
        tried = math.comb(points, variant.searched) if variant.searched else len(variants)
        fits.append(fit_centre(law, variant, covariates, centre_s, sigma_ratio, tried))
    return sorted((fit for fit in fits if fit is not None), key=lambda fit: (fit.criterion, fit.parameters))


# A sweep's centre at each point and how well it is known: what laws are chosen by.
#
# What a whole launch adds (its placement, its neighbours, slow drift) is common to its points and is taken out first;
# it would otherwise look like noise of each point. The standard error of a point comes from the same interval over
# launches that reports show, so heavy tails and two-valued launches widen it; few launches estimate it badly, therefore
# it is drawn towards the typical point of the sweep. Where launches are so few that their mean stands for them, wild
# values are drawn in first. Sources: the drawing together of variances is that of Smyth 2004, doi
# 10.2202/1544-6115.1027; a floor of 1 % stands for what no law of this kind describes, as steady effects of single
# points on caches and alignment.

STANDARD_ERRORS = 1.96  # of the logarithm of a centre: 95 %
FLOOR_RATIO = 0.01
PRIOR_DF = 4.0  # weight of the typical point, in launches
CLIP_SD = 3.0


@dataclass(frozen=True)
class CentreCurve:
    """centre_s, sigma_ratio: shape (points,). clipped_s: shape (launches, points), what single launches are fitted to:
    a wild value counts as one CLIP_SD standard deviations away.
    """

    centre_s: Floats
    sigma_ratio: Floats
    clipped_s: Floats


def curve(sweep: Sweep) -> CentreCurve:
    """Centre and standard error at each point, the floor included."""
    logs = np.log(sweep.launch_s)
    effect = _launch_effects(logs)
    levelled = logs - effect[:, None]
    if sweep.launches == 1:
        error = np.zeros(sweep.points) if sweep.within_ratio is None else sweep.within_ratio
        return CentreCurve(sweep.launch_s[0].copy(), np.hypot(error, FLOOR_RATIO), sweep.launch_s.copy())
    if sweep.launches < SIGNED_RANK_LAUNCHES:  # a mean of few launches is carried away by one wild value
        levelled = _clipped(levelled, np.nanmedian(levelled, axis=0))
    centre, error, df = _points(levelled)
    enough = df > 0
    typical = float(np.median(error[enough])) if enough.any() else 0.0
    drawn = np.sqrt((PRIOR_DF * typical**2 + df * error**2) / (PRIOR_DF + df))
    clipped_s = np.exp(effect[:, None] + _clipped(levelled, centre))
    return CentreCurve(np.exp(centre), np.hypot(drawn, FLOOR_RATIO), clipped_s)


def _clipped(levelled: Floats, centre: Floats) -> Floats:
    """Logarithms with none further from their point's centre than CLIP_SD standard deviations."""
    reach = CLIP_SD * np.hypot(_typical_spread(levelled - centre), FLOOR_RATIO)
    clipped: Floats = np.clip(levelled, centre - reach, centre + reach)
    return clipped


def _launch_effects(logs: Floats) -> Floats:
    """Return what each launch adds to all of its points, as a logarithm, shape (launches,); its median over launches is
    0.
    """
    deviations = logs - np.nanmedian(logs, axis=0)
    effect = np.nanmedian(deviations, axis=1)
    centred: Floats = effect - np.median(effect)
    return centred


def _points(levelled: Floats) -> tuple[Floats, Floats, Floats]:
    """Centre of the logarithms, its standard error and the degrees of freedom behind it, each shape (points,)."""
    points = levelled.shape[1]
    centre, error, df = np.zeros(points), np.zeros(points), np.zeros(points)
    for p in range(points):
        values = levelled[np.isfinite(levelled[:, p]), p]
        estimate = estimate_of(values)
        centre[p], df[p] = estimate.value, values.size - 1
        if values.size >= T_LAUNCHES and estimate.interval is not None:
            error[p] = 0.5 * (estimate.interval[1] - estimate.interval[0]) / _t975(values.size - 1)
        elif values.size == 2:
            error[p] = 0.5 * abs(values[1] - values[0])
    return centre, error, df


def _typical_spread(deviations: Floats) -> Floats:
    """Standard deviation of single launches at each point by the median of their absolute deviations, which wild values
    don't move, drawn towards that of the whole sweep; shape (points,)."""
    absolute = np.abs(deviations)
    own = MAD_TO_SD * np.nanmedian(absolute, axis=0)
    whole = MAD_TO_SD * float(np.nanmedian(absolute))
    df = np.isfinite(deviations).sum(axis=0) - 1.0
    spread: Floats = np.sqrt((PRIOR_DF * whole**2 + df * own**2) / (PRIOR_DF + df))
    return spread


def _t975(df: int) -> float:
    from scipy import special

    return float(special.stdtrit(df, 0.975))


# One law fitted to a sweep: its best shape, coefficients over launches, and what it leaves.

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
    matrix = design(variant, sweep.covariates)
    fits = []
    for times in centre.clipped_s:
        there = np.isfinite(times)
        solution = solve_times(matrix[there], times[there], centre.sigma_ratio[there])
        if solution is not None:
            fits.append(solution)
    return fits


def _over_launches(column: Column, values: list[float], level: float) -> Coefficient:
    # In parts of the largest: seconds for a byte are as small as what `mean` takes for rounding errors.
    scale = max(map(abs, values)) or 1.0
    estimate = estimate_of([value / scale for value in values], level)
    interval = (scale * estimate.interval[0], scale * estimate.interval[1]) if estimate.interval else None
    value, kind, launches = scale * estimate.value, estimate.kind, tuple(values)
    return Coefficient(column.name, column.per, value, interval, kind, estimate.level, launches, column.at_bytes)


ALIKE = 1.0  # chi^2 below which two laws are one curve on the points


def chi_left(truth_s: Floats, matrix: Floats, sigma_ratio: Floats) -> float:
    if not (truth_s > 0).all():
        return 0.0
    solution = solve_times(matrix, truth_s, sigma_ratio)
    if solution is None:
        return 0.0
    return float(((log_residuals(truth_s, matrix @ solution) / sigma_ratio) ** 2).sum())


def contains(large: CentreFit, small: CentreFit, sigma_ratio: Floats) -> bool:
    """Whether `large`, with more parameters, can draw the curve of `small` to within a fraction of the noise."""
    noise = sigma_ratio * max(small.scale, large.scale)
    return small.parameters < large.parameters and chi_left(small.fitted_s, large.matrix, noise) < ALIKE


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
    def rms_ratio(self) -> float:
        return float(np.sqrt(np.mean(self.residual_ratio**2)))

    @property
    def span_ratio(self) -> float:
        """Longest over shortest fitted time, less 1: how much of the time the law is about."""
        return float(self.centre.fitted_s.max() / max(self.centre.fitted_s.min(), 1e-300)) - 1.0


def fit_on(law: Law, sweep: Sweep, centre: CentreCurve, level: float = 0.95) -> Fit | None:
    """Return the law's fit to this sweep; None: the sweep lacks what the law is about, or has too few points for it.

    Args:   centre: of the sweep (`curve`).
    """
    if law.lacks(sweep.covariates) or law.has_too_few(sweep.covariates):
        return None
    fits = fit_centres(law, sweep.covariates, centre.centre_s, centre.sigma_ratio)
    if not fits:
        return None
    best = fits[0]
    close = [other for other in fits[1:] if other.evidence - best.evidence < MARGIN]
    brackets, others = _widened(best, close)
    terms = coefficients(sweep, centre, best.variant, level)
    if not terms:
        return None
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


def _union(first: Sequence[Bracket], two: Sequence[Bracket]) -> list[Bracket] | None:
    """Return brackets that hold both; None when they are of different limits, or two neighbours would overlap."""
    if not first or [b.covariate for b in first] != [b.covariate for b in two]:
        return None
    wider = [
        replace(a, above=min(a.above, b.above), up_to=max(a.up_to, b.up_to)) for a, b in zip(first, two, strict=True)
    ]
    return None if any(a.up_to > b.above for a, b in pairwise(wider)) else wider


def _alternatives(best: CentreFit, others: Sequence[CentreFit], sigma_ratio: Floats) -> tuple[CentreFit, ...]:
    """Not those that only hold more or fewer terms of the same, which the criterion has judged by their cost."""
    if not best.law.shape_matters:
        return ()
    return tuple(
        other for other in others if not contains(other, best, sigma_ratio) and not contains(best, other, sigma_ratio)
    )
