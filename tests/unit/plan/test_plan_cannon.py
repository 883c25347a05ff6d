# SPDX-License-Identifier: Apache-2.0
"""Cells of the experiment `cannon`: what is refused, what they cost, and the campaign that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slowpath.core.errors import UsageError
from slowpath.core.plan import Plan
from slowpath.experiments.cannon.cost import Grid, grid_of, intervals
from slowpath.experiments.cannon.variants import CEILING, LIBRARY, REFERENCE
from slowpath.plan.campaign import load
from slowpath.plan.cost import CostModel, cell_seconds, estimate
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse
from slowpath.plan.space import needed_bytes

DEVICE = "memory = 'device'\nvariant = 'sendrecv'"
CANNON = '[[cells]]\nname = "c"\nexperiment = "cannon"\n[cells.parameters]\n'


@pytest.mark.parametrize(
    ("ranks", "shape", "grid", "steps"),
    [
        (1, "auto", Grid(1, 1), 1),
        (2, "auto", Grid(1, 2), 2),
        (4, "auto", Grid(2, 2), 2),
        (6, "auto", Grid(2, 3), 6),
        (7, "auto", Grid(1, 7), 7),
        (8, "auto", Grid(2, 4), 4),
        (16, "auto", Grid(4, 4), 4),
        (12, "ring", Grid(1, 12), 12),
    ],
)
def test_grids_are_those_of_the_engine(ranks: int, shape: str, grid: Grid, steps: int) -> None:
    assert grid_of(ranks, shape) == grid
    assert grid_of(ranks, shape).steps == steps


@pytest.mark.parametrize(
    ("lines", "ranks", "said"),
    [
        ("n = 128", 9, "n=128 is no multiple of 3, the steps on 3 x 3 ranks; take n=129"),
        ("n = 128", 6, "n=128 is no multiple of 6, the steps on 2 x 3 ranks; take n=126"),
        ("n = 1", 4, "n=1 is no multiple of 2, the steps on 2 x 2 ranks; take n=2"),
        ('n = 128\ngrid = "ring"', 12, "no multiple of 12, the steps on 1 x 12 ranks; take n=132"),
        ('n = 65538\nnumbers = "integer"', 2, "exact up to n=65536, not n=65538; take numbers=real"),
        ('skew = "moved"\nsource = "root"', 2, "skew=moved goes with source=in_place"),
        ('skew = "moved"\nsource = "file"', 2, "skew=moved goes with source=in_place"),
        ('n = 65538\nnumbers = "bfloat16"\nmemory = "device"\nvariant = "sendrecv"', 2, "bfloat16 is exact up to"),
        ('numbers = "bfloat16"', 2, "bfloat16 needs memory=device"),
        ('memory = "device"\nskew = "moved"\nvariant = "sendrecv"', 2, "memory=device goes with skew=in_place"),
        ('memory = "device"\nsource = "root"\nvariant = "sendrecv"', 2, "memory=device goes with skew=in_place"),
        ('memory = "device"\nvariant = "pscw"', 2, "pscw has no form for memory=device; these have: compute_only,"),
        ('variant = "sendrecv_replaced"', 2, "did you mean 'sendrecv_replace'"),
    ],
)
def test_refused_before_anything_is_launched(plan_of: Callable[..., Plan], lines: str, ranks: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_of(CANNON + lines, ranks=ranks)


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        ("n = 129", 9),
        ("n = 65536\nnumbers = 'integer'", 2),
        ("skew = 'moved'", 4),
        ("source = ['root', 'file']", 1),
        ("memory = 'device'\nnumbers = ['real', 'integer', 'bfloat16']\nvariant = ['sendrecv', 'shared_direct']", 4),
    ],
)
def test_taken(plan_of: Callable[..., Plan], lines: str, ranks: int) -> None:
    assert plan_of(CANNON + lines, ranks=ranks).cells


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("n = 256", "n = 1024"),
        ("repetitions = 5", "repetitions = 50"),
        ("warmups = 1", "warmups = 9"),
        ("quiet_wait_s = 0", "quiet_wait_s = 1"),
        ("validate = false", "validate = true"),
        ("source = 'in_place'", "source = 'root'"),
        (f"{DEVICE}\nn = 4096", f"{DEVICE}\nn = 32768"),
        (f"{DEVICE}\nn = 32768\nnumbers = 'bfloat16'", f"{DEVICE}\nn = 32768\nnumbers = 'real'"),
        ("n = 16384\nmemory = 'device'\nvariant = 'sendrecv'", "n = 16384\nvariant = 'sendrecv'"),
    ],
)
def test_cost_follows_the_parameters(plan_of: Callable[..., Plan], less: str, more: str) -> None:
    plans = [plan_of(CANNON + lines) for lines in (less, more)]
    cheap, dear = (cell_seconds(plan.cells[0], CostModel()) for plan in plans)
    assert cheap < dear
    assert cell_seconds(plans[1].cells[0], CostModel(), 4) < dear, "ranks share the work"


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
    assert {a for a, _ in by_axis["variant"]} == {REFERENCE, CEILING, LIBRARY}
    remedies = {c.axis: c.remedy for c in campaign.contrasts if c.remedy}
    assert "MPI_Win_allocate" in remedies["window"]


@pytest.mark.parametrize("ranks", [1, 2, 4, 16])
def test_the_campaign_fits_usual_rank_counts(description: dict[str, Any], ranks: int) -> None:
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))
    assert expand(load("cannon"), description, [mpi], 1, ranks=ranks).cells
