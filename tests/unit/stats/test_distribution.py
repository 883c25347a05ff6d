# SPDX-License-Identifier: Apache-2.0
"""The three numbers find what is planted in sequences of samples, and nothing in sequences without it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from slowpath.stats.distribution import distribution_of

Launches = list[NDArray[np.float64]]


def noise(seed: int, launches: int = 3, samples: int = 600, spread: float = 0.05) -> Launches:
    generator = np.random.default_rng(seed)
    return [1e-6 * np.exp(generator.normal(0.0, spread, samples)) for _ in range(launches)]


def test_noise_alone_has_a_mean_at_its_median_and_no_period() -> None:
    distribution = distribution_of(noise(1))
    assert distribution.mean_ratio == pytest.approx(1.0, abs=0.01)
    assert distribution.far_share == 0.0
    assert distribution.period is None


@pytest.mark.parametrize("samples", [40, 200, 1000])
def test_at_most_one_in_a_hundred_sequences_without_a_period_shows_one(samples: int) -> None:
    seen = [distribution_of(noise(seed, samples=samples)).period for seed in range(300)]
    assert sum(period is not None for period in seen) <= 3


@pytest.mark.parametrize(
    ("every", "length", "factor"), [(2, 1, 1.3), (4, 2, 1.5), (7, 1, 2.0), (64, 1, 3.0), (100, 1, 1.3)]
)
def test_every_nth_sample_that_is_slow_gives_the_period(every: int, length: int, factor: float) -> None:
    launches = noise(2)
    for phase, times in enumerate(launches):
        times[(np.arange(times.size) + phase) % every < length] *= factor
    assert distribution_of(launches).period == every


@pytest.mark.parametrize("every", [4, 8, 16])
def test_a_series_that_lacks_a_call_in_its_middle_keeps_its_period(every: int) -> None:
    launches = [np.delete(times, 31) for times in noise(9, samples=64, spread=0.15)]
    for times in launches:
        times[np.delete(np.arange(64) % every == 1, 31)] *= 20.0
    assert distribution_of(launches).period == every


def test_stalls_raise_the_mean_and_stand_out_of_other_samples_that_are_long() -> None:
    launches, generator = noise(11, samples=140, spread=0.15), np.random.default_rng(11)
    for start, times in zip((21, 49, 61), launches, strict=True):
        times[generator.choice(140, 6)] *= 6.0
        times[start::64] *= 300.0
    distribution = distribution_of(launches)
    assert distribution.period == 64
    assert distribution.far_share == pytest.approx(1 / 64, rel=0.4)
    assert distribution.mean_ratio == pytest.approx(1 + 299 / 64 + 6 * 5 / 140, rel=0.2)


def test_drifts_levels_and_random_stalls_have_no_period() -> None:
    generator = np.random.default_rng(3)
    drifting = [times * np.linspace(1.0, 2.0, times.size) for times in noise(4)]
    stepped = [times * np.where(np.arange(times.size) < 200, 1.0, 1.5) for times in noise(5)]
    stalled = [times * np.where(generator.random(times.size) < 0.02, 30.0, 1.0) for times in noise(6)]
    assert [distribution_of(launches).period for launches in (drifting, stepped, stalled)] == [None] * 3


def test_one_disturbed_launch_of_three_decides_nothing() -> None:
    launches = noise(8)
    launches[1][::3] *= 50.0
    distribution = distribution_of(launches)
    assert distribution.far_share == 0.0
    assert distribution.mean_ratio < 1.01


def test_equal_samples_and_single_ones_are_no_error() -> None:
    constant = distribution_of([np.full(100, 2e-6)] * 2)
    assert (constant.mean_ratio, constant.period) == (1.0, None)
    single = distribution_of([[3e-6]])
    assert (single.mean_ratio, single.period) == (1.0, None)


@pytest.mark.parametrize("launches", [[], [[]], [[1e-6, 0.0]]])
def test_what_is_no_time_is_refused(launches: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"launch|samples"):
        distribution_of(launches)


def test_calls_beside_each_part_of_a_series_do_not_hide_what_share_is_slow() -> None:
    launches = noise(12, samples=140, spread=0.15)
    for phase, times in enumerate(launches):
        times[(np.arange(140) + np.arange(140) // 20 + phase) % 8 == 0] *= 90.0  # one call beside each twenty
    assert distribution_of(launches).period == 8
