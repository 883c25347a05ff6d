# SPDX-License-Identifier: Apache-2.0
"""Where times break, to the byte. Pure.

The times of a few points on either side of a bracket, and of points inside it, are fitted by a line that breaks at one
place; every place that fits as well as the best one to within chance stays in the bracket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.results import Results
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.law import Bracket

_MARGIN = 9.0  # chi^2 by which a place may fit worse than the best and still be the one: 3 standard errors
FEWEST_OUTSIDE = 3  # points on each side of a bracket
_SEEN = 25.0  # chi^2 that a break has to explain to be seen at all
_LEAST_SIGMA = 1e-3
_HUBER = 2.0
_ROUNDS_OF_WEIGHTS = 12
_FEWEST_POINTS = 6
_BESIDE = 2  # points that have to lie on either side of a break outside the bracket


@dataclass(frozen=True)
class Narrowed:
    """bracket: as narrow as the times allow.  jump_ratio: time beyond the break over time before it.  seen: False: no
    break shows."""

    bracket: Bracket
    jump_ratio: float
    seen: bool


@dataclass(frozen=True)
class Times:
    """values: of the covariate, ascending, shape (points,).  launch_s: of launches, shape (launches, points)."""

    values: Sequence[float]
    launch_s: Floats

    @property
    def low_s(self) -> Floats:
        """Lower quartile over launches, shape (points,), seconds: what disturbs a launch only makes it longer."""
        low: Floats = np.quantile(self.launch_s, 0.25, axis=0)
        return low


def narrow(bracket: Bracket, values: Sequence[float], launch_s: Floats) -> Narrowed:
    """What new times say about a limit.

    Args:    values: ascending, shape (points,).  launch_s: shape (launches, points), seconds, medians of launches.
    Returns: the bracket as it was, `seen` False, where no break shows. A bracket beyond it, where the break clearly
             lies among the points on a side of it.
    Raises:  ValueError: fewer than 3 points on a side.
    """
    x = np.asarray(values, dtype=np.float64)
    outside = int((x <= bracket.above).sum()), int((x >= bracket.up_to).sum())
    if min(outside) < FEWEST_OUTSIDE:
        needed = f"{FEWEST_OUTSIDE} on each side are needed"
        raise ValueError(f"{outside[0]} and {outside[1]} points outside the bracket; {needed}")
    centre, sigma = _centres(launch_s)
    places = _places(x, bracket, centre, sigma)
    best = min(places, key=lambda i: _fit(_broken(x, i), centre, sigma)[0])
    rest = centre - _broken(x, best) @ _fit(_broken(x, best), centre, sigma)[1]
    sigma = max(sigma, 1.4826 * float(np.median(np.abs(rest))))
    costs = {i: _fit(_broken(x, i), centre, sigma) for i in places}
    least, found = min(costs.values(), key=lambda pair: pair[0])
    if _fit(_curved(x), centre, sigma)[0] - least < _SEEN:
        return Narrowed(bracket, 1.0, False)
    kept = [i for i in places if costs[i][0] - least < _MARGIN]
    inside = Bracket(bracket.covariate, float(x[min(kept) - 1]), float(x[max(kept)]))
    return Narrowed(inside, float(np.exp(found[2])), True)


def _places(x: Floats, bracket: Bracket, centre: Floats, sigma: float) -> list[int]:
    """Points before which the times may break: those of the bracket, unless a break beyond it fits clearly better."""
    inside = [i for i in range(1, x.size) if x[i - 1] >= bracket.above and x[i] <= bracket.up_to]
    beyond = [i for i in range(_BESIDE, x.size - _BESIDE + 1) if i not in inside]
    if not beyond:
        return inside
    best, other = (min(_fit(_broken(x, i), centre, sigma)[0] for i in some) for some in (inside, beyond))
    return inside if best <= other + _MARGIN else beyond


def _centres(launch_s: Floats) -> tuple[Floats, float]:
    """The logarithm of each point's time, and its standard error, alike for all points.

    The lower quartile over launches: what disturbs a launch makes it longer and never shorter, and it disturbs some
    points of it and not others.
    """
    logs = np.log(launch_s)
    typical = np.median(logs, axis=0)
    logs = logs - np.median(logs - typical, axis=1, keepdims=True)  # what a launch adds to all of its points
    centre: Floats = np.quantile(logs, 0.25, axis=0)
    spread = np.median(np.abs(logs - np.median(logs, axis=0)), axis=0)
    return centre, max(1.36 * 1.4826 * float(np.median(spread)) / np.sqrt(logs.shape[0]), _LEAST_SIGMA)


def _broken(x: Floats, split: int) -> Floats:
    """Columns of a line that jumps and bends before point `split`; the third one's weight is the jump's height."""
    behind = (np.arange(x.size) >= split).astype(np.float64)
    scaled = (x - (x[split - 1] + x[split]) / 2) / x[-1]
    return np.stack([np.ones_like(x), scaled, behind, behind * scaled], axis=1)


def _curved(x: Floats) -> Floats:
    """Columns of a parabola, so that curvature is not taken for a break."""
    scaled = (x - x.mean()) / x[-1]
    return np.stack([np.ones_like(x), scaled, scaled**2], axis=1)


def _fit(matrix: Floats, y: Floats, sigma: float) -> tuple[float, Floats]:
    """chi^2 by Huber's loss, which grows with the square up to 2 sigma and straight on from there, and the weights of
    the columns. A disturbed point is a few terms of 2 sigma and not all of the sum.
    """
    weights = np.ones_like(y)
    for _ in range(_ROUNDS_OF_WEIGHTS):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(matrix * root[:, None], y * root, rcond=None)[0]
        off = np.abs(y - matrix @ found) / sigma
        weights = np.where(off > _HUBER, _HUBER / np.maximum(off, 1e-12), 1.0)
    loss = np.where(off > _HUBER, 2 * _HUBER * off - _HUBER**2, off**2)
    return float(loss.sum()), np.asarray(found, dtype=np.float64)


def times_of(results: Results, covariate: str, metric: str, phase: str) -> Times | None:
    """The times of a run along a covariate; None when launches lack points."""
    found: list[tuple[float, list[float]]] = []
    for cell in results.cells:
        estimate = cell.estimate(metric, phase)
        if estimate is not None:
            found.append((float(cell.parameters[covariate]), estimate.launch_values))
    launches = max((len(times) for _, times in found), default=0)
    whole = sorted((value, times) for value, times in found if len(times) == launches)
    if launches == 0 or len(whole) < _FEWEST_POINTS:
        return None
    return Times([value for value, _ in whole], np.array([times for _, times in whole], dtype=np.float64).T)
