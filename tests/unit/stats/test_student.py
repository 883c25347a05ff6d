# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from slowpath.stats.estimate import mean, welch

T_975 = {3: 4.30265, 5: 2.77645, 6: 2.57058, 10: 2.26216, 20: 2.09302}
spread_out = st.lists(st.integers(-1000, 1000), min_size=3, max_size=20, unique=True)


@pytest.mark.parametrize(("n", "quantile"), T_975.items())
def test_half_width_is_the_tabulated_quantile(n: int, quantile: float) -> None:
    values = np.arange(n, dtype=float)
    interval = mean(values).interval()
    assert interval is not None
    standard_error = values.std(ddof=1) / math.sqrt(n)
    assert (interval.high - interval.low) / 2 / standard_error == pytest.approx(quantile, abs=5e-6)


@given(spread_out)
def test_p_as_scipy(values: list[int]) -> None:
    assert mean(values).p() == pytest.approx(reference.ttest_1samp(values, 0).pvalue)


@given(spread_out, spread_out)
def test_welch_as_scipy(a: list[int], b: list[int]) -> None:
    expected = reference.ttest_ind(b, a, equal_var=False)
    test = welch(a, b)
    interval = test.interval()
    ends = expected.confidence_interval(0.95)
    assert test.p() == pytest.approx(expected.pvalue)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))


@given(spread_out, st.tuples(st.floats(0.1, 0.99), st.floats(0.1, 0.99)))
def test_monotone_in_level(values: list[int], levels: tuple[float, float]) -> None:
    narrow, wide = mean(values).interval(min(levels)), mean(values).interval(max(levels))
    assert narrow is not None
    assert wide is not None
    assert wide.low <= narrow.low <= narrow.high <= wide.high
