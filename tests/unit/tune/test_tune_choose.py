# SPDX-License-Identifier: Apache-2.0
"""Planted times of ways: what is tried, what is proven, and when a collective goes back to the library's choice."""

from __future__ import annotations

import pytest

from slowpath.diagnose.tune.choose import Cell, Factor, Trial, confirmed, geometric_mean, picks, proven, with_picks
from slowpath.mpi.tuning import Pick

CELL = Cell("bcast", 2, 1024)


def pick(kind: str = "algorithm", name: str = "ring", length: int = 1024) -> Pick:
    return Pick("bcast", 2, length, kind, name)  # type: ignore[arg-type]


def factor(ratio: float, spread: float, chosen: Pick | None, length: int = 1024) -> Factor:
    cell = Cell("bcast", 2, length)
    return Factor(cell, 1e-6, ratio * 1e-6, ratio, (ratio - spread, ratio + spread), chosen)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([Trial("algorithm", "ring", 0.96)], None),
        ([Trial("algorithm", "ring", 0.80)], ("algorithm", "ring")),
        ([Trial("algorithm", "ring", 0.80), Trial("mockup", "scatter+allgather", 0.79)], ("algorithm", "ring")),
        (
            [Trial("algorithm", "ring", 0.80), Trial("mockup", "scatter+allgather", 0.50)],
            ("mockup", "scatter+allgather"),
        ),
        (
            [Trial("algorithm", "ring", 1.10), Trial("mockup", "scatter+allgather", 0.50)],
            ("mockup", "scatter+allgather"),
        ),
        ([], None),
    ],
)
def test_what_is_tried(others: list[Trial], expected: tuple[str, str] | None) -> None:
    found = picks({CELL: [Trial(None, "", 1.0), *others]})
    assert [(one.kind, one.name) for one in found] == ([] if expected is None else [expected])


def test_nothing_is_tried_where_the_default_was_not_measured() -> None:
    assert picks({CELL: [Trial("algorithm", "ring", 0.1)]}) == []


def test_only_whole_intervals_prove() -> None:
    assert proven([factor(0.5, 0.1, pick())]) == [pick()]
    assert proven([factor(0.9, 0.2, pick())]) == []
    assert proven([factor(0.5, 0.1, None)]) == []


def test_a_cell_that_got_worse_takes_its_collective_back() -> None:
    better, worse = factor(0.5, 0.1, pick()), factor(1.3, 0.1, None, 8)
    assert proven([better, worse]) == []
    assert confirmed([better, worse]) == []
    assert confirmed([better, factor(1.01, 0.005, None, 8)]) == [pick()], "1 % is no reason"
    assert confirmed([better, factor(1.3, 0.5, None, 8)]) == [pick()], "not shown to be worse"


def test_a_mock_up_is_not_blamed_for_the_file() -> None:
    mockup = factor(0.5, 0.1, pick("mockup", "padded"))
    assert proven([mockup, factor(1.3, 0.1, None, 8)]) == [mockup.pick]


def test_the_mean_is_over_factors() -> None:
    assert geometric_mean([factor(0.5, 0.1, None), factor(2.0, 0.1, None)]) == pytest.approx(1.0)
    assert geometric_mean([factor(0.25, 0.1, None), factor(1.0, 0.1, None)]) == pytest.approx(2.0)
    assert geometric_mean([]) is None


def test_factors_get_their_picks() -> None:
    assert with_picks([factor(0.5, 0.1, None)], [pick()])[0].pick == pick()
