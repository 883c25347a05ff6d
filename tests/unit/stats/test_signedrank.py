# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from slowpath.stats.estimate import cumulative_law, hodges_lehmann, p_value

# Depression scores before and after, Hollander and Wolfe, table 3.1; the example of R's wilcox.test.
BEFORE = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
AFTER = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
DEPRESSION = BEFORE - AFTER

distinct = st.lists(st.integers(-1000, 1000).filter(bool), min_size=1, max_size=20, unique_by=abs)


def test_depression_data() -> None:
    assert p_value(DEPRESSION) == 0.0390625
    estimate = hodges_lehmann(DEPRESSION)
    assert estimate.value == pytest.approx(0.46)
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((0.010, 0.786))
    assert estimate.interval.level == pytest.approx(0.9609375)


def test_interval_is_the_inverted_test() -> None:
    bounds = hodges_lehmann(DEPRESSION).interval
    assert bounds is not None
    for end, outwards in ((bounds.low, -1e-9), (bounds.high, 1e-9)):
        assert p_value(DEPRESSION - end - outwards) <= 0.05 < p_value(DEPRESSION - end + outwards)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_law_by_counting_all_signs(n: int) -> None:
    totals = [
        sum(r for r, s in zip(range(1, n + 1), signs, strict=True) if s)
        for signs in itertools.product((0, 1), repeat=n)
    ]
    expected = np.cumsum(np.bincount(totals, minlength=n * (n + 1) // 2 + 1)) / 2**n
    assert cumulative_law(n) == pytest.approx(expected)


@given(distinct)
def test_p_as_scipy(values: list[int]) -> None:
    assert p_value(values) == pytest.approx(reference.wilcoxon(values, method="exact").pvalue)


@given(st.lists(st.integers(-6, 6), min_size=6, max_size=15))
def test_interval_holds_zero_exactly_when_p_says_so(values: list[int]) -> None:
    bounds = hodges_lehmann(values).interval
    assert bounds is not None
    assert bounds.contains(0.0) == (p_value(values) > 0.05)


@given(st.lists(st.floats(-10, 10), min_size=6, max_size=20), st.floats(-5, 5), st.floats(0.5, 3))
def test_equivariant(values: list[float], move: float, scale: float) -> None:
    array = np.array(values)
    plain, moved = hodges_lehmann(array), hodges_lehmann(move + scale * array)
    assert plain.interval is not None
    assert moved.interval is not None
    assert moved.value == pytest.approx(move + scale * plain.value, abs=1e-9)
    assert moved.interval.low == pytest.approx(move + scale * plain.interval.low, abs=1e-9)
    assert moved.interval.high == pytest.approx(move + scale * plain.interval.high, abs=1e-9)


@given(st.lists(st.floats(-10, 10), min_size=6, max_size=20), st.tuples(st.floats(0.3, 0.96), st.floats(0.3, 0.96)))
def test_monotone_in_level(values: list[float], levels: tuple[float, float]) -> None:
    narrow, wide = hodges_lehmann(values, min(levels)).interval, hodges_lehmann(values, max(levels)).interval
    assert narrow is not None
    assert wide is not None
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert narrow.level >= min(levels)
