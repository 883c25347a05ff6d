# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from slowpath.stats.contrast import cumulative_law
from slowpath.stats.contrast import rank_sum_p as p_value
from slowpath.stats.contrast import rank_sum_shift as shift

# Permeability of the human placenta, Hollander and Wolfe, table 4.1; the example of R's wilcox.test.
TERM = np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
EARLY = np.array([1.15, 0.88, 0.90, 0.74, 1.21])


def test_permeability_data() -> None:
    assert p_value(EARLY, TERM, "greater") == pytest.approx(0.1272061, abs=5e-8)
    assert shift(EARLY, TERM).value == pytest.approx(0.305)


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (2, 3), (4, 4), (1, 6)])
def test_law_by_counting_all_orders(n_a: int, n_b: int) -> None:
    total = n_a + n_b
    us = []
    for chosen in itertools.combinations(range(total), n_b):
        others = [r for r in range(total) if r not in chosen]
        us.append(sum(b > a for b in chosen for a in others))
    expected = np.cumsum(np.bincount(us, minlength=n_a * n_b + 1)) / len(us)
    assert cumulative_law(n_a, n_b) == pytest.approx(expected)


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=24, unique=True), st.data())
def test_p_as_scipy(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    a, b = values[:cut], values[cut:]
    assert p_value(a, b) == pytest.approx(reference.mannwhitneyu(b, a, method="exact").pvalue)
    assert p_value(a, b, "greater") == pytest.approx(
        reference.mannwhitneyu(b, a, method="exact", alternative="greater").pvalue
    )


@given(st.lists(st.integers(0, 5), min_size=4, max_size=12), st.lists(st.integers(0, 5), min_size=4, max_size=12))
def test_interval_holds_zero_exactly_when_p_says_so(a: list[int], b: list[int]) -> None:
    found = shift(a, b).interval
    assert found is not None
    assert found.contains(0.0) == (p_value(a, b) > 0.05)


@pytest.mark.parametrize("move", [0.1, 0.35])
def test_large_samples_agree_with_the_exact_law(move: float) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 1, 100), rng.normal(move, 1, 100)
    exact_p, exact = p_value(a, b), shift(a, b)
    assert exact.exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slowpath.stats.contrast.EXACT_PAIRS", 10)
        patch.setattr("slowpath.stats.contrast._MATERIALISED_PAIRS", 10)
        near_p, near = p_value(a, b), shift(a, b)
    assert not near.exact
    assert near_p == pytest.approx(exact_p, abs=1e-5)
    assert near.value == pytest.approx(exact.value, abs=1e-9)
    assert exact.interval is not None
    assert near.interval is not None
    assert (near.interval.low, near.interval.high) == pytest.approx((exact.interval.low, exact.interval.high), abs=1e-9)


@given(st.floats(-3, 3), st.integers(4, 15), st.integers(4, 15))
def test_shift_is_equivariant(move: float, n_a: int, n_b: int) -> None:
    rng = np.random.default_rng(n_a * 100 + n_b)
    a, b = rng.normal(size=n_a), rng.normal(size=n_b)
    plain, moved = shift(a, b), shift(a, b + move)
    assert plain.interval is not None
    assert moved.interval is not None
    assert moved.value == pytest.approx(plain.value + move, abs=1e-9)
    assert moved.interval.high == pytest.approx(plain.interval.high + move, abs=1e-9)
