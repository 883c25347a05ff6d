# SPDX-License-Identifier: Apache-2.0
"""Which law a sweep follows, points that would tell candidates apart, and what is drawn of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.finding_results import LawPoint
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.fit import (
    MARGIN,
    STANDARD_ERRORS,
    CentreCurve,
    Fit,
    contains,
    curve,
    design,
    fit_on,
)
from slowpath.stats.laws.known import GRANULES, LAWS
from slowpath.stats.laws.law import Law, Sweep

# Which law holds, what stands next to it, and when neither may be named.

MINIMUM_EFFECT = 0.03
BEYOND_NOISE = 2.0  # typical deviation of a point, in its standard errors, from which on "constant" is no description
UNEXPLAINED = 0.1  # share of the variance of the logarithm of the times that a law may leave


@dataclass(frozen=True)
class Choice:
    """winner: the law that holds; None with `refused` saying why. runner_up: the best other law, shown always; None
    where no other could be fitted. fits: all that could be, best first.
    """

    winner: Fit | None
    runner_up: Fit | None
    refused: str | None
    fits: tuple[Fit, ...]


def choose(sweep: Sweep, laws: Sequence[Law] = LAWS, minimum_effect: float = MINIMUM_EFFECT) -> Choice:
    """The law of a sweep among `laws`, or why there is none to name. Rules: docs/internals/statistics.md."""
    centre = curve(sweep)
    fits = _fit_all(sweep, centre, laws)
    if not fits:
        return Choice(None, None, "too few points", ())
    sigma_ratio = centre.sigma_ratio
    first = _simplest(fits, sigma_ratio, minimum_effect)
    fits = [first, *(other for other in fits if other is not first)]
    runner_up = fits[1] if len(fits) > 1 else None
    unexplained = _unexplained(first, centre)
    refused = _objection(first, fits[1:], sigma_ratio) or _inadequate(first, sweep, unexplained)
    winner = None if refused else first
    return Choice(winner, runner_up, refused, tuple(fits))


def _fit_all(sweep: Sweep, centre: CentreCurve, laws: Sequence[Law]) -> list[Fit]:
    fits = (fit_on(law, sweep, centre) for law in laws)
    return sorted((fit for fit in fits if fit is not None), key=lambda fit: fit.centre.criterion)


def _simplest(fits: Sequence[Fit], sigma_ratio: Floats, minimum_effect: float) -> Fit:
    """The best law, or the simplest one it contains that it does not beat by the margin: more terms need evidence."""
    best = fits[0]
    contained = [f for f in fits if f is best or contains(best.centre, f.centre, sigma_ratio)]
    if not _supported(best, minimum_effect):
        return min(contained, key=lambda fit: fit.centre.parameters)
    near = [f for f in contained if f.centre.criterion - best.centre.criterion < MARGIN]
    return min(near, key=lambda fit: fit.centre.parameters)


def _supported(fit: Fit, minimum_effect: float) -> bool:
    """It makes a difference that counts, and at least one of its terms is not zero."""
    if fit.name == "constant":
        return True
    known = [term.excludes_zero for term in fit.coefficients[1:]]
    return fit.span_ratio > minimum_effect and not all(excludes is False for excludes in known)


_ALIKE = "'{}' and '{}' fit about equally well; measure other points, or more launches"


def _objection(first: Fit, others: Sequence[Fit], sigma_ratio: Floats) -> str | None:
    """Another law, or another shape of this one, that the points can't tell from the first."""
    for other in others:
        if other.centre.evidence - first.centre.evidence >= MARGIN:
            continue
        if contains(other.centre, first.centre, sigma_ratio) or contains(first.centre, other.centre, sigma_ratio):
            continue
        return _ALIKE.format(first.name, other.name)
    for shape in first.alternatives:
        return _ALIKE.format(f"{first.name} ({first.shape})", f"{first.name} ({shape.variant.label})")
    return None


def _unexplained(first: Fit, centre: CentreCurve) -> float | None:
    """Share of the variance of ln t between points that the law leaves; None: "constant" explains no variance."""
    if first.name == "constant":
        return None
    logs = np.log(centre.centre_s)
    left = logs - np.log(np.maximum(first.centre.fitted_s, 1e-300))
    total = float(np.var(logs))
    return float(np.mean(left**2)) / total if total > 0 else 0.0


def _inadequate(first: Fit, sweep: Sweep, unexplained: float | None) -> str | None:
    if unexplained is None:
        if first.centre.scale <= BEYOND_NOISE:
            return None
        left = "all"
    else:
        if unexplained <= UNEXPLAINED:
            return None
        left = f"{100 * unexplained:.0f} %"
    worst = int(np.argmax(np.abs(np.log1p(np.maximum(first.residual_ratio, -0.999999)))))
    return (
        f"'{first.name}', the best law, leaves {left} of the variation unexplained, most at {sweep.describe(worst)} "
        f"({100 * first.residual_ratio[worst]:+.0f} %)"
    )


# The points of a sweep next to what the chosen law says of them, for a picture of the law.


def drawn_points(sweep: Sweep, law: Fit | None) -> tuple[LawPoint, ...]:
    """Return each point of the sweep, in its order.

    Args: law: that was chosen; None: no law is named, and the points stand alone.
    """
    centre = curve(sweep)
    reach = np.exp(STANDARD_ERRORS * centre.sigma_ratio)
    pages = _pages(sweep, law)
    names = sweep.varied() or tuple(sweep.covariates)
    return tuple(
        LawPoint(
            place={name: float(sweep.covariates[name][point]) for name in names},
            value_s=float(centre.centre_s[point]),
            interval=(float(centre.centre_s[point] / reach[point]), float(centre.centre_s[point] * reach[point])),
            fitted_s=float(law.fitted_s[point]) if law else None,
            page_bytes=pages[point],
        )
        for point in range(sweep.points)
    )


def _pages(sweep: Sweep, law: Fit | None) -> list[int | None]:
    """The page of the term by which each point pays, where a law has a term for each length of a page."""
    pages: list[int | None] = [None] * sweep.points
    if law is None or law.name != GRANULES.name:
        return pages
    columns = law.centre.variant.columns(sweep.covariates)
    for column, counts in zip(columns, design(law.centre.variant, sweep.covariates).T, strict=True):
        if column.per is not None and column.per.page_bytes is not None:
            page = column.per.page_bytes
            pages = [page if counts[point] > 0 else old for point, old in enumerate(pages)]
    return pages
