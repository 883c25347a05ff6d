# SPDX-License-Identifier: Apache-2.0
"""Where a limit lies, to the byte: which points to measure, and what the times say about the bracket. Pure.

The times of a few points on either side of a bracket, and of points inside it, are fitted by a line that breaks at one
place; every place that fits as well as the best one to within chance stays in the bracket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slowpath.diagnose.campaign_text import Campaign, Environment, Group
from slowpath.diagnose.sides import Condition
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.refine import next_values

AT_ONCE = 15
MOST_STEPS_TO_THE_BYTE = 8  # a bracket of a factor of 2 below 1 MiB takes 5, and a step that stays unclear is repeated
ROUNDS = 6
ANCHORS = 4  # points on each side that are known to go one way
_SPAN_RATIO = 0.12  # how far they reach from the bracket
_MARGIN = 9.0  # chi^2 by which a place may fit worse than the best and still be the one: 3 standard errors
_SEEN = 25.0  # chi^2 that a break has to explain to be seen at all
_LEAST_SIGMA = 1e-3
_HUBER = 2.0
_AROUND = 64  # on each side of an exact limit
_ROUNDS_OF_WEIGHTS = 12
_EFFORT = {"samples": "60", "time_limit_s": "0.008", "warmup_s": "0.002"}


@dataclass(frozen=True)
class Narrowed:
    """bracket: as narrow as the times allow.  jump_ratio: new over old way at the break.  seen: False: no break."""

    bracket: Bracket
    jump_ratio: float
    seen: bool


def points(bracket: Bracket, lowest: int = 1, at_once: int = AT_ONCE, exact: float | None = None) -> tuple[int, ...]:
    """Values to measure: those that divide the bracket, its ends, and anchors beyond them; ascending.

    Args: exact: last value of the old way, where it is known and to be measured once more with its neighbours.
    """
    low, high = int(bracket.above), int(bracket.up_to)
    reach = max(ANCHORS, round(low * _SPAN_RATIO))
    below = [low - reach * i // (ANCHORS - 1) for i in range(ANCHORS)]
    above = [high + reach * i // (ANCHORS - 1) for i in range(ANCHORS)]
    inside = [*next_values(bracket, at_once), *(() if exact is None else (int(exact) + i for i in (-1, 0, 1, 2)))]
    return tuple(sorted({value for value in (*below, *inside, *above) if value >= lowest}))


def around(exact: Bracket) -> Bracket:
    """A wider bracket about an exact one, off its middle, to measure it once more with other points."""
    low = max(1.0, exact.above - _AROUND)
    return Bracket(exact.covariate, low, exact.up_to + _AROUND + 5)


def campaign(
    bracket: Bracket,
    cell: Mapping[str, Any],
    under: Condition,
    ranks: int,
    rounds: int = ROUNDS,
    why: str = "",
    exact: float | None = None,
) -> Campaign:
    """One step of the refinement: the cell of the finding at `points`."""
    parameters = {k: v for k, v in cell["parameters"].items() if k not in _EFFORT} | _effort(cell)
    values: dict[str, str | Sequence[str]] = {
        **parameters,
        bracket.covariate: [str(v) for v in points(bracket, exact=exact)],
    }
    group = Group("limit", cell["experiment"], values, [under.environment], [under.placement])
    return Campaign(
        name="refine",
        title=f"Where {bracket.covariate.replace('_', ' ')} changes the way"[:80],
        ranks=ranks,
        rounds=rounds,
        environments=[Environment(under.environment, under.variables, under.unset)],
        placements={under.placement: under.bind},
        groups=[group],
        contrasts=[],
        why=why,
    )


def _effort(cell: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in _EFFORT.items() if name in cell["parameters"]}


def narrow(bracket: Bracket, values: Sequence[float], launch_s: Floats) -> Narrowed:
    """What new times say about a limit.

    Args:    values: ascending, shape (points,).  launch_s: shape (launches, points), seconds, medians of launches.
    Returns: the bracket as it was, `seen` False, where no break shows.
    Raises:  ValueError: fewer than 3 points on a side.
    """
    x = np.asarray(values, dtype=np.float64)
    outside = int((x <= bracket.above).sum()), int((x >= bracket.up_to).sum())
    if min(outside) < 3:
        raise ValueError(f"{outside[0]} and {outside[1]} points outside the bracket; 3 on each side are needed")
    centre, sigma = _centres(launch_s)
    places = [i for i in range(1, x.size) if x[i - 1] >= bracket.above and x[i] <= bracket.up_to]
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


def times_of(results: Mapping[str, Any], covariate: str, metric: str, phase: str) -> tuple[list[float], Floats] | None:
    """Values and launch medians of a refinement's run; None when launches lack points."""
    found: list[tuple[float, list[float]]] = []
    for cell in results["cells"]:
        estimate = cell["metrics"].get(metric, {}).get("phases", {}).get(phase)
        if estimate is not None:
            found.append((float(cell["parameters"][covariate]), estimate["launch_values"]))
    launches = max((len(times) for _, times in found), default=0)
    whole = sorted((value, times) for value, times in found if len(times) == launches)
    if launches == 0 or len(whole) < 6:
        return None
    return [value for value, _ in whole], np.array([times for _, times in whole], dtype=np.float64).T
