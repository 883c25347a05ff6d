# SPDX-License-Identifier: Apache-2.0
"""Estimates over launches: location, spread and warm-up."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.stats.estimate import Floats, estimate_over_launches, estimate_within_launch
from slowpath.stats.launches import (
    partition,
    steady_state,
    tails,
    within,
)


def test_the_method_follows_the_number_of_launches() -> None:
    medians = np.array([1.0, 1.1, 1.3, 1.2, 1.05, 1.15, 1.25, 1.01])
    kinds = {n: estimate_over_launches(medians[:n]).kind for n in range(1, 9)}
    assert kinds[1] == "one launch, no interval"
    assert kinds[2] == "range of 2 launches, no interval"
    assert {kinds[n] for n in (3, 4, 5)} == {"t 95 % over launches"}
    assert {kinds[n] for n in (6, 7, 8)} == {"signed-rank 95 %"}


def test_one_and_two_launches_have_no_level() -> None:
    single, two = estimate_over_launches([2.0]), estimate_over_launches([2.0, 8.0])
    assert (single.value, single.interval, single.level) == (2.0, None, None)
    assert (two.value, two.level) == (pytest.approx(4.0), None)
    assert two.interval == pytest.approx((2.0, 8.0))


def test_six_launches_have_the_level_that_ranks_have() -> None:
    estimate = estimate_over_launches([1.0, 1.1, 1.3, 1.2, 1.05, 1.15])
    assert estimate.level == pytest.approx(0.96875)
    assert estimate.interval == pytest.approx((1.0, 1.3))


@given(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=12), st.floats(1e-9, 1e9))
def test_a_change_of_unit_changes_nothing_else(medians: list[float], factor: float) -> None:
    plain, scaled = estimate_over_launches(medians), estimate_over_launches(np.array(medians) * factor)
    assert scaled.value == pytest.approx(plain.value * factor, rel=1e-9)
    assert scaled.kind == plain.kind
    if plain.interval is not None and scaled.interval is not None:
        assert scaled.interval == pytest.approx((plain.interval[0] * factor, plain.interval[1] * factor), rel=1e-6)


@given(st.lists(st.floats(0.5, 2.0), min_size=3, max_size=12))
def test_rates_and_times_agree(medians: list[float]) -> None:
    time, rate = estimate_over_launches(medians), estimate_over_launches(1 / np.array(medians))
    assert rate.value == pytest.approx(1 / time.value, rel=1e-9)
    if time.interval is not None and rate.interval is not None:
        assert rate.interval == pytest.approx((1 / time.interval[1], 1 / time.interval[0]), rel=1e-6)


def test_within_one_launch() -> None:
    samples = np.arange(1.0, 1001.0)
    estimate = estimate_within_launch(samples)
    assert estimate.value == 500.5
    assert estimate.kind == "order statistics within one launch"
    # 100 medians 5.5, 15.5, ...; ranks 40 and 61 of them.
    assert estimate.interval == (395.5, 605.5)
    short = estimate_within_launch(samples[:59])
    assert (short.interval, short.level) == (None, None)
    assert "59 samples < 60" in short.kind
    assert estimate_within_launch(samples[:6], lag=1).interval == (1.0, 6.0)


def test_tails_only_where_estimable() -> None:
    few, some, many = (tails(np.arange(1.0, n + 1)) for n in (35, 368, 3688))
    assert (few.p50, few.p90, few.p99, few.p999, few.max, few.min) == (18.0, None, None, None, 35.0, 1.0)
    assert few.reason == "35 samples: p90 needs 36, p99 needs 368, p99.9 needs 3688"
    assert some.p99 == pytest.approx(np.quantile(np.arange(1.0, 369), 0.99))
    assert some.p999 is None
    assert some.reason == "368 samples: p99.9 needs 3688"
    assert many.p999 is not None
    assert many.reason is None


def test_spread_within_a_launch() -> None:
    assert within([3.0, 1.0, 2.0, 9.0, 2.5], 2.5) == pytest.approx(1.4826 * 0.5 / 2.5)
    assert within([3.0], 3.0) is None


Shape = Callable[[Floats], Floats]


def noisy(rng: np.random.Generator, n: int, sd: float = 0.03, correlation: float = 0.4) -> Floats:
    """Log times: first-order autoregressive noise with rare slow spikes."""
    steps = rng.normal(0, sd * np.sqrt(1 - correlation**2), n)
    x = np.empty(n)
    x[0] = rng.normal(0, sd)
    for i in range(1, n):
        x[i] = correlation * x[i - 1] + steps[i]
    spikes = rng.random(n) < 0.005
    x[spikes] += rng.uniform(0.7, 3, spikes.sum())
    return x


def outcomes(shape: Shape, n: int, trials: int = 100) -> tuple[Counter[str | None], Floats]:
    rng = np.random.default_rng(9)
    i = np.arange(n, dtype=float)
    states = [steady_state(np.exp(noisy(rng, n) + shape(i))) for _ in range(trials)]
    return Counter(f.steady_class for f in states), np.quantile([f.cut for f in states], [0.1, 0.5, 0.9])


def test_flat_stays_flat() -> None:
    classes, _ = outcomes(lambda i: 0 * i, 1000)
    assert classes["flat"] >= 97


def test_a_step_is_cut_where_it_is() -> None:
    classes, cut = outcomes(lambda i: np.where(i < 120, np.log(1.15), 0), 1000)
    assert classes["warm-up"] >= 97
    assert 115 <= cut[0] <= cut[2] <= 140


def test_a_small_step_is_found() -> None:
    classes, cut = outcomes(lambda i: np.where(i < 300, np.log(1.03), 0), 1000)
    assert classes["warm-up"] >= 90
    assert 280 <= cut[1] <= 320


def test_decaying_warm_up() -> None:
    classes, cut = outcomes(lambda i: np.log1p(np.exp(-i / 20)), 1000)
    assert classes["warm-up"] >= 97
    assert 36 <= cut[1] <= 110


@pytest.mark.parametrize(
    "shape", [lambda i: np.where(i >= 700, np.log(1.1), 0), lambda i: 0.1 * i / i.size], ids=["late", "drift"]
)
def test_no_steady_state(shape: Shape) -> None:
    classes, _ = outcomes(shape, 1000)
    assert classes["no steady state"] >= 97


def test_early_slowdown() -> None:
    classes, _ = outcomes(lambda i: np.where(i < 200, -np.log(1.1), 0), 1000)
    assert classes["slowdown"] >= 97


@pytest.mark.parametrize("seed", range(5))
def test_partition_is_optimal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = np.concatenate([rng.normal(0, 1, 5), rng.normal(4, 1, 4)])

    def cost(starts: tuple[int, ...]) -> float:
        ends = (*starts[1:], z.size)
        return sum(3.0 + ((z[s:e] - z[s:e].mean()) ** 2).sum() for s, e in zip(starts, ends, strict=True))

    every = [(0, *inner) for r in range(z.size) for inner in itertools.combinations(range(1, z.size), r)]
    assert cost(tuple(partition(z, 3.0))) == pytest.approx(min(map(cost, every)))
