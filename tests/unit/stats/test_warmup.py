# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from slowpath.stats.estimate import Floats
from slowpath.stats.launches import partition, steady_state

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
    found = [steady_state(np.exp(noisy(rng, n) + shape(i))) for _ in range(trials)]
    return Counter(f.steady_class for f in found), np.quantile([f.cut for f in found], [0.1, 0.5, 0.9])


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
