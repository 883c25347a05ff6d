# SPDX-License-Identifier: Apache-2.0
"""The always-valid interval: holds the truth at every look at once, in at least as many cases as it claims."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from slowpath.stats.contrast import PRIOR, critical_t, fewest, half_width, interval

LOOKS, REPETITIONS = 60, 1000


def normal(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(size=(LOOKS, 3))


def stalls(rng: np.random.Generator) -> NDArray[np.float64]:
    """One run in twenty takes far longer."""
    hit = rng.random((LOOKS, 3)) < 0.05
    return rng.normal(scale=0.01, size=(LOOKS, 3)) + hit * rng.exponential(size=(LOOKS, 3))


def skewed(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.exponential(size=(LOOKS, 3))


def ever_excluded(draw: Callable[[np.random.Generator], NDArray[np.float64]], effect: float) -> float:
    """Share of sequences of blocks (as it is, control, remedy) that exclude "no effect" at any of LOOKS looks."""
    rng, limits = np.random.default_rng(1), np.array([critical_t(n, 0.95) for n in range(1, LOOKS + 1)])
    count, excluded = np.arange(1, LOOKS + 1), 0
    for _ in range(REPETITIONS):
        logs = draw(rng)
        d = logs[:, 2] + effect - logs[:, :2].mean(axis=1)
        mean = np.cumsum(d) / count
        variance = (np.cumsum(d**2) - count * mean**2)[1:] / (count[1:] - 1)
        excluded += bool((np.abs(mean[1:]) > limits[1:] * np.sqrt(variance / count[1:])).any())
    return excluded / REPETITIONS


@pytest.mark.parametrize("draw", [normal, stalls, skewed])
def test_no_effect_is_excluded_at_any_look_in_one_case_of_twenty_at_most(
    draw: Callable[[np.random.Generator], NDArray[np.float64]],
) -> None:
    assert ever_excluded(draw, 0.0) <= 0.05


def test_an_effect_is_found() -> None:
    assert ever_excluded(normal, 1.5) > 0.99


def test_the_limit_is_where_the_bayes_factor_reaches_one_over_alpha() -> None:
    for n in (4, 7, 30):
        t, spread = critical_t(n, 0.95), 1 + n * PRIOR
        factor = spread**-0.5 * ((1 + t**2 / (n - 1)) / (1 + t**2 / ((n - 1) * spread))) ** (n / 2)
        assert factor == pytest.approx(20.0)


def test_few_values_exclude_nothing() -> None:
    first = fewest(0.95)
    assert first == 4
    assert math.isinf(critical_t(first - 1, 0.95))
    assert interval([1.0, 1.1, 1.2], 0.95) is None
    assert interval([1.0, 1.0, 1.0, 1.0], 0.95) is None
    assert math.isinf(half_width(3, 1.0, 0.95))


def test_the_interval_is_about_the_mean_and_shrinks() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.95)
    assert found is not None
    assert (found.low + found.high) / 2 == pytest.approx(3.0)
    assert half_width(100, 1.0, 0.95) < half_width(10, 1.0, 0.95) < half_width(10, 1.0, 0.99)
