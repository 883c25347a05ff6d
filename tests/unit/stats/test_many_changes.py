# SPDX-License-Identifier: Apache-2.0
"""Screening of many changes: planted laws are found, clean draws show nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from slowpath.stats.many_changes import HALF, Suspect, Which, mixes, slower_alone, suspects

CHANGES, CELLS, CONTROLS = 45, 5, 8
# Most real tables have some changes that slow everything, or a part, down.
SLOW: Mapping[tuple[int, int], float] = {(20, 0): 3.0, (21, 1): 10.0, (22, 3): 2.0}


def screened(
    seed: int, planted: Mapping[tuple[int, int], float], spread: float, disturbed: float = 0.0
) -> list[Suspect]:
    """What a whole screening shows.

    Args: planted: (change, cell) -> time with over without.  spread: of logs.  disturbed: share of times that something
          else made longer, by e on average.
    """
    generator = np.random.default_rng(seed)

    def logs(on: Which) -> np.ndarray:
        found = generator.normal(0.0, spread, (len(on), CELLS))
        for (change, cell), ratio in planted.items():
            found[:, cell] += on[:, change] * math.log(ratio)
        return found + (generator.random(found.shape) < disturbed) * generator.exponential(1.0, found.shape)

    each = np.eye(CHANGES, dtype=np.bool_)
    alone = np.vstack([np.zeros((CONTROLS, CHANGES), dtype=np.bool_), each])
    seen = logs(alone)
    again = np.vstack([np.zeros((1, CHANGES), dtype=np.bool_), each[slower_alone(alone, seen)]])
    alone, seen = np.vstack([alone, again]), np.vstack([seen, logs(again)])
    rest = [change for change in range(CHANGES) if change not in slower_alone(alone, seen)]
    mixed = np.zeros((2 * HALF, CHANGES), dtype=np.bool_)
    mixed[:, rest] = mixes(len(rest), seed)
    return suspects(np.vstack([alone, mixed]), np.vstack([seen, logs(mixed)]))


def test_20_of_20_planted_changes_are_found() -> None:
    for seed in range(20):
        change, cell = seed % 18, seed % CELLS
        found = screened(seed, {(change, cell): 1 / 1.5, **SLOW}, 0.05)
        assert [one.change for one in found] == [change]
        assert found[0].cells == (cell,)
        assert found[0].ratios[0] == pytest.approx(1.5, rel=0.1)


@pytest.mark.needs("minutes")
def test_100_clean_draws_show_nothing() -> None:
    assert [seed for seed in range(100) if screened(1000 + seed, SLOW, 0.05)] == []


def test_a_change_that_halves_a_time_is_found_on_a_disturbed_machine() -> None:
    found = [screened(seed, {(seed % 18, 2): 0.5, **SLOW}, 0.05, disturbed=0.05) for seed in range(20)]
    assert sum(seed % 18 in [one.change for one in some] for seed, some in enumerate(found)) >= 17


def test_changes_of_some_percent_are_no_suspects() -> None:
    assert screened(7, {(3, 1): 1 / 1.05}, 0.002) == []


def test_a_change_that_slows_one_cell_down_is_in_no_mix() -> None:
    on = np.vstack([np.zeros((2, 2), dtype=np.bool_), np.eye(2, dtype=np.bool_)])
    logs = np.zeros((4, 2))
    logs[3, 1] = math.log(1.4)
    assert slower_alone(on, logs) == [1]


def test_one_disturbed_launch_of_two_makes_no_change_slower() -> None:
    on = np.array([[False], [True], [True]])
    assert slower_alone(on, np.array([[0.0], [1.0], [0.01]])) == []


def test_what_was_not_measured_is_not_counted() -> None:
    on = np.array([[False], [True], [True]])
    assert slower_alone(on, np.array([[0.0], [math.nan], [1.0]])) == [0]
    assert suspects(on, np.full((3, 1), math.nan)) == []


@pytest.mark.parametrize("changes", [1, HALF, HALF + 1, 40])
def test_each_change_is_on_in_half_of_the_mixes(changes: int) -> None:
    on = mixes(changes, 1)
    assert on.shape == (2 * HALF, changes)
    assert set(on.sum(axis=0)) == {HALF}
    # A mix and its complement: what two changes do together is the same in both.
    assert np.array_equal(on[:HALF], ~on[HALF:])


def test_as_many_changes_as_mixes_are_orthogonal() -> None:
    levels = np.where(mixes(HALF, 1), 1, -1)
    assert np.array_equal(levels.T @ levels, 2 * HALF * np.eye(HALF, dtype=np.int64))


def test_more_changes_are_never_the_same() -> None:
    levels = np.where(mixes(40, 1), 1, -1)
    assert np.abs(levels.T @ levels - 2 * HALF * np.eye(40)).max() < 2 * HALF
