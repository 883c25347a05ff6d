# SPDX-License-Identifier: Apache-2.0
"""Strong and weak scaling from planted times: efficiency round by round, none where ranks share cores; and clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slowpath.core.plan import Placement
from slowpath.core.study_results import CannonGroup, CannonPoint, CannonScaling, Value
from slowpath.experiments.cannon.critical import scaling
from slowpath.experiments.cannon.points import CellGroup, Measured
from slowpath.experiments.cannon.runs import clock_of, over_repetitions
from slowpath.record.events import Repetitions
from slowpath.report.cannon import scaling_answer, scaling_figures
from slowpath.report.figure import Plot, Quantity

ORDERS = (192, 384)
OVERHEAD = {1: 1.0, 2: 1.25, 4: 1.5}  # how much longer than work / ranks
SHARED = "4 ranks of n can run on 2 processors at a time"


def time_s(n: int, ranks: int, number: int) -> float:
    """Of one launch: all numbers of ranks drift alike from round to round, so that ratios within a round stay."""
    return (1 + 0.3 * number) * (1 + 0.001 * (number * ranks % 5)) * OVERHEAD[ranks] * n**3 / ranks * 1e-9


def planted(counts: Sequence[int] = (1, 2, 4), cores: int = 4) -> list[CannonScaling]:
    """Every order with each number of ranks, five rounds; launches of a round have numbers of their own."""
    cells, groups, measured = [], [], {}
    for ranks in counts:
        own, points = {}, []
        for n in ORDERS:
            cell = 10 * ranks + ORDERS.index(n)
            own["sendrecv", n] = SimpleNamespace(cell=cell)
            rounds = {r: (100 * ranks + r, SimpleNamespace(centre_s=time_s(n, ranks, r))) for r in range(5)}
            measured[cell, "multiply_s", "steady"] = rounds
            value = Value(value=time_s(n, ranks, 2), interval=None, interval_kind="t", level=None, launches=5)
            points.append(SimpleNamespace(n=n, cell=cell, multiply_s=value))
        placement = f"bound, {ranks} ranks"
        cells.append(CellGroup("g", {}, None, "default", placement, 1, cast(Any, own)))
        has_cores = ranks <= cores
        variant = SimpleNamespace(variant="sendrecv", points=cast(list[CannonPoint], points))
        groups.append(SimpleNamespace(parameters={}, mpi=None, environment="default", placement=placement, copy=1,
                                      ranks=ranks, variants=[variant], ranks_have_cores=has_cores,
                                      ranks_have_cores_reason=None if has_cores else SHARED))  # fmt: skip
    placements = [Placement(f"bound, {ranks} ranks", of="bound", ranks=ranks) for ranks in counts]
    return scaling(cells, cast(list[CannonGroup], groups), placements, cast(Measured, measured), 0.02)


def test_strong_scaling_is_round_by_round() -> None:
    strong = [one for one in planted() if one.kind == "strong"]
    assert [one.n for one in strong] == list(ORDERS)
    for one in strong:
        for point in one.points:
            assert point.efficiency is not None
            assert point.speed_up is not None
            assert point.efficiency.value == pytest.approx(1 / OVERHEAD[point.ranks], rel=0.004)
            assert point.speed_up.value == pytest.approx(point.ranks / OVERHEAD[point.ranks], rel=0.004)
        ends = one.points[1].efficiency
        assert ends is not None
        assert ends.interval is not None
        assert ends.interval[0] <= ends.value <= ends.interval[1]
        assert math.isclose(*ends.interval, rel_tol=0.02), "drift that all share is no spread"


def test_weak_scaling_compares_equal_blocks_alone() -> None:
    """192 with 1 rank and 384 with 4 have blocks of 192; no order here has a whole block with 2 ranks."""
    (weak,) = (one for one in planted() if one.kind == "weak")
    assert (weak.block, weak.n) == (192, None)
    assert [(point.ranks, point.n) for point in weak.points] == [(1, 192), (4, 384)]
    assert weak.points[1].efficiency is not None
    assert weak.points[1].efficiency.value == pytest.approx(1 / OVERHEAD[4], rel=0.004)


def test_the_answer_is_of_most_ranks_that_have_a_core_each() -> None:
    assert ", 4 ranks: efficiency " in scaling_answer(planted())[0]
    assert ", 2 ranks: efficiency " in scaling_answer(planted(cores=2))[0]
    assert scaling_answer([]) == []


def test_panels_have_named_axes_and_no_efficiency_beyond_the_cores() -> None:
    figures = scaling_figures(planted(cores=2))
    assert [figure.title for figure in figures][:2] == [
        "Strong scaling, n = 192",
        "Strong scaling, n = 192: efficiency",
    ]
    assert all(isinstance(figure, Plot) and figure.x.title == "ranks" for figure in figures)
    times, efficiency = figures[:2]
    assert isinstance(times, Plot)
    assert isinstance(efficiency, Plot)
    assert efficiency.y.title == "efficiency of a rank"
    assert [band.label for band in times.bands] == ["oversubscribed from here"]
    assert efficiency.bands == ()
    assert times.table is not None
    assert [row[1] for row in times.table.rows] == ["1", "2", "4, oversubscribed"]
    last = times.table.rows[2][-1]
    assert isinstance(last, Quantity)
    assert last.text == "–"


def said(clocks: tuple[float | None, ...], source: str | None) -> Repetitions:
    return Repetitions(1, 0, 0, (0,) * len(clocks), clock_hz=clocks, clock_from=source)


def test_clocks_over_ranks_and_repetitions() -> None:
    events = [said((3e9, 2e9), "counted loop"), said((3.1e9, None), "counted loop")]
    found = clock_of(events)
    assert not isinstance(found, str)
    assert (found.median_hz, found.lowest_hz, found.highest_hz, found.readings) == (3e9, 2e9, 3.1e9, 3)
    assert found.source == "counted loop"
    assert over_repetitions(events, 0) == 3e9
    assert over_repetitions(events, 1) == 2e9
