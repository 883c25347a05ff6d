# SPDX-License-Identifier: Apache-2.0
"""What a law predicts at places it was not fitted to, with the interval in which the next measurement should lie.

The prediction interval of a regression (Draper and Smith, Applied Regression Analysis, 3rd ed., section 3.1; for a mean
of m later values Hahn and Meeker, Statistical Intervals, 1991, section 4.8), in logarithms of times:

    ln t0 -+ T(q, df) s sqrt(g0' (G' G)^-1 g0 + v)

g0: the law's columns at the place over its time there; G: the same at the fitted points, each over its standard error;
v: squared standard error of a new centre, of the launches that it rests on and of what no law describes (curve.py).
s^2 = (PRIOR_DF + chi^2) / (PRIOR_DF + points - parameters) grows where the law leaves more than the launches' noise,
and df = PRIOR_DF + points - parameters: few points alone would make s a matter of luck, so it is drawn towards that
noise as the errors of points are (Smyth 2004, doi 10.2202/1544-6115.1027).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from slowpath.core.law_results import LawForecast, Predicted
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.centre import CentreFit, design
from slowpath.stats.laws.curve import PRIOR_DF, CentreCurve
from slowpath.stats.laws.fit import Fit
from slowpath.stats.laws.found import Bracket, with_words
from slowpath.stats.laws.law import Place
from slowpath.stats.laws.sweep import Sweep

LEVEL = 0.95
NEAR_RATIO = 0.1  # of the predicted time, by which the seen one may differ
MOST_OF_SPAN = 1 / 3  # half an interval over what the law explains: a wider one would hold without the law as well
FEWEST_HELD = 0.5  # share of the places that must be decided for it
OUTERMOST = 2  # places, one of which must have held: between its points a wrong law is right more often


@dataclass(frozen=True)
class Teller:
    """A law as it was fitted, ready to predict. span_s: the time it is about: most less least fitted time, of a
    constant all of it. covariance: of the coefficients, shape (columns, columns).
    """

    fit: CentreFit
    brackets: Sequence[Bracket]
    covariance: Floats
    scale: float
    df: float
    span_s: float

    def at(self, place: Place) -> tuple[float, float] | None:
        """Time at a place, seconds, and its squared standard error as a ratio, both of the coefficients alone. None:
        the place lies inside a limit's bracket, where either side may hold; or the law has no positive time there.
        """
        if any(b.above < place.get(b.covariate, b.above) < b.up_to for b in self.brackets):
            return None
        covariates = {name: np.array([float(value)]) for name, value in place.items()}
        columns = _columns(self.fit, covariates)
        time_s = float(columns[0, : self.fit.coefficients.size] @ self.fit.coefficients)
        if not time_s > 0:
            return None
        relative = columns[0] / time_s
        return time_s, float(relative @ self.covariance @ relative)

    def reach(self, variance_ratio: float, level: float) -> float:
        """Half an interval of logarithms at a level in [0, 1). Args: variance_ratio: squared standard error, without
        the scale."""
        from scipy import special

        quantile = float(special.stdtrit(self.df, 0.5 + level / 2))
        return quantile * self.scale * float(np.sqrt(variance_ratio))


def teller(fit: Fit, centre: CentreCurve, sweep: Sweep) -> Teller:
    """Return the law of this fit, ready to predict.  Args: fit: of this sweep, whose centre curve is `centre`."""
    found = fit.centre
    relative = _columns(found, sweep.covariates) / (centre.sigma_ratio * found.fitted_s)[:, None]
    size = np.sqrt((relative**2).sum(axis=0))
    free = size > 0
    bound = np.flatnonzero(found.nonnegative & (found.coefficients <= 0))
    free[bound] = False  # a term that is held at zero can't move
    covariance = np.zeros((size.size, size.size))
    scaled = relative[:, free] / size[free]
    covariance[np.ix_(free, free)] = np.linalg.pinv(scaled.T @ scaled) / np.outer(size[free], size[free])
    left = max(0, sweep.points - found.parameters)
    scale = float(np.sqrt((PRIOR_DF + found.chi2) / (PRIOR_DF + left)))
    span_s = float(np.ptp(found.fitted_s)) if fit.name != "constant" else float(found.fitted_s[0])
    return Teller(found, fit.brackets, covariance, scale, PRIOR_DF + left, span_s)


def _columns(fit: CentreFit, covariates: Mapping[str, Floats]) -> Floats:
    """The law's columns, and one more for each continuous number of its shape: how time turns with its logarithm."""
    matrix = design(fit.variant, covariates)
    if fit.variant.turned is None:
        return matrix
    return np.column_stack([matrix, fit.coefficients[-1] * fit.variant.turned(covariates)])


def predict(law: Teller, place: Place, variance_ratio: float, places: int) -> LawForecast | None:
    """Args: variance_ratio: squared standard error to expect of the new centre.  places: predicted by this law; all
    of them are judged together. Returns: without what was seen; None: the law says nothing of the place."""
    found = law.at(place)
    if found is None:
        return None
    time_s, own = found
    variance = own + variance_ratio
    low, high = (float(time_s * np.exp(side * law.reach(variance, LEVEL))) for side in (-1, 1))
    joint = law.reach(variance, joint_level(places))
    forecast = LawForecast(
        place=dict(place),
        predicted_s=time_s,
        interval=(low, high),
        joint_ratio=float(np.exp(joint)),
        span_s=law.span_s,
        text="",
    )
    return with_words(forecast)


def joint_level(places: int) -> float:
    """Return the level of each of several intervals that are to hold together in LEVEL of the cases (Bonferroni)."""
    return 1 - (1 - LEVEL) / max(1, places)


def judged(forecast: LawForecast, seen_s: float, seen_interval: tuple[float, float]) -> LawForecast:
    """The forecast with what was seen, and whether it held.

    It held where the seen time lies within the joint interval and within NEAR_RATIO of the predicted one, and the
    interval is narrow enough to tell the law from none. It failed where it lies outside of the interval. Else (None)
    the noise lets nothing be decided.
    """
    reach = forecast.joint_ratio
    ratio = seen_s / forecast.predicted_s
    inside = 1 / reach <= ratio <= reach
    near = abs(ratio - 1) <= NEAR_RATIO
    telling = forecast.predicted_s * (reach - 1) <= MOST_OF_SPAN * forecast.span_s
    held = False if not inside else True if near and telling else None
    return with_words(replace(forecast, seen_s=seen_s, seen_interval=seen_interval, held=held))


def verdict(forecasts: Sequence[LawForecast]) -> Predicted:
    """Of all that a law predicted: failed where one place failed; held where none did, at least half of them held, and
    of the OUTERMOST ones, which are predicted first, at least one did.
    """
    seen = [forecast for forecast in forecasts if forecast.seen_s is not None]
    if not seen:
        return "not made"
    if any(forecast.held is False for forecast in seen):
        return "failed"
    held = [forecast for forecast in seen if forecast.held]
    beyond = any(forecast.held for forecast in seen[:OUTERMOST])
    return "held" if beyond and len(held) >= FEWEST_HELD * len(seen) else "undecided"
