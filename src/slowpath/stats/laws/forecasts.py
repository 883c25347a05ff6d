# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a law: of points of its sweep that were set apart before any fit. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slowpath.core.law_results import LawForecast
from slowpath.stats.laws.curve import curve
from slowpath.stats.laws.drawn import STANDARD_ERRORS
from slowpath.stats.laws.fit import Fit
from slowpath.stats.laws.predict import judged, predict, teller
from slowpath.stats.laws.sweep import Sweep

# Forecasts of a sweep's own points: each third one is set apart before any law is fitted, the largest among them.
#
# The law and its shape are chosen without them, and predict them. This stands for a later measurement where none was
# made: the places were picked by their number, not by their times. What it can't stand for is a place beyond the sweep,
# or another day.

EACH = 3  # of so many points one is set apart
FEWEST_LEFT = 4  # points: two coefficients, and two more that could contradict them
_GOLDEN = 0.6180339887498949

Choose = Callable[[Sweep], Fit | None]


def set_apart(sweep: Sweep) -> list[int]:
    """Points to be predicted, the outermost first; empty where too few would be left.

    They are spread along what varies by multiples of the golden ratio, from the largest value down, so that they fall
    into step with nothing that repeats, as the remainders of lengths do.
    """
    names = [name for name in sweep.varied() if name != "buffer_bytes"] or list(sweep.varied())
    if not names or sweep.points <= FEWEST_LEFT:
        return []
    order = np.lexsort([sweep.covariates[name] for name in reversed(names)])
    most = max(1, min(sweep.points // EACH, sweep.points - FEWEST_LEFT))
    spread = np.argsort(np.arange(sweep.points) * _GOLDEN % 1.0, kind="stable")[:most]
    chosen: list[int] = order[::-1][np.sort(spread)].tolist()
    return chosen


def held_out(sweep: Sweep, named: str, choose: Choose) -> tuple[LawForecast, ...]:
    """Return what the law predicts of the points that were set apart, the outermost first.

    Args:    named: the law of the whole sweep.  choose: the law of a sweep, by the same rules.
    Returns: nothing where the points that are left name no law, or another one.
    """
    apart = set_apart(sweep)
    if not apart:
        return ()
    left = np.ones(sweep.points, dtype=np.bool_)
    left[apart] = False
    rest = sweep.take(left)
    fit = choose(rest)
    if fit is None or fit.name != named:
        return ()
    law, whole = teller(fit, curve(rest), rest), curve(sweep)
    found = []
    for point in apart:
        place = {name: float(values[point]) for name, values in sweep.covariates.items()}
        error = float(whole.sigma_ratio[point])
        forecast = predict(law, place, error**2, len(apart))
        if forecast is not None:
            seen_s, reach = float(whole.centre_s[point]), float(np.exp(STANDARD_ERRORS * error))
            found.append(judged(forecast, seen_s, (seen_s / reach, seen_s * reach)))
    return tuple(found)
