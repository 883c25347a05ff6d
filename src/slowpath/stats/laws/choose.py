# SPDX-License-Identifier: Apache-2.0
"""Which law holds, what stands next to it, and when neither may be named."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.centre import MARGIN
from slowpath.stats.laws.curve import CentreCurve, curve
from slowpath.stats.laws.fit import Fit, NotDetermined, fit_on
from slowpath.stats.laws.law import Law
from slowpath.stats.laws.registry import LAWS
from slowpath.stats.laws.separate import ALIKE, SeparatingPoint, contains, distance, separating_points
from slowpath.stats.laws.sweep import Sweep

MINIMUM_EFFECT = 0.03
BEYOND_NOISE = 2.0  # typical deviation of a point, in its standard errors, from which on "constant" is no description
CLEARLY_BETTER = 0.8
UNEXPLAINED = 0.1  # share of the variance of the logarithm of the times that a law may leave


@dataclass(frozen=True)
class Choice:
    """winner: the law that holds; None with `refused` saying why. runner_up: the best other law, shown always; None
    where no other could be fitted. fits: all that could be, best first.
    separating: where to measure so that they are distinguished, empty when refused for another reason or not refused.
    """

    winner: Fit | None
    runner_up: Fit | None
    refused: str | None
    separating: tuple[SeparatingPoint, ...]
    fits: tuple[Fit, ...]


def choose(sweep: Sweep, laws: Sequence[Law] = LAWS, minimum_effect: float = MINIMUM_EFFECT) -> Choice:
    """The law of a sweep among `laws`, or why there is none to name. Rules: docs/internals/statistics.md.

    The last choices are kept: a diagnosis asks its rules again after each step that adds evidence, of the same times.
    """
    key = sweep.identity, tuple(map(id, laws)), minimum_effect
    if key not in _kept:
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = tuple(laws), _chosen(sweep, laws, minimum_effect)
    return _kept[key][1]


_MOST_KEPT = 2048
# Of what was asked -> the laws, so that no other one takes their place in memory, and the choice.
_kept: dict[Hashable, tuple[tuple[Law, ...], Choice]] = {}


def _chosen(sweep: Sweep, laws: Sequence[Law], minimum_effect: float) -> Choice:
    centre = curve(sweep)
    fits, not_fitted = _fit_all(sweep, centre, laws)
    if not fits:
        why = "no law can be fitted: " + "; ".join(f"{name}: {reason}" for name, reason in not_fitted.items())
        return Choice(None, None, why, (), ())
    sigma_ratio = centre.sigma_ratio
    first = _simplest(fits, sigma_ratio, minimum_effect)
    fits = [first, *(other for other in fits if other is not first)]
    runner_up = fits[1] if len(fits) > 1 else None
    unexplained = _unexplained(first, centre)
    refused, separating = _objection(first, fits[1:], sweep, centre)
    if refused is None:
        refused = _inadequate(first, sweep, unexplained)
    winner = None if refused else first
    return Choice(winner, runner_up, refused, separating, tuple(fits))


def _fit_all(sweep: Sweep, centre: CentreCurve, laws: Sequence[Law]) -> tuple[list[Fit], dict[str, str]]:
    fits, not_fitted = [], {}
    for law in laws:
        try:
            fits.append(fit_on(law, sweep, centre))
        except NotDetermined as error:
            not_fitted[law.name] = error.why
    return sorted(fits, key=lambda fit: fit.centre.criterion), not_fitted


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


def _objection(
    first: Fit, others: Sequence[Fit], sweep: Sweep, centre: CentreCurve
) -> tuple[str | None, tuple[SeparatingPoint, ...]]:
    """Another law, or another shape of this one, that the points can't tell from the first; and what would."""
    sigma_ratio = centre.sigma_ratio
    expected = float(np.median(centre.sigma_ratio)) * first.centre.scale
    for other in others:
        if other.centre.evidence - first.centre.evidence >= MARGIN and not _predicts(other, first):
            continue
        if contains(other.centre, first.centre, sigma_ratio) or contains(first.centre, other.centre, sigma_ratio):
            continue
        places = separating_points(first.centre, other.centre, sweep, expected)
        return _apart(first.name, other.name, distance(first.centre, other.centre, sigma_ratio), bool(places)), places
    for shape in first.alternatives:
        places = separating_points(first.centre, shape, sweep, expected)
        names = f"{first.name} ({first.shape})", f"{first.name} ({shape.variant.label})"
        return _apart(*names, distance(first.centre, shape, sigma_ratio), bool(places)), places
    return None, ()


def _predicts(other: Fit, first: Fit) -> bool:
    """Not far behind, and clearly better at points that are left out: then the two criteria disagree."""
    if other.left_out_ratio is None or first.left_out_ratio is None:
        return False
    behind = other.centre.evidence - first.centre.evidence
    return behind < 2 * MARGIN and other.left_out_ratio < CLEARLY_BETTER * first.left_out_ratio


def _apart(first: str, second: str, chi2: float, places: bool) -> str:
    """One line: what can't be distinguished, why and what to do."""
    todo = "measure the separating points" if places else "no nearby point distinguishes them; vary another quantity"
    if chi2 < ALIKE:
        return f"'{first}' and '{second}' are the same curve on these points; {todo}"
    return f"'{first}' and '{second}' fit about equally well at this noise; {todo}, or more launches"


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
        f"no law describes these points: the best, '{first.name}', leaves {left} of what differs between them, most at "
        f"{sweep.describe(worst)} ({100 * first.residual_ratio[worst]:+.0f} %); look at what differs there, or sweep "
        "one quantity at a time"
    )
