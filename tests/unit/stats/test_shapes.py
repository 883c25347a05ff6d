# SPDX-License-Identifier: Apache-2.0
"""Shapes over a launch: chances, periods, growth, kinds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from slowpath.stats.shapes import (
    TOO_FEW_RUNS,
    LaunchGrowth,
    Period,
    growth_of,
    kinds_of,
    period_of,
    stalled,
    stalls_of,
    sum_of_ranks,
    suspected,
    together,
)
from support.series import Extra, every, growing, launch_of, nothing


def test_chances_are_those_of_scipy() -> None:
    p_values = [0.01, 0.2, 0.7, 1e-9]
    assert together(p_values) == pytest.approx(stats.combine_pvalues(p_values).pvalue)


@pytest.mark.parametrize(("members", "n"), [(2, 9), (4, 12), (5, 14), (7, 14)])
def test_a_sum_of_ranks_is_never_less_likely_than_all_draws_say(members: int, n: int) -> None:
    """Against every draw: where the bound is below one half, within a fifth of a normal law's own error at most."""
    sums = np.array([sum(draw) for draw in combinations(range(1, n + 1), members)])
    middle = members * (n + 1) / 2
    for distance in np.unique(np.abs(sums - middle)):
        true = float((np.abs(sums - middle) >= distance).mean())
        bound = float(sum_of_ranks(np.array([middle + distance]), np.array([members]), n)[0])
        assert bound >= 0.55 * true, (distance, bound, true)


def test_stalls_are_counted_above_twice_the_median() -> None:
    times = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 5.0, 9.0])
    one = stalled(times)
    assert stalls_of(times).tolist() == [False] * 6 + [True] * 2
    assert (one.messages, one.stalls, one.median_s, one.length_s) == (8, 2, 1.0, 6.0)
    assert one.lost_ratio == pytest.approx(12 / 21)
    assert one.mean_ratio == pytest.approx(21 / 8)
    assert stalled(np.ones(5)).lost_ratio == 0.0


NUMBERS = np.arange(1, 600)


def of(
    extra: Extra, *, seed: int = 1, messages: int = 599, base_s: float = 7e-6, burst_s: float = 1e-3
) -> Period | None:
    random = np.random.default_rng(seed)
    numbers = NUMBERS[:messages]
    launches = [launch_of(random, messages, base_s, extra(numbers, launch), burst_s) for launch in range(5)]
    return period_of([(numbers, times) for times in launches])


@pytest.mark.parametrize(
    ("period", "slow"),
    [(2, 1), (3, 1), (4, 2), (5, 4), (7, 1), (8, 1), (9, 1), (17, 1), (64, 1), (100, 1), (128, 1), (64, 2)],
)
def test_a_period_is_found_with_its_slow_places(period: int, slow: int) -> None:
    found = of(every(period, 2e-4, slow))
    assert found is not None
    assert (found.every, found.slow) == (period, slow)
    assert found.p < 1e-9
    assert [one.slow for one in found.launches] != [found.launches[0].slow] * 5  # the phase is each launch's own
    for one in found.launches:
        assert one.slow_s - one.fast_s == pytest.approx(2e-4, rel=0.1)


def test_an_alternation_by_a_third_is_found_in_twenty_messages() -> None:
    found = of(every(2, 0.33 * 7e-6), messages=20, burst_s=0.0)
    assert found is not None
    assert (found.every, found.slow) == (2, 1)
    assert found.p < 1e-6


def test_a_stall_of_half_a_message_in_64_is_found() -> None:
    found = of(every(64, 3.5e-6))
    assert found is not None
    assert found.every == 64


@pytest.mark.parametrize("seed", range(40))
def test_noise_with_bursts_has_none(seed: int) -> None:
    found = of(nothing, seed=seed)
    assert found is None or found.p > 1e-3


def test_a_drift_and_a_step_have_none() -> None:
    assert of(lambda number, _: 1e-8 * number) is None
    assert of(lambda number, _: 1e-5 * (number > 300)) is None


# Series in which nothing alternates: times of messages, over their base.
Series = Callable[[np.random.Generator, int], np.ndarray]


def of_of_growing_shapes(
    extra: Extra, *, seed: int = 1, launches: int = 5, base_s: float = 8e-7
) -> LaunchGrowth | None:
    random = np.random.default_rng(seed)
    made = [launch_of(random, 599, base_s, extra(NUMBERS, launch), 1e-3) for launch in range(launches)]
    return growth_of([(NUMBERS, times) for times in made])


def test_what_each_message_adds_lies_in_the_interval() -> None:
    found = of_of_growing_shapes(growing(5e-9))
    assert found is not None
    assert found.low < 5e-9 < found.high
    assert found.per_message_s == pytest.approx(5e-9, rel=0.05)
    assert found.p < 1e-4
    assert found.least_s == pytest.approx(8e-7 + 5e-9 * 150, rel=0.1)
    assert found.most_s > 10 * found.least_s  # cells that begin late


@pytest.mark.parametrize(
    "extra",
    [nothing, lambda number, _: 5e-6 * (number < 40), lambda number, launch: np.full(number.size, 1e-6 * launch)],
    ids=["noise", "warm-up", "slower launches"],
)
def test_what_does_not_grow(extra: Extra) -> None:
    for seed in range(20):
        found = of_of_growing_shapes(extra, seed=seed)
        assert found is not None
        assert found.low <= 0 or found.p > 1e-3


BASES = np.array([8e-7, 7e-6, 8e-5])


def times(random: np.random.Generator, launches: int, slow: np.ndarray, more_s: float = 2e-5) -> np.ndarray:
    """5 % of noise that the cells of a launch share, 2 % of their own."""
    noise = random.normal(0, 0.05, launches) + random.normal(0, 0.02, (3, launches))
    return np.asarray(BASES[:, None] * np.exp(noise) + more_s * slow)


@pytest.mark.parametrize("seed", range(1, 11))
def test_a_coin_of_each_launch_is_found_in_each_of_its_launches(seed: int) -> None:
    random = np.random.default_rng(seed)
    slow = random.integers(0, 2, 24).astype(bool)
    found = kinds_of(times(random, 24, slow))
    assert found is not None
    assert found.slow.tolist() == slow.tolist()
    assert set(found.cells) >= {0, 1}  # 20 us are a quarter of the longest message, too near to the noise
    assert found.order_p > TOO_FEW_RUNS


def test_clean_launches_are_of_one_kind() -> None:
    random = np.random.default_rng(1)
    found = [kinds_of(times(random, 24, np.zeros(24))) for _ in range(500)]
    assert sum(one is not None and one.order_p > TOO_FEW_RUNS for one in found) <= 2


def test_a_slow_phase_of_the_machine_has_another_order() -> None:
    random = np.random.default_rng(1)
    found = kinds_of(times(random, 24, np.arange(24) >= 13))
    assert found is not None
    assert found.order_p < TOO_FEW_RUNS


def test_suspicion_needs_three_cells_that_agree() -> None:
    random = np.random.default_rng(1)
    base = times(random, 5, np.zeros(5))
    slow = np.array([0, 0, 1, 0, 1])
    assert suspected(times(random, 5, slow, 1e-3))
    assert suspected(times(random, 5, np.array([0, 1, 0, 0, 0]), 1e-3))
    assert not suspected(base)
    base[:2] += 1e-3 * slow
    assert not suspected(base)
