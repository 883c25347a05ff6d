# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from slowpath.stats.estimate import mean, welch

spread_out = st.lists(st.integers(-1000, 1000), min_size=3, max_size=20, unique=True)


@given(spread_out, st.floats(0.1, 0.99))
def test_p_and_interval_as_scipy(values: list[int], level: float) -> None:
    expected = reference.ttest_1samp(values, 0)
    ends, interval = expected.confidence_interval(level), mean(values).interval(level)
    assert mean(values).p() == pytest.approx(expected.pvalue)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high), abs=1e-9)


@given(spread_out, spread_out)
def test_welch_as_scipy(a: list[int], b: list[int]) -> None:
    expected = reference.ttest_ind(b, a, equal_var=False)
    test = welch(a, b)
    interval = test.interval()
    ends = expected.confidence_interval(0.95)
    assert test.p() == pytest.approx(expected.pvalue)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))
