# SPDX-License-Identifier: Apache-2.0
"""Cells of the experiment `cannon`: what they cost, and the campaign that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slowpath.core.plan import Plan
from slowpath.experiments.cannon.experiment import CANNON as CANNON_EXPERIMENT
from slowpath.experiments.cannon.experiment import RankGrid, grid_of, intervals
from slowpath.experiments.cannon.runs import CEILING, REFERENCE
from slowpath.plan.campaign import load
from slowpath.plan.cost import estimate, needed_bytes
from slowpath.plan.expand import MpiInUse, expand

CANNON = '[[cells]]\nname = "c"\nexperiment = "cannon"\n[cells.parameters]\n'


@pytest.mark.parametrize(
    ("ranks", "shape", "grid", "steps"),
    [
        (1, "auto", RankGrid(1, 1), 1),
        (2, "auto", RankGrid(1, 2), 2),
        (4, "auto", RankGrid(2, 2), 2),
        (6, "auto", RankGrid(2, 3), 6),
        (7, "auto", RankGrid(1, 7), 7),
        (8, "auto", RankGrid(2, 4), 4),
        (16, "auto", RankGrid(4, 4), 4),
        (12, "ring", RankGrid(1, 12), 12),
    ],
)
def test_grids_are_those_of_the_engine(ranks: int, shape: str, grid: RankGrid, steps: int) -> None:
    assert grid_of(ranks, shape) == grid
    assert grid_of(ranks, shape).steps == steps


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("n = 256", "n = 1024"),
        ("repetitions = 5", "repetitions = 50"),
        ("warmups = 1", "warmups = 9"),
        ("quiet_wait_s = 0", "quiet_wait_s = 1"),
        ("validate = false", "validate = true"),
        ("source = 'in_place'", "source = 'root'"),
    ],
)
def test_cost_follows_the_parameters(plan_of: Callable[..., Plan], less: str, more: str) -> None:
    plans = [plan_of(CANNON + lines) for lines in (less, more)]
    cheap, dear = (CANNON_EXPERIMENT.seconds(plan.cells[0].parameters, 2) for plan in plans)
    assert cheap < dear
    assert CANNON_EXPERIMENT.seconds(plans[1].cells[0].parameters, 4) < dear, "ranks share the work"


def test_space_follows_the_intervals(plan_of: Callable[..., Plan]) -> None:
    few, many = (plan_of(CANNON + f"n = 4096\nrepetitions = 10000\npiece = {piece}") for piece in (2048, 16))
    assert needed_bytes(few) < needed_bytes(many)
    assert intervals(many.cells[0].parameters, 2) == 2 * (12 + 2 * 129) + 12


@pytest.fixture
def campaign(description: dict[str, Any]) -> Plan:
    """The shipped campaign under one library."""
    return expand(load("cannon"), description, [MpiInUse("mpich", "mpich 5", lambda setting: ({"X": "1"}, None))], 1)


def test_the_campaign_takes_about_three_minutes(campaign: Plan) -> None:
    assert 60 < estimate(campaign).wall_s < 300


def test_the_campaign_covers_every_style_and_choice(campaign: Plan, description: dict[str, Any]) -> None:
    cannon = next(e for e in description["experiments"] if e["name"] == "cannon")
    for parameter in cannon["parameters"]:
        if parameter["name"] in ("variant", "window", "skew", "source"):
            assert {cell.parameters[parameter["name"]] for cell in campaign.cells} == set(parameter["choices"])


def test_every_ratio_of_the_report_is_of_one_table(campaign: Plan) -> None:
    """The engine interleaves what differs in `variant` alone, repetitions included: the reference must be among it."""
    for group in ("variants", "large", "windows", "paths"):
        cells = [cell for cell in campaign.cells if cell.group == group]
        for n in {cell.parameters["n"] for cell in cells}:
            assert {REFERENCE, CEILING} <= {c.parameters["variant"] for c in cells if c.parameters["n"] == n}


def test_the_campaign_compares_what_the_page_says(campaign: Plan) -> None:
    by_axis: dict[str, set[tuple[str, str]]] = {}
    for contrast in campaign.contrasts:
        by_axis.setdefault(contrast.axis, set()).add((contrast.a.value, contrast.b.value))
        assert not (contrast.explains and contrast.remedy), "what only explains has nothing to copy"
    assert by_axis["window"] == {("allocate", "create")}
    assert by_axis["skew"] == {("in_place", "moved")}
    assert {("in_place", "root"), ("in_place", "file")} <= by_axis["source"]
    assert {b for a, b in by_axis["variant"] if a == REFERENCE} >= {"shared_direct", "get_from_home", "put_fence"}
    others = {("put_fence", "put_fence_two_windows"), ("isend_test", "isend_test_apart")}
    assert others <= by_axis["variant"]
    assert {a for a, _ in by_axis["variant"] - others} == {REFERENCE, CEILING}
    computed = {(c.a.value, c.b.value) for c in campaign.contrasts if c.metric == "dgemm_s"}
    assert computed == {("loop_O3", kernel) for kernel in ("loop_O0", "loop_O2", "loop_native", "blas")}

    remedies = {c.axis: c.remedy for c in campaign.contrasts if c.remedy}
    assert "MPI_Win_allocate" in remedies["window"]


def test_the_campaign_of_large_matrices_says_what_it_costs(description: dict[str, Any]) -> None:
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))
    plan = expand(load("cannon-large"), description, [mpi], 1)
    assert {cell.parameters["n"] for cell in plan.cells if cell.group == "large"} == {"4096"}
    assert 60 < estimate(plan).wall_s < 600


@pytest.mark.parametrize("ranks", [1, 2, 4, 16])
def test_the_campaign_fits_usual_rank_counts(description: dict[str, Any], ranks: int) -> None:
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))
    assert expand(load("cannon"), description, [mpi], 1, ranks=ranks).cells
