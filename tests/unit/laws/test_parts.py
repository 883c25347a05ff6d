# SPDX-License-Identifier: Apache-2.0
"""The parts that laws are made with, against independent ways to the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from planting import GIB, KIB, MIB, plant
from scipy import optimize

from slowpath.core.errors import UsageError
from slowpath.stats.laws.choose import is_exact, next_values
from slowpath.stats.laws.fit import NotDetermined, curve, fit, solve, solve_times
from slowpath.stats.laws.known import LAWS, alignment, best_splits, find, line_costs, pages
from slowpath.stats.laws.law import (
    BYTE,
    Bracket,
    Coefficient,
    FittedLaw,
    Per,
    cost_words,
    formula_words,
    make_sweep,
    per_curve,
    per_page,
)


def test_nonnegative_least_squares_against_scipy() -> None:
    random = np.random.default_rng(1)
    clipped = 0
    for _ in range(200):
        points, columns = int(random.integers(5, 12)), int(random.integers(1, 5))
        matrix, target = random.normal(size=(points, columns)), random.normal(size=points)
        weights = random.uniform(0.5, 2.0, points)
        found = solve(matrix, target, weights, np.ones(columns, dtype=bool))
        expected = optimize.nnls(matrix * weights[:, None], target * weights)[0]
        assert found == pytest.approx(expected, abs=1e-9)
        clipped += (expected == 0).any()
    assert clipped > 50


def test_terms_that_may_be_negative_against_bounded_least_squares() -> None:
    random = np.random.default_rng(2)
    for _ in range(100):
        matrix, target = random.normal(size=(9, 4)), random.normal(size=9)
        signs = np.array([True, False, True, False])
        expected = optimize.lsq_linear(matrix, target, (np.where(signs, 0.0, -np.inf), np.inf), method="bvls").x
        assert solve(matrix, target, np.ones(9), signs) == pytest.approx(expected, abs=1e-7)


def test_dependent_columns_have_no_answer() -> None:
    x = np.arange(1.0, 6.0)
    assert solve(np.stack([x, 2 * x], axis=1), x, np.ones(5), np.ones(2, dtype=bool)) is None


def test_errors_are_looked_at_as_ratios() -> None:
    """Half of the points 4 times longer than the other: the constant is their geometric mean."""
    times = np.array([1.0, 4.0] * 5)
    found = solve_times(np.ones((10, 1)), times, np.full(10, 0.02), np.ones(1, dtype=bool))
    assert found is not None
    assert found[0] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize(
    ("first", "length", "page", "expected"),
    [(0, 4096, 4096, 1), (0, 4097, 4096, 2), (4095, 2, 4096, 2), (1, 4095, 4096, 1), (0, 0, 4096, 0), (0, 1, 4096, 1)],
)
def test_pages_that_a_message_touches(first: int, length: int, page: int, expected: int) -> None:
    assert pages(np.array([float(first)]), np.array([float(length)]), page)[0] == expected


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
        found = best_splits(x, y, w)

        def cost(edges: tuple[int, ...], x: np.ndarray = x, y: np.ndarray = y, w: np.ndarray = w) -> float:
            total = 0.0
            for a, b in zip((0, *edges), (*edges, 13), strict=True):
                if b - a < 4:
                    return np.inf
                line = np.stack([np.ones(b - a), x[a:b]], axis=1) * w[a:b, None]
                total += optimize.nnls(line, y[a:b] * w[a:b])[1] ** 2
            return total

        assert len(found) == 2
        for switches, splits in enumerate(found, start=1):
            best = min(combinations(range(1, 13), switches), key=cost)
            assert cost(tuple(splits)) == pytest.approx(cost(best), rel=1e-9)


@pytest.mark.parametrize("lengths", [41, 100, 400])
def test_many_lengths_are_split_as_few_are(monkeypatch: pytest.MonkeyPatch, lengths: int) -> None:
    """Above MOST_PLACES the places are coarse and then moved: as good as all places at once, to the place itself."""
    random = np.random.default_rng(4)
    x = np.cumsum(random.uniform(1, 5, lengths))
    jumps = sum(np.where(np.arange(lengths) >= lengths * at, 0.4, 0.0) for at in (0.23, 0.61))
    y = (1 + x / x[-1] + jumps) * np.exp(random.normal(0, 0.01, lengths))
    w = 1 / (0.01 * y)
    exact = best_splits(x, y, w, most=4)
    monkeypatch.setattr("slowpath.stats.laws.known.MOST_PLACES", 40)
    coarse = best_splits(x, y, w, most=4)
    costs = line_costs(x, y, w**2)

    def cost(splits: list[int]) -> float:
        return sum(float(costs[a, b]) for a, b in pairwise([0, *splits, lengths]))

    assert coarse[1] == exact[1] == [int(np.ceil(lengths * 0.23)), int(np.ceil(lengths * 0.61))]
    assert [len(one) for one in coarse] == [1, 2, 3]
    for one, other in zip(coarse, exact, strict=True):
        assert cost(other) * (1 - 1e-9) <= cost(one) <= cost(other) * 1.1


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("limit", [1, 4096, 8191, 65536, 777_777, 1_048_575])
def test_bisection_finds_a_limit_to_the_byte(limit: int, at_once: int) -> None:
    bracket, steps = Bracket("message_bytes", 1, 1_048_576), 0
    while not is_exact(bracket):
        for value in next_values(bracket, at_once):
            if bracket.above < value < bracket.up_to:
                above, up_to = (value, bracket.up_to) if value <= limit else (bracket.above, value)
                bracket = Bracket(bracket.covariate, above, up_to)
        steps += 1
    assert (bracket.above, bracket.up_to) == (limit, limit + 1)
    assert steps <= {1: 26, 3: 16}[at_once]
    assert next_values(bracket) == ()


def test_a_launch_as_a_whole_is_no_noise_of_its_points() -> None:
    sizes = [float(2**k) for k in range(3, 15)]
    alike = curve(plant(1, {"message_bytes": sizes}, [1e-5] * 12, noise=0.005, between=0.3, wild=0))
    assert (alike.sigma_ratio < 0.02).all()


def test_a_wild_value_of_a_launch_moves_its_fit_little() -> None:
    sizes = [8.0, 64, 512, 4096, float(MIB)]  # the last one alone carries the slope
    sweep = plant(1, {"message_bytes": sizes}, [1e-6 + n / 1e10 for n in sizes], wild=0)
    spoilt = sweep.launch_s.copy()
    spoilt[2, -1] *= 5
    wild = make_sweep({"message_bytes": sizes}, spoilt)
    before, after = (fit(find("bytes"), one).coefficients[1].launch_values[2] for one in (sweep, wild))
    assert after == pytest.approx(before, rel=0.15)


def test_one_launch_gives_coefficients_without_an_interval() -> None:
    sizes = [float(2**k) for k in range(3, 23)]
    sweep = make_sweep({"message_bytes": sizes}, [1e-6 + n / 1e10 for n in sizes])
    constant, transfer = fit(find("bytes"), sweep).coefficients
    assert constant.interval is None
    assert transfer.value == pytest.approx(1e-10)
    assert "one launch" in transfer.kind


def test_a_launch_that_missed_points_still_counts() -> None:
    sizes = [float(2**k) for k in range(3, 23)]
    times = plant(6, {"message_bytes": sizes}, [1e-6 + n / 1e10 for n in sizes]).launch_s.copy()
    times[0, 5:9] = np.nan
    times[1, 1:] = np.nan
    found = fit(find("bytes"), make_sweep({"message_bytes": sizes}, times)).coefficients[1]
    assert len(found.launch_values) == 7
    assert found.value == pytest.approx(1e-10, rel=0.05)


@pytest.mark.parametrize(
    ("covariates", "times", "says"),
    [
        ({"message_bytes": [1.0, 2.0]}, [[1e-6, 0.0]], "not above 0 s"),
        ({"message_bytes": [1.0, 2.0]}, [[1e-6, np.nan]], "no launch measured"),
        ({"message_bytes": [1.0]}, [[1e-6, 2e-6]], "as many finite values of 'message_bytes'"),
        ({}, np.zeros((0, 0)), "measure first"),
    ],
)
def test_what_is_no_sweep_is_refused_in_one_line(covariates: dict, times: list, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_sweep(covariates, times)


def test_laws_without_their_quantity_say_so() -> None:
    sweep = make_sweep({"message_bytes": [8.0, 16, 32, 64]}, [[1e-6, 2e-6, 3e-6, 4e-6]] * 3)
    for law in LAWS:
        if law.name in ("constant", "bytes"):
            continue
        with pytest.raises(NotDetermined, match=f"law '{law.name}'"):
            # Messages within one page: their pages do not differ, and 4 lengths hold no switch.
            fit(law, sweep)
    with pytest.raises(UsageError, match="there is no law 'byte'; there are constant, bytes"):
        find("byte")


def test_formulas_and_costs_scale_by_what_is_counted_not_by_its_words() -> None:
    byte = replace(BYTE, one="Oktett", many="Mo", cost="Mo")
    assert (_term_of(BYTE), _term_of(byte)) == ("t = 1.05 ms x MiB of message", "t = 1.05 ms x Mo")
    page = replace(per_page(4096), one="byte (4096 of them)", many="Seiten", cost="Seite")
    assert (_term_of(page), cost_words(_law_of(page))) == ("t = 1.00 ns x Seiten", "1.00 ns per Seite")
    assert cost_words(_law_of(per_curve("1 - 1 / length"))) == "1.00 ns x 1 - 1 / length"


@pytest.mark.parametrize("name", ["constant at 4 KiB", "granules at most", "anything"])
def test_what_a_coefficient_is_does_not_depend_on_its_name(name: str) -> None:
    assert _term_of(None, name=name) == "t = 1.00 ns"
    assert _term_of(None, name=name, at_bytes=8192) == "t = 1.00 ns at 8 KiB"
    assert _term_of(None, name=name, is_bound=True) == "t = at most 1.00 ns"


def _law_of(per: Per | None, *, name: str = "b", at_bytes: int | None = None, is_bound: bool = False) -> FittedLaw:
    term = Coefficient(name, per, 1e-9, None, "", None, (), at_bytes, is_bound)
    return FittedLaw("bytes", "", (term,), (), 0.0, 0.0, None, None, (), 12, 5)


def _term_of(per: Per | None, **more: Any) -> str:
    return formula_words(_law_of(per, **more))
