# SPDX-License-Identifier: Apache-2.0
"""The limit of detection of a class of plants: the smallest cost that is found 95 times of 100. Pure.

Costs are drawn one after the other where the answer is not known: the probability of being found is a logistic function
of the cost's logarithm, fitted to what was seen so far, and the next cost is drawn around where it reaches 95 %. With
few trials the fit is held by a weak prior, so that ten hits in a row do not make the limit 0.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Floats

FOUND = 0.95
GRID = 121  # costs; with the widths, a grid on which the posterior is worked out
WIDTHS = (0.05, 1.5)  # of the step, in decades
REACH = 2.0  # decades below and one above the range in which a class is drawn


@dataclass(frozen=True)
class Shot:
    """One plant of a class: what it cost, and whether a finding was its."""

    cost_s: float
    found: bool


@dataclass(frozen=True)
class DetectionLimit:
    """cost_s: found 95 times of 100, with its interval at 95 %; None: no cost that was tried is found so often, or
    nearly all are.  curve: cost and the share found, by the fit.  shots: that it rests on."""

    cost_s: float | None
    interval_s: tuple[float, float] | None
    curve: tuple[tuple[float, float], ...]
    shots: tuple[Shot, ...]
    reason: str


@dataclass(frozen=True)
class _Posterior:
    """The posterior of the cost that is found half of the time and of the width of the step, both in decades. weight:
    shape (costs, widths), sums up to 1.
    """

    middle: Floats
    width: Floats
    weight: Floats

    def limit(self) -> Floats:
        """Cost found 95 times of 100, in decades, at each point of the grid."""
        out: Floats = self.middle[:, None] + self.width[None, :] * math.log(FOUND / (1 - FOUND))
        return out

    def quantile(self, share: float) -> float:
        """Return the quantile of `limit`."""
        values, weights = self.limit().ravel(), self.weight.ravel()
        order = np.argsort(values)
        at = np.searchsorted(np.cumsum(weights[order]), share)
        return float(values[order][min(int(at), values.size - 1)])


def _posterior(shots: Sequence[Shot], low_s: float, high_s: float) -> _Posterior:
    middle = np.linspace(math.log10(low_s) - REACH, math.log10(high_s) + 1, GRID)
    width = np.geomspace(*WIDTHS, 21)
    log_weight = np.zeros((middle.size, width.size))
    for shot in shots:
        z = (math.log10(shot.cost_s) - middle[:, None]) / width[None, :]
        log_weight -= np.logaddexp(0, -z if shot.found else z)
    weight = np.exp(log_weight - log_weight.max())
    return _Posterior(middle, width, weight / weight.sum())


def next_cost_s(shots: Sequence[Shot], low_s: float, high_s: float, source: random.Random) -> float:
    """Return where to try next: a draw from what is known of the limit, so that trials gather around it from both
    sides.

    Args: low_s, high_s: between which costs the class is drawn; the search goes on two decades below and one above.
    """
    posterior = _posterior(shots, low_s, high_s)
    drawn = posterior.quantile(source.random())
    inside = min(max(drawn, math.log10(low_s) - REACH), math.log10(high_s) + 1)
    return float(f"{10**inside:.3g}")


def limit_of(shots: Sequence[Shot], low_s: float, high_s: float) -> DetectionLimit:
    """Return what the shots say of the class's limit."""
    posterior = _posterior(shots, low_s, high_s)
    ordered = tuple(sorted(shots, key=lambda shot: shot.cost_s))
    costs = np.linspace(posterior.middle[0], posterior.middle[-1], 61)
    shares = [float((posterior.weight * _share(posterior, cost)).sum()) for cost in costs]
    curve = tuple((float(10**cost), share) for cost, share in zip(costs, shares, strict=True))
    found = sum(shot.found for shot in shots)
    if found == 0 or found == len(shots):
        which = "none of the costs that were tried was found" if found == 0 else "all costs that were tried were found"
        return DetectionLimit(None, None, curve, ordered, which)
    interval = 10 ** posterior.quantile(0.025), 10 ** posterior.quantile(0.975)
    return DetectionLimit(10 ** posterior.quantile(0.5), interval, curve, ordered, "")


def _share(posterior: _Posterior, cost: float) -> Floats:
    out: Floats = 1 / (1 + np.exp(-(cost - posterior.middle[:, None]) / posterior.width[None, :]))
    return out
