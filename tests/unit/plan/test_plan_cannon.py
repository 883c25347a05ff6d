# SPDX-License-Identifier: Apache-2.0
"""Cells of the experiment `cannon`: what they cost, and the campaign that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slowpath.core.plan import Plan
from slowpath.experiments.cannon.experiment import CANNON as CANNON_EXPERIMENT
from slowpath.experiments.cannon.experiment import RankGrid, grid_of
from slowpath.plan.campaign import load
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


@pytest.fixture
def campaign(description: dict[str, Any]) -> Plan:
    """The shipped campaign under one library."""
    return expand(load("cannon"), description, [MpiInUse("mpich", "mpich 5", lambda setting: ({"X": "1"}, None))], 1)


def test_the_campaign_covers_every_style_and_choice(campaign: Plan, description: dict[str, Any]) -> None:
    cannon = next(e for e in description["experiments"] if e["name"] == "cannon")
    for parameter in cannon["parameters"]:
        if parameter["name"] in ("variant", "window", "skew", "source"):
            assert {cell.parameters[parameter["name"]] for cell in campaign.cells} == set(parameter["choices"])
