# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from slowpath.stats.estimate import interval_ranks, median, minimal_n, quantile_interval, quantiles

MEDIAN_95 = {
    6: (1, 6), 8: (1, 8), 9: (2, 8), 10: (2, 9), 12: (3, 10), 15: (4, 12), 20: (6, 15), 25: (8, 18), 30: (10, 21),
    50: (18, 33), 100: (40, 61), 200: (86, 115), 1000: (469, 532),
}  # fmt: skip


@pytest.mark.parametrize(("n", "ranks"), MEDIAN_95.items())
def test_ranks_of_the_median(n: int, ranks: tuple[int, int]) -> None:
    interval = interval_ranks(n, 0.5, 0.95)
    assert interval is not None
    assert (interval.low, interval.high) == ranks


@pytest.mark.parametrize(("n", "level"), [(6, 0.969), (9, 0.961), (10, 0.979), (20, 0.959), (100, 0.965)])
def test_achieved_level(n: int, level: float) -> None:
    ranks = interval_ranks(n)
    assert ranks is not None
    assert ranks.level == pytest.approx(level, abs=6e-4)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 5, 6, 17, 36, 100, 368, 5000])
def test_against_scipy(n: int, p: float) -> None:
    expected = reference.quantile_test(np.arange(1, n + 1.0), q=0, p=p).confidence_interval(0.95)
    ranks = interval_ranks(n, p)
    if ranks is None:
        assert math.isnan(expected.low) or math.isnan(expected.high)
    else:
        assert (ranks.low, ranks.high) == (expected.low, expected.high)


def test_no_interval_of_five() -> None:
    assert interval_ranks(5) is None
    assert quantile_interval([1, 2, 3, 4, 5]) is None


@pytest.mark.parametrize(("p", "n"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688), (0.9999, 36887)])
def test_minimal_n(p: float, n: int) -> None:
    assert minimal_n(p) == n
    assert interval_ranks(n, p) is not None
    assert interval_ranks(n - 1, p) is None
    assert minimal_n(1 - p) == n


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=60), st.floats(0, 1))
def test_quantiles_as_numpy(values: list[int], p: float) -> None:
    given_values = np.array(values)
    assert quantiles(given_values, [p])[0] == pytest.approx(np.quantile(given_values, p), rel=1e-9, abs=1e-6)
    assert given_values.tolist() == values


@pytest.mark.parametrize("count", [257, 4097])  # of few and of many another way is faster
def test_quantiles_and_median_are_those_of_a_sort(count: int) -> None:
    order = np.random.default_rng(1).permutation(count)
    tied, wide, below_0, minus_0 = order // 7, 2.0 ** (order % 600 - 300), order - 100.0, np.maximum(order - 99.0, -0.0)
    for values in (order * 1e-6, tied, wide, below_0, minus_0, np.full(count, 3.0)):
        ranks = np.arange(0, count, 16)
        assert quantiles(values, (ranks / (count - 1)).tolist()).tolist() == np.sort(values)[ranks].tolist()
        assert all(median(values[cut:]) == np.median(values[cut:]) for cut in range(9))


@given(st.integers(6, 300), st.floats(0.05, 0.95), st.tuples(st.floats(0.5, 0.99), st.floats(0.5, 0.99)))
def test_monotone_in_level(n: int, p: float, levels: tuple[float, float]) -> None:
    narrow, wide = interval_ranks(n, p, min(levels)), interval_ranks(n, p, max(levels))
    if wide is not None:
        assert narrow is not None
        assert wide.low <= narrow.low
        assert narrow.high <= wide.high
        assert wide.level >= max(levels) - 1e-12


@given(st.lists(st.floats(0.1, 100), min_size=6, max_size=40))
def test_equivariant_under_a_monotone_map(values: list[float]) -> None:
    plain, mapped = quantile_interval(values), quantile_interval(np.log(values))
    assert plain is not None
    assert mapped is not None
    assert (math.log(plain.low), math.log(plain.high)) == pytest.approx((mapped.low, mapped.high))
