# SPDX-License-Identifier: Apache-2.0
"""Tails, outliers, spread, modes and the first message."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from slowpath.stats.launches import between, first_slow, launch_modes, spread, tails, tukey, wilson, within


def test_tails_only_where_estimable() -> None:
    few, some, many = (tails(np.arange(1.0, n + 1)) for n in (35, 368, 3688))
    assert (few.p50, few.p90, few.p99, few.p999, few.max, few.min) == (18.0, None, None, None, 35.0, 1.0)
    assert few.reason == "35 samples: p90 needs 36, p99 needs 368, p99.9 needs 3688"
    assert some.p99 == pytest.approx(np.quantile(np.arange(1.0, 369), 0.99))
    assert some.p999 is None
    assert some.reason == "368 samples: p99.9 needs 3688"
    assert many.p999 is not None
    assert many.reason is None


def test_outliers_are_counted_by_the_fences() -> None:
    # Quartiles 3 and 7 of 1..9 stay where they are when values are put in the middle: fences at -3, 13 and
    # -9, 19.
    samples = np.array([1.0, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 13.1, 100.0])
    found = tukey(samples)
    first, third = np.quantile(samples, (0.25, 0.75))
    assert found.mild == int(
        ((samples > third + 1.5 * (third - first)) & (samples <= third + 3 * (third - first))).sum()
    )
    assert found.severe == 1
    assert found.severe_time_ratio == pytest.approx(100 / samples.sum())
    assert found.samples == 13


def test_spreads() -> None:
    rng = np.random.default_rng(3)
    launches = [scale * np.exp(rng.normal(0, 0.05, 4000)) for scale in (1.0, 1.1, 0.9, 1.05)]
    found = spread(launches)
    assert found.within_ratio == pytest.approx(0.05, rel=0.05)
    assert found.between_ratio == pytest.approx(np.log([1.0, 1.1, 0.9, 1.05]).std(ddof=1), rel=0.05)
    assert within([1.0]) is None
    assert between([1.0]) is None
    assert spread([]).within_ratio is None


def test_lottery_is_seen_and_described() -> None:
    medians = [1.0, 1.15, 1.01, 0.99, 1.16, 1.005, 0.995, 1.0]
    found = launch_modes(medians)
    assert found is not None
    fast, slow = found
    assert (fast.launches, slow.launches) == (6, 2)
    assert (fast.value, slow.value) == pytest.approx((1.0, 1.155))
    assert slow.share.low < 0.25 < slow.share.high


@pytest.mark.parametrize(("hits", "n"), [(0, 8), (2, 8), (8, 8), (30, 100)])
def test_wilson_as_scipy(hits: int, n: int) -> None:
    found, other = wilson(hits, n), scipy.stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-15)


def test_first_slow_in_three_of_four_launches() -> None:
    rng = np.random.default_rng(1)
    steady = [100 + rng.normal(0, 1, 50) for _ in range(4)]
    assert first_slow([300, 300, 300, 100], steady).slow
    two = first_slow([300, 300, 100, 100], steady)
    assert not two.slow
    assert two.launches_slow == 2
    assert len(two.z) == 4


@pytest.mark.parametrize("size", [1, 2, 5, 40, 401])
def test_sorted_samples_save_time_and_change_no_bit(size: int) -> None:
    random = np.random.default_rng(size)
    for values in (np.exp(random.standard_normal(size)), np.full(size, 3.0), 1.0 + 1e-3 * random.random(size)):
        ordered = np.sort(values)
        assert tails(values) == tails(values, ordered)
        assert tukey(values) == tukey(values, ordered)
        assert within(values) == within(values, ordered)
