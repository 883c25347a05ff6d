# SPDX-License-Identifier: Apache-2.0
"""One law, one variant, fitted to the centre curve, and how much it is to be believed.

    criterion = n ln s^2 + chi^2 / s^2 + 2 k n / (n - k - 1) + 2 ln m,        s^2 = max(1, chi^2 / n)

chi^2 is in units of the noise that the launches show. No law describes a machine to within that noise for ever, so s
lets all errors grow until the law fits, and never shrink below what was seen; a law that fits within the noise is
judged by chi^2 alone, one that does not by the logarithm of what it leaves. The third term is AICc's (Hurvich and Tsai
1989, doi 10.1093/biomet/76.2.297), the last what searching m variants gives away: among m lines that mean nothing, the
best one gains about 2 ln m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.law import Law, Place, Variant
from slowpath.stats.laws.least_squares import log_residuals, solve_times
from slowpath.stats.laws.sweep import Covariates

MARGIN = 6.0  # of the criterion: likelihoods 20 to 1


@dataclass(frozen=True)
class CentreFit:
    """coefficients: shape (columns,). fitted_s: shape (points,). left_out_ratio: root mean square of the relative error
    at each point when predicted from the others, over the points where that is possible; None: nowhere. evidence: the
    criterion without its last term: a law that was searched for fits no worse for it. scale: s.
    """

    law: Law
    variant: Variant
    matrix: Floats
    nonnegative: NDArray[np.bool_]
    coefficients: Floats
    fitted_s: Floats
    chi2: float
    criterion: float
    evidence: float
    scale: float
    left_out_ratio: float | None

    @property
    def parameters(self) -> int:
        return int(self.matrix.shape[1]) + self.variant.searched

    def predict(self, place: Place) -> float:
        """Time at a place, seconds."""
        covariates = {name: np.array([value]) for name, value in place.items()}
        return float(design(self.variant, covariates)[0] @ self.coefficients)


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
    columns = variant.columns(covariates)
    matrix: Floats = np.stack([column.values for column in columns], axis=1)
    nonnegative = np.array([column.nonnegative for column in columns])
    points, parameters = centre_s.size, matrix.shape[1] + variant.searched
    if points < parameters + 2:
        return None
    coefficients = solve_times(matrix, centre_s, sigma_ratio, nonnegative)
    if coefficients is None:
        return None
    fitted = matrix @ coefficients
    chi2 = float(((log_residuals(centre_s, fitted) / sigma_ratio) ** 2).sum())
    scale2 = max(1.0, chi2 / points)
    evidence = points * math.log(scale2) + chi2 / scale2 + 2.0 * parameters * points / (points - parameters - 1)
    criterion = evidence + 2.0 * math.log(tried)
    left_out = _left_out(matrix, centre_s, fitted, sigma_ratio)
    return CentreFit(
        law=law,
        variant=variant,
        matrix=matrix,
        nonnegative=nonnegative,
        coefficients=coefficients,
        fitted_s=fitted,
        chi2=chi2,
        criterion=criterion,
        evidence=evidence,
        scale=math.sqrt(scale2),
        left_out_ratio=left_out,
    )


def _left_out(matrix: Floats, centre_s: Floats, fitted_s: Floats, sigma_ratio: Floats) -> float | None:
    """Leave-one-point-out error from the hat matrix: residual / (1 - h). A point with h = 1 is the only one that speaks
    for some term, and can't be predicted."""
    q, _ = np.linalg.qr(matrix / (sigma_ratio * centre_s)[:, None])
    leverage = (q**2).sum(axis=1)
    known = leverage < 1.0 - 1e-9
    if not known.any():
        return None
    errors = (centre_s - fitted_s)[known] / (1.0 - leverage[known]) / centre_s[known]
    return float(np.sqrt(np.mean(errors**2)))


def fit_centres(law: Law, covariates: Covariates, centre_s: Floats, sigma_ratio: Floats) -> list[CentreFit]:
    """Every variant that the points determine, best first; empty when there is none."""
    variants = law.shapes(covariates, centre_s, sigma_ratio)
    points = centre_s.size
    found = []
    for variant in variants:
        # A search along the sweep has tried each set of places.
        tried = math.comb(points, variant.searched) if variant.searched else len(variants)
        found.append(fit_centre(law, variant, covariates, centre_s, sigma_ratio, tried))
    return sorted((fit for fit in found if fit is not None), key=lambda fit: (fit.criterion, fit.parameters))
