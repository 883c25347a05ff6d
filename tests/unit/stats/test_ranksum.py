# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from slowpath.stats.contrast import rank_sum_p as p_value
from slowpath.stats.contrast import rank_sum_shift as shift

# Permeability of the human placenta, Hollander and Wolfe, table 4.1; the example of R's wilcox.test.
TERM = np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
EARLY = np.array([1.15, 0.88, 0.90, 0.74, 1.21])


def test_permeability_data() -> None:
    assert p_value(EARLY, TERM) == pytest.approx(0.2544123, abs=2e-3)
    assert shift(EARLY, TERM).value == pytest.approx(0.305)


@given(st.lists(st.integers(0, 10_000), min_size=8, max_size=24, unique=True), st.data())
def test_p_as_scipy(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(4, len(values) - 4))
    a, b = values[:cut], values[cut:]
    assert p_value(a, b) == pytest.approx(reference.mannwhitneyu(b, a, method="exact").pvalue, abs=2e-2)


@given(st.lists(st.integers(0, 5), min_size=4, max_size=12), st.lists(st.integers(0, 5), min_size=4, max_size=12))
def test_interval_holds_zero_exactly_when_p_says_so(a: list[int], b: list[int]) -> None:
    bounds = shift(a, b).interval
    assert bounds is not None
    assert bounds.contains(0.0) == (p_value(a, b) > 0.05)


@given(st.floats(-3, 3), st.integers(4, 15), st.integers(4, 15))
def test_shift_is_equivariant(move: float, n_a: int, n_b: int) -> None:
    rng = np.random.default_rng(n_a * 100 + n_b)
    a, b = rng.normal(size=n_a), rng.normal(size=n_b)
    plain, moved = shift(a, b), shift(a, b + move)
    assert plain.interval is not None
    assert moved.interval is not None
    assert moved.value == pytest.approx(plain.value + move, abs=1e-9)
    assert moved.interval.high == pytest.approx(plain.interval.high + move, abs=1e-9)
