# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math

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
    assert p_value(DEPRESSION, "greater") == 0.01953125
    assert p_value(DEPRESSION) == 0.0390625
    found = hodges_lehmann(DEPRESSION)
    assert found.value == pytest.approx(0.46)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.010, 0.786))
    assert found.interval.level == pytest.approx(0.9609375)


def test_interval_is_the_inverted_test() -> None:
    found = hodges_lehmann(DEPRESSION).interval
    assert found is not None
    for end, outwards in ((found.low, -1e-9), (found.high, 1e-9)):
        assert p_value(DEPRESSION - end - outwards) <= 0.05 < p_value(DEPRESSION - end + outwards)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_law_by_counting_all_signs(n: int) -> None:
    totals = [
        sum(r for r, s in zip(range(1, n + 1), signs, strict=True) if s)
        for signs in itertools.product((0, 1), repeat=n)
    ]
    expected = np.cumsum(np.bincount(totals, minlength=n * (n + 1) // 2 + 1)) / 2**n
    assert cumulative_law(n) == pytest.approx(expected)


def test_law_of_sixty_is_complete_and_symmetric() -> None:
    law = cumulative_law(60)
    assert law[-1] == pytest.approx(1.0, abs=1e-12)
    assert law[0] == pytest.approx(2.0**-60, rel=1e-12)
    assert law[914] + law[1830 - 915] == pytest.approx(1.0, abs=1e-12)


@given(distinct)
def test_p_as_scipy(values: list[int]) -> None:
    assert p_value(values) == pytest.approx(reference.wilcoxon(values, method="exact").pvalue)
    assert p_value(values, "less") == pytest.approx(
        reference.wilcoxon(values, method="exact", alternative="less").pvalue
    )


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=15))
def test_ties_never_make_p_smaller(values: list[int]) -> None:
    rng = np.random.default_rng(len(values))
    broken = np.array(values) + rng.uniform(-1e-6, 1e-6, len(values))
    assert p_value(values) >= p_value(broken) - 1e-12


@given(st.lists(st.integers(-6, 6), min_size=6, max_size=15))
def test_interval_holds_zero_exactly_when_p_says_so(values: list[int]) -> None:
    found = hodges_lehmann(values).interval
    assert found is not None
    assert found.contains(0.0) == (p_value(values) > 0.05)


@pytest.mark.parametrize(("n", "smallest"), [(5, 0.0625), (6, 0.03125), (8, 0.0078125), (10, 0.001953125)])
def test_smallest_p(n: int, smallest: float) -> None:
    assert p_value(np.arange(1, n + 1)) == smallest


def test_no_interval_of_five() -> None:
    assert hodges_lehmann([1, 2, 3, 4, 5]).interval is None
    assert hodges_lehmann([1, 2, 3, 4, 5, 6]).interval is not None


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


def test_all_zero_is_no_evidence() -> None:
    assert p_value(np.zeros(8)) == 1.0
    assert math.isclose(hodges_lehmann(np.zeros(8)).value, 0.0)
