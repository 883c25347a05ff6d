# SPDX-License-Identifier: Apache-2.0
"""Forecasts that are written down now and measured later, in other launches.

Machines go through fast and slow phases, so some of the sweep's own points, its anchors, are measured again in the same
launches as the new places: what they take more or less than in the sweep is taken off the new places too. A launch's
effect is taken off all of its points by every fit (curve.py); this is the same between two runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.finding_results import ForecastKind, LawForecast
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.curve import FLOOR_RATIO, Curve, curve
from slowpath.stats.laws.drawn import STANDARD_ERRORS
from slowpath.stats.laws.fit import Fit
from slowpath.stats.laws.new_places import new_places
from slowpath.stats.laws.predict import judged, predict, teller
from slowpath.stats.laws.sweep import Sweep, make_sweep

ROUNDS = 6  # launches in which they are measured
ANCHORS = 4
MEDIAN_OF_FEW = 1.57  # variance of a median over that of a mean, for a normal law
KIND: ForecastKind = "later"


def to_measure(fit: Fit, sweep: Sweep, centre: Curve) -> tuple[LawForecast, ...]:
    """What the law says of places that the sweep did not hold, the outermost first.

    The interval allows for the new launches and for what is not known of the drift between both runs.
    """
    one_launch = np.maximum(centre.sigma_ratio**2 - FLOOR_RATIO**2, 0.0) * sweep.launches
    new = float(np.median(one_launch)) / ROUNDS + FLOOR_RATIO**2
    drift = MEDIAN_OF_FEW / ANCHORS * (new + float(np.median(centre.sigma_ratio**2)))
    law, places = teller(fit, centre, sweep), new_places(fit, sweep)
    found = [predict(law, place, new + drift, len(places), KIND) for place in places]
    return tuple(forecast for forecast in found if forecast is not None)


@dataclass(frozen=True)
class Anchor:
    """A point of the sweep: its time there, seconds, and half its interval at 95 % as a ratio."""

    value_s: float
    half_ratio: float


def seen(forecasts: Sequence[LawForecast], anchors: Sequence[Anchor], launch_s: Floats) -> tuple[LawForecast, ...]:
    """The forecasts with what was seen.

    Args: launch_s: shape (launches, anchors and then forecasts), seconds; NaN: not measured, or nothing above 0.
    A place that no launch measured keeps its forecast without; without any anchor none is judged.
    """
    finite = np.isfinite(launch_s)
    there = np.asarray(finite.any(axis=0))
    kept_rows = launch_s[np.asarray(finite.any(axis=1))]
    count = len(anchors)
    if not there[:count].any() or not kept_rows.size:
        return tuple(forecasts)
    numbers = np.flatnonzero(there)
    found = curve(make_sweep({"point": numbers.astype(float)}, kept_rows[:, there]))
    centre, sigma = dict(zip(numbers, found.centre_s, strict=True)), dict(zip(numbers, found.sigma_ratio, strict=True))
    measured = [number for number in range(count) if there[number]]
    moved = [float(np.log(centre[number] / anchors[number].value_s)) for number in measured]
    errors = [np.hypot(sigma[number], np.log(anchors[number].half_ratio) / STANDARD_ERRORS) for number in measured]
    drift, unsure = float(np.median(moved)), MEDIAN_OF_FEW / len(moved) * float(np.median(np.square(errors)))
    made = []
    for number, forecast in enumerate(forecasts, start=count):
        if not there[number]:
            made.append(forecast)
            continue
        value_s, variance = float(centre[number] * np.exp(-drift)), float(sigma[number] ** 2 + unsure)
        reach = float(np.exp(STANDARD_ERRORS * np.sqrt(variance)))
        extra = float(np.exp(STANDARD_ERRORS * np.sqrt(max(0.0, variance - forecast.noise_ratio**2))))
        made.append(judged(forecast, value_s, (value_s / reach, value_s * reach), widened=extra))
    return tuple(made)
