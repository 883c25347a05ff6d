# SPDX-License-Identifier: Apache-2.0
"""Screening: designs are balanced, planted effects come out with their size, pairs do not pass for single factors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from slowpath.stats.screening import MOST_FACTORS, ORDERS, Levels, decided, design, effects, hadamard

LAUNCHES = 5


def times_s(levels: Levels, logs: dict[tuple[int, ...], float], noise: float, seed: int) -> np.ndarray:
    """logs: log ratio of each factor, or of what several do together: of products of their levels, upper over lower."""
    generator = np.random.default_rng(seed)
    made = sum(np.prod(levels[:, list(term)], axis=1) * value / 2 for term, value in logs.items())
    drift = generator.normal(0, 0.3, (LAUNCHES, 1))  # of whole launches, which no factor may take on
    found: np.ndarray = np.exp(np.log(20e-6) + made + drift + generator.normal(0, noise, (LAUNCHES, len(levels))))
    return found


@pytest.mark.parametrize("order", ORDERS)
def test_columns_of_each_order_are_orthogonal(order: int) -> None:
    matrix = hadamard(order)
    assert (matrix.T @ matrix == order * np.eye(order)).all()
    assert set(np.unique(matrix)) <= {-1, 1}


@pytest.mark.parametrize("factors", range(1, MOST_FACTORS + 1))
def test_no_factor_goes_with_another_or_with_a_pair(factors: int) -> None:
    levels = design(factors)
    assert (levels[0] == -1).all()
    assert (levels.sum(axis=0) == 0).all()
    for i, j in itertools.combinations(range(factors), 2):
        assert levels[:, i] @ levels[:, j] == 0
        assert (levels.T @ (levels[:, i] * levels[:, j]) == 0).all(), "resolution IV"


def test_planted_effects_come_out_with_their_sign_and_size() -> None:
    levels = design(6)
    planted = {(0,): np.log(2.0), (3,): np.log(0.5), (1, 2): np.log(1.5)}
    found = effects(levels, times_s(levels, planted, 0.02, 1))
    assert found is not None
    assert [one.ratio for one in found] == pytest.approx([2, 1, 1, 0.5, 1, 1], rel=0.03)
    assert decided(found, 0.03) == [True, False, False, True, False, False]
    for one, truth in zip(found, [2, 1, 1, 0.5, 1, 1], strict=True):
        assert one.interval is not None
        assert one.interval[0] / 1.01 < truth < one.interval[1] * 1.01


def test_what_two_factors_do_together_passes_for_neither() -> None:
    levels = design(8)
    found = effects(levels, times_s(levels, {(2, 5): np.log(4)}, 0.01, 2))
    assert found is not None
    assert not any(decided(found, 0.03))


def test_nothing_planted_is_seldom_something() -> None:
    levels = design(6)
    alarms = sum(any(decided(effects(levels, times_s(levels, {}, 0.5, seed)) or [], 0.03)) for seed in range(400))
    assert alarms <= 400 * 0.08, f"{alarms} of 400, where 5 % are allowed"


def test_missing_runs_are_left_out_or_said_to_mix_factors() -> None:
    levels = design(6)
    times = times_s(levels, {(0,): np.log(2.0)}, 0.01, 3)
    most = [i for i in range(len(levels)) if i not in (4, 9)]
    found = effects(levels[most], times[:, most])
    assert found is not None
    assert found[0].ratio == pytest.approx(2, rel=0.05)
    assert effects(levels[:7], times[:, :7]) is None
    assert effects(levels[levels[:, 2] < 0], times[:, levels[:, 2] < 0]) is None, "one level of a factor is missing"
