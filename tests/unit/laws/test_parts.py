# SPDX-License-Identifier: Apache-2.0
"""Parts of laws: least squares, splits, switches, points that are drawn."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from planting import GIB, KIB, MIB, make_sweep, plant
from scipy import optimize

from slowpath.core.errors import UsageError
from slowpath.stats.laws.choose import choose, drawn_points
from slowpath.stats.laws.fit import Fit, curve, fit_on, solve, solve_times
from slowpath.stats.laws.known import (
    BY_BYTE,
    CONSTANT,
    FEWEST_SIZES,
    GRANULES,
    SEGMENTS,
    alignment,
    best_splits,
)
from slowpath.stats.laws.law import Law, Sweep


def fit(law: Law, sweep: Sweep) -> Fit:
    return fit_on(law, sweep, curve(sweep))


def test_nonnegative_least_squares_against_scipy() -> None:
    random = np.random.default_rng(1)
    clipped = 0
    for _ in range(200):
        points, columns = int(random.integers(5, 12)), int(random.integers(1, 5))
        matrix, target = random.normal(size=(points, columns)), random.normal(size=points)
        weights = random.uniform(0.5, 2.0, points)
        solution = solve(matrix, target, weights)
        expected = optimize.nnls(matrix * weights[:, None], target * weights)[0]
        assert solution == pytest.approx(expected, abs=1e-9)
        clipped += (expected == 0).any()
    assert clipped > 50


def test_errors_are_looked_at_as_ratios() -> None:
    """Half of the points 4 times longer than the other: the constant is their geometric mean."""
    times = np.array([1.0, 4.0] * 5)
    solution = solve_times(np.ones((10, 1)), times, np.full(10, 0.02))
    assert solution is not None
    assert solution[0] == pytest.approx(2.0, rel=1e-3)


def test_alignment_of_lengths() -> None:
    lengths = [GIB + 1, GIB + 64 * KIB, GIB + MIB, GIB + 2 * MIB, 3 * 4096, 1, 64 * MIB, GIB]
    expected = [4 * KIB, 64 * KIB, MIB, 2 * MIB, 4 * KIB, 4 * KIB, 64 * MIB, 64 * MIB]
    assert alignment(np.array(lengths, dtype=float)).tolist() == expected


def test_splits_against_all_places_tried_one_by_one() -> None:
    random = np.random.default_rng(3)
    for _ in range(10):
        x = np.cumsum(random.uniform(1, 5, 13))
        y = random.uniform(1, 2, 13)
        w = random.uniform(0.5, 2, 13)
        found_splits = best_splits(x, y, w)

        def cost(edges: tuple[int, ...], x: np.ndarray = x, y: np.ndarray = y, w: np.ndarray = w) -> float:
            total = 0.0
            for a, b in zip((0, *edges), (*edges, 13), strict=True):
                if b - a < 4:
                    return np.inf
                line = np.stack([np.ones(b - a), x[a:b]], axis=1) * w[a:b, None]
                total += optimize.nnls(line, y[a:b] * w[a:b])[1] ** 2
            return total

        assert len(found_splits) == 2
        for switches, splits in enumerate(found_splits, start=1):
            best = min(combinations(range(1, 13), switches), key=cost)
            assert cost(tuple(splits)) == pytest.approx(cost(best), rel=1e-9)


def test_a_wild_value_of_a_launch_moves_its_fit_little() -> None:
    sizes = [8.0, 64, 512, 4096, float(MIB)]  # the last one alone carries the slope
    sweep = plant(1, {"message_bytes": sizes}, [1e-6 + n / 1e10 for n in sizes], wild=0)
    spoilt = sweep.launch_s.copy()
    spoilt[2, -1] *= 5
    wild = make_sweep({"message_bytes": sizes}, spoilt)
    before, after = (fit(BY_BYTE, swept).coefficients[1].launch_values[2] for swept in (sweep, wild))
    assert after == pytest.approx(before, rel=0.15)


@pytest.mark.parametrize(
    ("covariates", "times", "says"),
    [
        ({"message_bytes": [1.0, 2.0]}, [[1e-6, 0.0]], "a time above 0 s"),
        ({"message_bytes": [1.0, 2.0]}, [[1e-6, np.nan]], "a time above 0 s"),
        ({"message_bytes": [1.0]}, [[1e-6, 2e-6]], "a finite value"),
        ({}, np.zeros((0, 0)), "a time above 0 s"),
    ],
)
def test_what_is_no_sweep_is_refused_in_one_line(covariates: dict, times: list, says: str) -> None:
    with pytest.raises((UsageError, ValueError), match=says):
        make_sweep(covariates, times)


LAWS = (CONSTANT, BY_BYTE, SEGMENTS)
OCTAVES = [float(first * 2**power) for power in range(3, 17) for first in (2, 3)]
NEAR = [8000.0, 8112.0, 8128.0, 8256.0, 8448.0, 9216.0]


def jumps(lengths: list[float], seed: int, noise_ratio: float = 0.02) -> Sweep:
    """MPICH 5.0.2 in shared memory: 1.90 us for 8112 bytes, 3.25 us for 8128."""
    x = np.array(sorted(lengths))
    times_s = np.where(x <= 8112, 4e-7 + x * 1.85e-10, 2.7e-6 + x * 6.8e-11)
    random = np.random.default_rng(seed)
    return make_sweep({"message_bytes": x}, times_s * random.lognormal(0, noise_ratio, (6, x.size)))


@pytest.mark.parametrize("seed", range(6))
def test_a_jump_between_near_neighbours_is_the_switch(seed: int) -> None:
    winner = choose(jumps([*OCTAVES, *NEAR], seed), LAWS).winner
    assert winner is not None
    assert winner.name == "segments"
    assert (8112, 8128) in [(bracket.above, bracket.up_to) for bracket in winner.brackets]


@pytest.mark.parametrize("seed", range(4))
def test_no_stretch_costs_less_than_nothing_and_none_is_shorter_than_four_lengths(seed: int) -> None:
    """A cost that grows faster and faster, as where caches end: lines through its end would meet 0 bytes below 0 s."""
    x = np.array(OCTAVES)
    random = np.random.default_rng(seed)
    sweep = make_sweep({"message_bytes": x}, (1e-6 + (x / 3e4) ** 2 * 1e-5) * random.lognormal(0, 0.02, (6, x.size)))
    fits = [fit for fit in choose(sweep, LAWS).fits if fit.name == "segments"]
    assert fits
    for segments in fits:
        assert all(term.value >= 0 for term in segments.coefficients)
        ends = [0.0, *(bracket.up_to for bracket in segments.brackets), np.inf]
        assert all(((a <= x) & (x < b)).sum() >= FEWEST_SIZES for a, b in pairwise(ends))


LENGTHS = [float(2**power) for power in range(10, 18)]


def test_points_carry_their_place_their_interval_and_the_law_s_time() -> None:
    launches = [[shift * (1e-6 + 1e-9 * length) for length in LENGTHS] for shift in (0.99, 1.0, 1.0, 1.01)]
    sweep = make_sweep({"message_bytes": LENGTHS}, launches)
    points = drawn_points(sweep, fit(BY_BYTE, sweep))
    assert [point.place for point in points] == [{"message_bytes": length} for length in LENGTHS]
    for point, length in zip(points, LENGTHS, strict=True):
        assert point.fitted_s == pytest.approx(1e-6 + 1e-9 * length, rel=0.01)
        assert point.interval[0] < point.value_s < point.interval[1]
        assert point.page_bytes is None


def test_of_a_law_by_pages_each_point_has_its_page() -> None:
    mib = 2**20
    lengths = np.array([n * 64 * mib + rest for n in (1, 2, 4) for rest in (0, 1)], dtype=np.float64)
    pages = np.where(lengths % mib > 0, np.ceil(lengths / 4096), 0)
    sweep = make_sweep({"allocation_bytes": lengths}, [1e-3 + 25e-9 * pages] * 3)
    points = drawn_points(sweep, fit(GRANULES, sweep))
    assert [point.page_bytes for point in points] == [None, 4096] * 3
