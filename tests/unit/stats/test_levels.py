# SPDX-License-Identifier: Apache-2.0
"""Levels of a series: a planted change is found where it is, and stationary series are split as rarely as is said."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.stats.launches import FALSE_ALARMS, FEWEST, levels

SERIES = 300  # of each kind and length; seeds are fixed


def noise(kind: str, count: int, draw: np.random.Generator) -> np.ndarray:
    """Of standard deviation about 1."""
    plain = draw.standard_normal(count)
    if kind == "outliers":
        return plain + (draw.random(count) < 0.08) * draw.exponential(8.0, count)
    if kind == "skewed":
        return draw.exponential(1.0, count)
    if kind == "long tails":
        return draw.standard_t(3, count)
    memory = {"plain": 0.0, "remembers": 0.5}[kind]
    found = np.empty(count)
    found[0] = plain[0]
    for i in range(1, count):
        found[i] = memory * found[i - 1] + np.sqrt(1 - memory**2) * plain[i]
    return found


@pytest.mark.parametrize("kind", ["plain", "outliers", "skewed", "long tails", "remembers"])
def test_stationary_series_are_split_no_more_often_than_is_said(kind: str) -> None:
    draw = np.random.default_rng(20_261_126)
    split = sum(len(levels(noise(kind, count, draw), 1e-3)) > 1 for count in (12, 30, 60) for _ in range(SERIES // 3))
    # Of 300 series 3 are expected at the stated rate; 8 or more have a probability of 1 %.
    assert split < 8 + 300 * (FALSE_ALARMS - 0.01)


@pytest.mark.parametrize("kind", ["plain", "outliers", "remembers"])
def test_a_change_of_six_standard_deviations_is_found_within_two_points(kind: str) -> None:
    draw = np.random.default_rng(7)
    for at in (20, 30, 45):
        series = noise(kind, 60, draw)
        series[at:] += 8.0
        found = levels(series, 1e-3)
        assert len(found) >= 2
        assert min(abs(level.start - at) for level in found[1:]) <= 2
        assert found[-1].value - found[0].value == pytest.approx(8.0, abs=2.0)


def test_a_slow_stretch_is_found_with_both_its_ends() -> None:
    series = np.random.default_rng(3).standard_normal(60) * 0.1
    series[20:30] += 2.0
    assert [(level.start, level.end) for level in levels(series, 1e-3)] == [(0, 20), (20, 30), (30, 60)]


def test_few_points_and_points_that_are_equal_are_one_level() -> None:
    assert len(levels([0.0] * 5 + [9.0] * (FEWEST - 6), 1e-3)) == 1
    assert len(levels([1.0] * 60, 0.01)) == 1
