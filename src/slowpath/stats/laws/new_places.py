# SPDX-License-Identifier: Apache-2.0
"""Where a law that was fitted to a sweep is put to the test: places that the sweep did not hold.

One beyond it, one between its points, one on either side of each limit; of laws that pay by the remainder of a length
remainders that were not seen. Each differs from the sweep's points in the one quantity that the law is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.allocation import SIDES
from slowpath.stats.laws.fit import Fit
from slowpath.stats.laws.granules import ASKED, HOST_PAGE, alignment
from slowpath.stats.laws.law import Place
from slowpath.stats.laws.sweep import Covariates, Sweep

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
