# SPDX-License-Identifier: Apache-2.0
"""Many two-level factors varied at once: which cells to measure, and what each factor does by itself. Pure.

A Hadamard matrix of order n gives each of n factors two levels in n runs so that no two factors go together (Plackett
and Burman 1946, doi 10.1093/biomet/33.4.305). With the same runs once more, all levels exchanged, no factor goes with
what two others do together either (Box and Wilson 1951, doi 10.1111/j.2517-6161.1951.tb00067.x): resolution IV. Each
factor is judged by all runs, half of them at each level, so that it is known as well as by itself in as many runs; what
pairs of factors do stays mixed among pairs, and is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.stats.contrast import holm
from slowpath.stats.estimate import Floats, mean

Levels = NDArray[np.int64]  # shape (runs, factors), -1 and 1
# First row of the circulant part for orders that are no power of two (Plackett and Burman 1946, table 1).
_TWELVE = (1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1)
ORDERS = (2, 4, 8, 12, 16)
MOST_FACTORS = ORDERS[-1]


@dataclass(frozen=True)
class FactorEffect:
    """What one factor does: time at its upper level over that at its lower one, all other levels evened out.

    interval: t, over launches; None with fewer than 3.  p: two-sided, of "nothing", not corrected for the number of
    factors.  with_factors: others whose levels go with its own in these runs, since some are missing.
    """

    factor: int
    ratio: float
    interval: tuple[float, float] | None
    p: float | None
    with_factors: tuple[int, ...] = ()


def hadamard(order: int) -> Levels:
    """Shape (order, order); columns are orthogonal, the first is all 1.  Raises: ValueError: no such order here."""
    if order == 1:
        return np.ones((1, 1), dtype=np.int64)
    if order == 12:
        core = np.array([np.roll(_TWELVE, shift) for shift in range(11)], dtype=np.int64)
        rows = np.vstack([core, -np.ones((1, 11), dtype=np.int64)])
        return np.column_stack([np.ones(12, dtype=np.int64), rows])
    if order % 2:
        raise ValueError(f"hadamard: order {order}")
    half = hadamard(order // 2)
    return np.block([[half, half], [half, -half]])


def design(factors: int) -> Levels:
    """Levels of resolution IV for 1 to MOST_FACTORS factors, in twice as many runs as the next order has.

    The first run has every factor at its lower level.  Raises: ValueError: another number of factors.
    """
    if not 1 <= factors <= MOST_FACTORS:
        raise ValueError(f"design: {factors} factors; 1 to {MOST_FACTORS} can be varied at once")
    half = hadamard(next(order for order in ORDERS if order >= factors))[:, :factors]
    both = np.vstack([half, -half])
    # A factor may have either of its two signs: those that make the first run all lower.
    made: Levels = both * -both[0]
    return made


def effects(levels: Levels, times: Floats, level: float = 0.95) -> list[FactorEffect] | None:
    """Return what each factor does, by least squares on logarithms, launch by launch.

    Args:    levels: shape (runs, factors) of the runs that were measured.  times: shape (launches, runs), seconds, > 0.
    Returns: one for each factor, in order; None where the runs that there are can't tell the factors apart, or there
             are as few runs as unknowns.
    """
    runs, factors = levels.shape
    terms = np.column_stack([np.ones(runs), levels.astype(np.float64)])
    if runs <= factors + 1 or np.linalg.matrix_rank(terms) < factors + 1:
        return None
    solution, *_ = np.linalg.lstsq(terms, np.log(times).T, rcond=None)
    return [_effect(factor, 2 * solution[1 + factor], _together(levels, factor), level) for factor in range(factors)]


def _effect(factor: int, logs: Floats, together: tuple[int, ...], level: float) -> FactorEffect:
    """Return the effect of one factor.  Args: logs: log ratio of each launch, shape (launches,)."""
    centre = mean(logs)
    ratio = math.exp(centre.value)
    if logs.size < 3:
        return FactorEffect(factor, ratio, None, None, together)
    found = centre.interval(level)
    interval = None if found is None else (math.exp(found.low), math.exp(found.high))
    return FactorEffect(factor, ratio, interval, centre.p(), together)


def _together(levels: Levels, factor: int) -> tuple[int, ...]:
    """Others that share more than half of their levels' variation with this one, where runs are missing."""
    mine = levels[:, factor]
    shares = [abs(float(np.corrcoef(mine, levels[:, other])[0, 1])) for other in range(levels.shape[1])]
    return tuple(i for i, share in enumerate(shares) if i != factor and share > 0.5)


def decided(found: Sequence[FactorEffect], minimum_effect: float, significance: float = 0.05) -> list[bool]:
    """Return which effects hold, with as many asked as there are (Holm 1979): p small enough, beyond the minimum
    effect.
    """
    if not found:
        return []
    adjusted = holm(np.array([1.0 if effect.p is None else effect.p for effect in found]))
    return [
        effect.p is not None and p <= significance and _beyond(effect, minimum_effect)
        for effect, p in zip(found, adjusted.tolist(), strict=True)
    ]


def _beyond(effect: FactorEffect, minimum_effect: float) -> bool:
    """Whether the whole interval lies beyond the minimum effect, on one side."""
    if effect.interval is None:
        return False
    low, high = effect.interval
    return low > 1 + minimum_effect or high < 1 / (1 + minimum_effect)
