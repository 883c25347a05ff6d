# SPDX-License-Identifier: Apache-2.0
"""Changes of level in series of runs: how often they are found, and how often they are not there."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.compare.history import FEWEST_POINTS, find_changes

SD = 0.01
SE = 0.007  # 8 launches with 2 % between them
TRIALS = 300


def series(rng: np.random.Generator, n: int, at: int | None = None, factor: float = 1.0) -> list[float]:
    made = np.exp(rng.normal(0, SD, n))
    if at is not None:
        made[at:] *= factor
    return [float(v) for v in made]


@pytest.mark.parametrize("n", [FEWEST_POINTS, 8, 12, 20, 60])
@pytest.mark.parametrize("sd", [SD, 0.05])  # with the second, runs differ by much more than their own errors tell
def test_flat_series_seldom_change(n: int, sd: float) -> None:
    rng = np.random.default_rng(n)
    made = [[float(v) for v in np.exp(rng.normal(0, sd, n))] for _ in range(1000)]
    assert sum(bool(find_changes(values, [SE] * n, 0.03).changes) for values in made) <= 25


@pytest.mark.parametrize(("n", "after", "factor"), [(12, 4, 1.1), (20, 5, 0.9), (20, 2, 1.15), (60, 10, 1.08)])
def test_a_change_is_found_where_it_is(n: int, after: int, factor: float) -> None:
    rng = np.random.default_rng(1)
    right = 0
    for _ in range(TRIALS):
        found = find_changes(series(rng, n, n - after, factor), [SE] * n, 0.03).changes
        right += len(found) == 1 and found[0].at == n - after and found[0].state == "change"
    assert right >= 0.9 * TRIALS


def test_the_last_run_alone_is_a_candidate() -> None:
    found = find_changes(series(np.random.default_rng(1), 20, 19, 1.3), [SE] * 20, 0.03)
    assert [(one.at, one.state) for one in found.changes] == [(19, "candidate")]
    assert found.changes[0].ratio == pytest.approx(1.3, rel=0.05)


def test_a_lone_bad_run_is_an_outlier_and_no_change() -> None:
    values = series(np.random.default_rng(1), 20)
    values[9] *= 1.5
    found = find_changes(values, [SE] * 20, 0.03)
    assert found.changes == ()
    assert found.outliers == (9,)


def test_a_shift_below_the_minimum_effect_does_not_count() -> None:
    values = [1.0 + 1e-4 * (i % 3) for i in range(20)] + [1.02 + 1e-4 * (i % 3) for i in range(20)]
    assert find_changes(values, [None] * 40, 0.03).changes == ()
    assert len(find_changes(values, [None] * 40, 0.01).changes) == 1


def test_a_spread_between_runs_below_their_own_error_is_not_believed() -> None:
    values = [1.0] * 10 + [1.04] * 10
    assert len(find_changes(values, [0.001] * 20, 0.03).changes) == 1
    assert find_changes(values, [0.2] * 20, 0.03).changes == ()


def test_few_runs_are_not_judged() -> None:
    found = find_changes([1.0, 2.0], [None, None], 0.03)
    assert found.reason == f"2 runs; distinguishing a change from noise needs {FEWEST_POINTS}"


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="standard errors"):
        find_changes([1.0], [], 0.03)
    with pytest.raises(ValueError, match="> 0"):
        find_changes([1.0] * 9 + [0.0], [None] * 10, 0.03)
