# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.stats.estimate import estimate_over_launches, estimate_within_launch


def test_the_method_follows_the_number_of_launches() -> None:
    medians = np.array([1.0, 1.1, 1.3, 1.2, 1.05, 1.15, 1.25, 1.01])
    kinds = {n: estimate_over_launches(medians[:n]).kind for n in range(1, 9)}
    assert kinds[1] == "one launch, no interval over launches"
    assert kinds[2] == "range of 2 launches, no interval"
    assert {kinds[n] for n in (3, 4, 5)} == {"t 95 % on log launch medians"}
    assert {kinds[n] for n in (6, 7, 8)} == {"signed-rank 95 %"}


def test_one_and_two_launches_have_no_level() -> None:
    one, two = estimate_over_launches([2.0]), estimate_over_launches([2.0, 8.0])
    assert (one.value, one.interval, one.level) == (2.0, None, None)
    assert (two.value, two.level) == (pytest.approx(4.0), None)
    assert two.interval == (2.0, 8.0)


def test_six_launches_keep_the_t_interval_too() -> None:
    found = estimate_over_launches([1.0, 1.1, 1.3, 1.2, 1.05, 1.15])
    assert found.level == pytest.approx(0.96875)
    assert found.interval == pytest.approx((1.0, 1.3))
    assert found.t is not None
    assert found.t.low < found.value < found.t.high


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
    found = estimate_within_launch(samples)
    assert found.value == 500.5
    assert found.kind == "order statistics within one launch"
    # 100 medians 5.5, 15.5, ...; ranks 40 and 61 of them.
    assert found.interval == (395.5, 605.5)
    short = estimate_within_launch(samples[:59])
    assert (short.interval, short.level) == (None, None)
    assert "59 samples < 60" in short.kind
    assert estimate_within_launch(samples[:6], lag=1).interval == (1.0, 6.0)
