# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a law: of points that were set apart before any fit, and of new places that are measured later. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from slowpath.core.law_results import ForecastKind, LawForecast
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.allocation import SIDES
from slowpath.stats.laws.curve import FLOOR_RATIO, CentreCurve, curve
from slowpath.stats.laws.drawn import STANDARD_ERRORS
from slowpath.stats.laws.fit import Fit
from slowpath.stats.laws.granules import ASKED, HOST_PAGE, alignment
from slowpath.stats.laws.law import Place
from slowpath.stats.laws.predict import judged, predict, teller
from slowpath.stats.laws.sweep import Covariates, Sweep, make_sweep

# Where a law that was fitted to a sweep is put to the test: places that the sweep did not hold.
#
# One beyond it, one between its points, one on either side of each limit; of laws that pay by the remainder of a length
# remainders that were not seen. Each differs from the sweep's points in the one quantity that the law is about.

MOST = 5
BEYOND = 2.0  # times the largest value
NARROWEST = 1.2  # ratio of neighbours between which another value is worth measuring
# Beyond the sweep these are other things: longer messages leave the caches, shorter blocks are sent another way.
_NOT_BEYOND = ("segments", "pages", "blocks", "queue depth")
_BY_REMAINDER = ("granules", "threshold")
_REMAINDERS = (3 * 2**12, 3 * 2**16, 3 * 2**18, 5 * 2**12, 5 * 2**20)
_LARGEST_BYTES = 2**28  # of host memory, allocated in every launch; GPU sweeps begin above it and go as far again


def new_places(fit: Fit, sweep: Sweep) -> list[Place]:
    """The outermost first, at most MOST; empty where the law is about nothing that another value can be chosen of."""
    name = _along(fit, sweep.covariates)
    if name is None:
        return []
    found = _remainders(name, sweep) if fit.name in _BY_REMAINDER else _values(name, fit, sweep)
    return found[:MOST]


def _along(fit: Fit, covariates: Covariates) -> str | None:
    names = [name for name in fit.law.along or sorted(covariates) if name in covariates and name != ASKED]
    varied = {name: int(np.unique(covariates[name]).size) for name in names}
    best = max(varied, key=lambda name: varied[name], default=None)
    return best if best is not None and varied[best] > 1 else None


def _values(name: str, fit: Fit, sweep: Sweep) -> list[Place]:
    values = np.unique(sweep.covariates[name])
    beyond = _beyond(values, name) if fit.name not in _NOT_BEYOND else []
    inside: list[float] = []
    for limit in (bracket for bracket in fit.brackets if bracket.covariate == name):
        inside += _middle(values, limit.above, side=-1) + _middle(values, limit.up_to, side=1)
    gaps = [(high / low, low, high) for low, high in pairwise(values[values > 0].tolist())]
    free = [gap for gap in gaps if not any(b.covariate == name and b.above == gap[1] for b in fit.brackets)]
    inside += [_between(low, high) for ratio, low, high in sorted(free, reverse=True)[:2] if ratio > NARROWEST]
    wanted = [value for value in dict.fromkeys([*beyond, *inside]) if value not in values]
    return [_moved(sweep, name, value) for value in wanted]


def _beyond(values: Floats, name: str) -> list[float]:
    most = max(float(_LARGEST_BYTES), float(values[-1])) if name.endswith("_bytes") else float("inf")
    further = round(BEYOND * float(values[-1]))
    return [float(further)] if further <= BEYOND * most and values[-1] > 0 else []


def _middle(values: Floats, end: float, side: int) -> list[float]:
    """The value between the end of a limit's bracket and its next neighbour away from it."""
    away = values[values < end] if side < 0 else values[values > end]
    if not away.size:
        return []
    low, high = sorted((float(away[-1] if side < 0 else away[0]), end))
    return [_between(low, high)] if high > NARROWEST * low > 0 else []


def _between(low: float, high: float) -> float:
    middle = float(np.sqrt(low * high))
    whole = HOST_PAGE if middle > 4 * HOST_PAGE else 1
    return float(round(middle / whole) * whole)


def _moved(sweep: Sweep, name: str, value: float) -> Place:
    """The nearest point with another value; what is as long everywhere follows, and a buffer that is asked for
    is as long as its allocation."""
    covariates = sweep.covariates
    nearest = int(np.argmin(np.abs(np.log(np.maximum(covariates[name], 0.5)) - np.log(value))))
    place = {covariate: float(values[nearest]) for covariate, values in covariates.items()}
    alike = [covariate for covariate, values in covariates.items() if np.array_equal(values, covariates[name])]
    place |= dict.fromkeys(alike, value)
    if name in SIDES and ASKED in place:
        place[ASKED] = value
    return place


def _remainders(name: str, sweep: Sweep) -> list[Place]:
    """The longest and a middle length with remainders that were not seen and whose alignment was."""
    covariates = sweep.covariates
    bases = np.unique(covariates.get(ASKED, covariates[name]))
    levels = set(alignment(covariates[name]).tolist())
    seen = set(covariates[name].tolist())
    found = []
    for base in dict.fromkeys([float(bases[-1]), float(bases[bases.size // 2])]):
        for rest in _REMAINDERS:
            length = base + rest
            if rest < base and length not in seen and float(alignment(np.array([length]))[0]) in levels:
                nearest = int(np.argmin(np.abs(covariates[name] - base)))
                place = {covariate: float(values[nearest]) for covariate, values in covariates.items()}
                found.append({**place, name: length, **({ASKED: base} if ASKED in covariates else {})})
    return [place for group in (found[::2], found[1::2]) for place in group]


def anchors(sweep: Sweep, count: int) -> Sequence[int]:
    """Points of the sweep, spread from its fastest to its slowest, to be measured again with the new places."""
    order = np.argsort(np.nanmedian(sweep.launch_s, axis=0), kind="stable")
    chosen = np.unique(np.linspace(0, order.size - 1, count).round().astype(int))
    found: list[int] = order[chosen].tolist()
    return found


# Forecasts of a sweep's own points: each third one is set apart before any law is fitted, the largest among them.
#
# The law and its shape are chosen without them, and predict them. This stands for a later measurement where none was
# made: the places were picked by their number, not by their times. What it can't stand for is a place beyond the sweep,
# or another day; where both are there, the later measurement decides.

EACH = 3  # of so many points one is set apart
FEWEST_LEFT = 4  # points: two coefficients, and two more that could contradict them
_GOLDEN = 0.6180339887498949
HELD_OUT: ForecastKind = "held out"

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
        forecast = predict(law, place, error**2, len(apart), HELD_OUT)
        if forecast is not None:
            seen_s, reach = float(whole.centre_s[point]), float(np.exp(STANDARD_ERRORS * error))
            found.append(judged(forecast, seen_s, (seen_s / reach, seen_s * reach)))
    return tuple(found)


# Forecasts that are written down now and measured later, in other launches.
#
# Machines go through fast and slow phases, so some of the sweep's own points, its anchors, are measured again in the
# same launches as the new places: what they take more or less than in the sweep is taken off the new places too. A
# launch's effect is taken off all of its points by every fit (curve.py); this is the same between two runs.

ROUNDS = 6  # launches in which they are measured
ANCHORS = 4
MEDIAN_OF_FEW = 1.57  # variance of a median over that of a mean, for a normal law
LATER: ForecastKind = "later"


def to_measure(fit: Fit, sweep: Sweep, centre: CentreCurve) -> tuple[LawForecast, ...]:
    """Return what the law says of places that the sweep did not hold, the outermost first.

    The interval allows for the new launches and for what is not known of the drift between both runs.
    """
    one_launch = np.maximum(centre.sigma_ratio**2 - FLOOR_RATIO**2, 0.0) * sweep.launches
    new = float(np.median(one_launch)) / ROUNDS + FLOOR_RATIO**2
    drift = MEDIAN_OF_FEW / ANCHORS * (new + float(np.median(centre.sigma_ratio**2)))
    law, places = teller(fit, centre, sweep), new_places(fit, sweep)
    found = [predict(law, place, new + drift, len(places), LATER) for place in places]
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
