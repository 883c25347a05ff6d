# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from slowpath.stats.contrast import ContrastEstimate, judge, paired, unpaired, within_launch

JITTER = np.exp(np.array([0.0, 0.01, -0.01, 0.005, -0.005, 0.012, -0.012, 0.001]))
BASE = np.array([1.0, 3.0, 0.5, 2.0, 1.5, 0.8, 4.0, 1.1])


def of_ratio(ratio: float, n: int = 8, effect: float = 0.03) -> ContrastEstimate:
    return paired(BASE[:n], BASE[:n] * ratio * JITTER[:n], effect)


def test_drift_that_both_sides_share_cancels() -> None:
    drift = np.linspace(1.0, 10.0, 8)
    assert paired(BASE * drift, BASE * drift * 1.2 * JITTER, 0.03).interval == pytest.approx(of_ratio(1.2).interval)


def test_a_large_family_makes_it_undecided() -> None:
    estimate = of_ratio(1.2)
    assert judge(estimate, 0.06).word == "undecided"
    assert "contrasts" in judge(estimate, 0.06).reason
    assert judge(estimate, None).word == "undecided"
    assert judge(of_ratio(0.8), None).word == "undecided"  # far from 1 is never "same"
    assert judge(estimate, 0.05).word == "slower"


def test_a_small_but_certain_difference_is_not_slower() -> None:
    estimate = of_ratio(1.02)
    assert estimate.low is not None
    assert estimate.low > 1.0
    assert judge(estimate, estimate.p).word in ("undecided", "same")


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_pairs_are_never_decided(n: int) -> None:
    estimate = of_ratio(5.0, n)
    assert (estimate.level, estimate.p) == (None, None)
    assert judge(estimate, 0.0).word == "undecided"
    assert judge(estimate, None).more_pairs == 8 - n


def test_method_follows_the_number_of_pairs() -> None:
    assert of_ratio(1.2, 2).kind == "range of 2 pairs, no interval"
    assert {of_ratio(1.2, n).kind for n in (3, 5)} == {"t 95 % over pairs"}
    assert {of_ratio(1.2, n).kind for n in (6, 8)} == {"signed-rank 95 %"}


def test_p_is_the_paired_t_test() -> None:
    b = BASE * 1.2 * JITTER
    assert paired(BASE, b, 0.03).p == pytest.approx(reference.ttest_rel(np.log(b), np.log(BASE)).pvalue)


@given(st.lists(st.tuples(st.floats(0.5, 2), st.floats(0.5, 2)), min_size=1, max_size=12))
def test_swapping_the_sides_inverts_the_ratio(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    there, back = paired(a, b, 0.03), paired(b, a, 0.03)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.p == pytest.approx(there.p)
    if there.interval is not None and back.interval is not None:
        assert back.interval == pytest.approx((1 / there.interval[1], 1 / there.interval[0]))
    opposite = {"slower": "faster", "faster": "slower"}
    word = judge(there, there.p).word
    near_limit = any(abs(abs(there.ratio - 1) - limit) < 2e-3 for limit in (0.03, 1 / 0.97 - 1, 1 - 1 / 1.03))
    if word in opposite and not near_limit:
        assert judge(back, back.p).word == opposite[word]


@given(st.floats(1.0, 3.0), st.integers(3, 8))
def test_never_both_beyond_and_same(ratio: float, n: int) -> None:
    estimate = of_ratio(ratio, n)
    if judge(estimate, 0.0).word == "slower":
        inner = estimate.equivalence
        assert inner is not None
        assert not (inner.low > 0.97 and inner.high < 1.03)


def test_within_one_launch_of_a_log() -> None:
    with_overallocation = [0.454265, 0.456158, 0.454067, 0.458347, 0.462559]
    without = [0.000880008, 0.00345239, 0.00360752, 0.00340928, 0.00341379]
    estimate = within_launch(without, with_overallocation, 0.03)
    assert estimate.ratio == pytest.approx(0.456158 / 0.00341379)
    assert estimate.p == pytest.approx(2 / math.comb(10, 5), rel=0.05)
    assert estimate.interval is not None
    assert estimate.interval[0] > 100
    assert estimate.within_launch
    assert "within one launch" in estimate.kind
    assert judge(estimate, estimate.p).word == "slower"


def test_unpaired_is_welch_and_says_so() -> None:
    b = BASE[:5] * 1.5
    estimate = unpaired(BASE, b, 0.03)
    assert estimate.p == pytest.approx(reference.ttest_ind(np.log(b), np.log(BASE), equal_var=False).pvalue)
    assert "separate launches" in estimate.kind
    assert unpaired([1.0], [1.0, 2.0], 0.03).interval is None


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="pairs need one of each"):
        paired([1.0, 2.0], [1.0], 0.03)
    with pytest.raises(ValueError, match="> 0"):
        paired([0.0], [1.0], 0.03)
    with pytest.raises(ValueError, match="minimum effect"):
        judge(dataclasses.replace(of_ratio(1.0), minimum_effect=1.0), 0.5)
