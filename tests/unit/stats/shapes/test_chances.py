# SPDX-License-Identifier: Apache-2.0
"""Chances against scipy.stats, and stalls against counts by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from slowpath.stats.shapes import stalled, stalls_of, sum_of_ranks, together


def test_chances_are_those_of_scipy() -> None:
    p_values = [0.01, 0.2, 0.7, 1e-9]
    assert together(p_values) == pytest.approx(stats.combine_pvalues(p_values).pvalue)


@pytest.mark.parametrize(("members", "n"), [(2, 9), (4, 12), (5, 14), (7, 14)])
def test_a_sum_of_ranks_is_never_less_likely_than_all_draws_say(members: int, n: int) -> None:
    """Against every draw: where the bound is below one half, within a fifth of a normal law's own error at most."""
    sums = np.array([sum(draw) for draw in combinations(range(1, n + 1), members)])
    middle = members * (n + 1) / 2
    for distance in np.unique(np.abs(sums - middle)):
        true = float((np.abs(sums - middle) >= distance).mean())
        bound = float(sum_of_ranks(np.array([middle + distance]), np.array([members]), n)[0])
        assert bound >= 0.55 * true, (distance, bound, true)


def test_stalls_are_counted_above_twice_the_median() -> None:
    times = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 5.0, 9.0])
    one = stalled(times)
    assert stalls_of(times).tolist() == [False] * 6 + [True] * 2
    assert (one.messages, one.stalls, one.median_s, one.length_s) == (8, 2, 1.0, 6.0)
    assert one.lost_ratio == pytest.approx(12 / 21)
    assert one.mean_ratio == pytest.approx(21 / 8)
    assert stalled(np.ones(5)).lost_ratio == 0.0
