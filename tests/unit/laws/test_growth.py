# SPDX-License-Identifier: Apache-2.0
"""Growth with the number of ranks: what was planted comes back, and a law predicts the ranks that it was not shown."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from slowpath.stats.estimate import Floats
from slowpath.stats.laws.growth import growth

RANKS = np.arange(2.0, 17.0)
NOISE_RATIO = 0.01  # of times over links
PLANTS: list[tuple[float, Callable[[Floats], Floats]]] = [
    (0.0, lambda p: 2e-3 * np.log2(p)),
    (0.0, lambda p: 2e-3 * np.ceil(np.log2(p))),
    (0.5, lambda p: 2e-3 * np.sqrt(p)),
    (1.0, lambda p: 2e-3 * (p - 1)),
    (1.0, lambda p: 5e-3 + 4e-3 * (p - 1)),
    (1.5, lambda p: 1e-3 * (1 + p**1.5)),
    (2.0, lambda p: 1e-3 * (p**2 - 1)),
]


@pytest.mark.parametrize("number", range(len(PLANTS)))
def test_planted_exponents_of_times_come_back_within_a_tenth(number: int) -> None:
    exponent, law = PLANTS[number]
    random = np.random.default_rng(number)
    inside = 0
    for _ in range(3):
        times = law(RANKS) * np.exp(random.normal(0, NOISE_RATIO, RANKS.size))
        found = growth(RANKS, times, NOISE_RATIO * times)
        assert found.exponent == pytest.approx(exponent, abs=0.1)
        assert found.interval is not None
        inside += found.interval[0] <= exponent <= found.interval[1]
    assert inside >= 2


@pytest.mark.parametrize(("exponent", "bound"), [(0.5, 0.245), (1.0, 0.158), (2.0, 0.084)])
def test_few_numbers_and_much_noise_leave_the_error_that_the_data_leave(exponent: float, bound: float) -> None:
    """bound: that of Cramér and Rao for the exponent, of a constant of 2, a slope of 1, ranks 2 to 8 and 3 % of noise.
    An error of a tenth is out of reach of any estimator, and the interval says so.
    """
    ranks, random = np.arange(2.0, 9.0), np.random.default_rng(5)
    values = 2 + (ranks**exponent - 1) / exponent
    errors, held = [], 0
    for _ in range(20):
        found = growth(ranks, values * (1 + random.normal(0, 0.03, ranks.size)), 0.03 * values)
        assert found.exponent is not None
        assert found.interval is not None
        errors.append(found.exponent - exponent)
        held += found.interval[0] <= exponent <= found.interval[1]
    assert np.sqrt(np.mean(np.square(errors))) < 1.4 * bound
    assert held >= 18


@pytest.mark.parametrize(
    ("counts", "formula", "exponent", "at_1024"),
    [
        (RANKS - 1, "p - 1", 1.0, 1023),
        (2 * (RANKS - 1), "2 p - 2", 1.0, 2046),
        (np.ceil(np.log2(RANKS)), "ceil(log2 p)", 0.0, 10),
        (2 * np.ceil(np.log2(RANKS)), "2 ceil(log2 p)", 0.0, 20),
        (np.floor(np.log2(RANKS)), "floor(log2 p)", 0.0, 10),
        (RANKS**2 - 3, "p^2 - 3", 2.0, 1024**2 - 3),
        (np.full(15, 3.0), "3", None, 3),
    ],
)
def test_counts_of_known_algorithms_have_an_exact_law(
    counts: Floats, formula: str, exponent: float | None, at_1024: float
) -> None:
    found = growth(RANKS, counts)
    assert (found.formula, found.is_exact, found.exponent) == (formula, True, exponent)
    assert found.interval == (None if exponent is None else (exponent, exponent))
    value, (low, high) = found.predict(1024)
    assert value == low == high == pytest.approx(at_1024)


def test_what_does_not_grow_has_no_exponent() -> None:
    random = np.random.default_rng(3)
    times = 1e-3 * np.exp(random.normal(0, NOISE_RATIO, RANKS.size))
    found = growth(RANKS, times, NOISE_RATIO * times)
    assert found.exponent is None
    assert found.predict(64)[0] == pytest.approx(1e-3, rel=0.02)
