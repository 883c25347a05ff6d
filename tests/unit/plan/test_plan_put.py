# SPDX-License-Identifier: Apache-2.0
"""Cells of the experiment `put`: what they cost, and the campaign that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slowpath.core.plan import Plan
from slowpath.experiments.put import PUT as PUT_EXPERIMENT
from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand
from slowpath.slowpaths.advice import advice_text

PUT = '[[cells]]\nname = "c"\nexperiment = "put"\n[cells.parameters]\n'


def in_use(*names: str) -> list[MpiInUse]:
    return [MpiInUse(name, f"{name} 1", lambda setting: ({}, None)) for name in names]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("instructions = 0", "instructions = 16"),
        ("time_limit_s = 0.01", "time_limit_s = 0.1\nsamples = 100000"),
        ("instructions = 4", 'instructions = 4\ndatatype = "vector"'),
        ('design = "simple"', 'design = "mpi"'),
        ("warmup_s = 0.01", "warmup_s = 0.1"),
        ("puts = 1000\ninstructions = 0", 'puts = 100000\ninstructions = 0\nwindow = "create"'),
    ],
)
def test_cost_follows_the_parameters(plan_of: Callable[..., Plan], less: str, more: str) -> None:
    seconds = [PUT_EXPERIMENT.seconds(plan_of(PUT + lines).cells[0].parameters, 2) for lines in (less, more)]
    assert seconds[0] < seconds[1]


@pytest.fixture
def overhead(description: dict[str, Any]) -> Plan:
    """The shipped campaign under three libraries."""
    campaign = load("put-overhead")
    return expand(campaign, description, in_use(*(campaign.mpi or ())), seed=1)


def test_the_campaign_asks_for_what_helps(overhead: Plan) -> None:
    remedies = {contrast.axis: contrast.remedy or "" for contrast in overhead.contrasts if contrast.remedy}
    assert {"window", "window_info", "synchronise", "datatype", "operation"} <= set(remedies)
    of = {c.a.value + " " + c.b.value: c.remedy for c in overhead.contrasts if c.axis in ("window", "window_info")}
    assert of["allocate create"] == "MPI_Win_allocate"
    assert "perf_preference" in advice_text(of["latency default"] or "")
    for contrast in overhead.contrasts:
        assert not (contrast.explains and contrast.remedy), "what only explains has nothing to copy"
        assert contrast.axis not in ("design", "call", "checks") or contrast.explains


def test_the_campaign_covers_every_design_and_choice(overhead: Plan, description: dict[str, Any]) -> None:
    put = next(e for e in description["experiments"] if e["name"] == "put")
    for parameter in put["parameters"]:
        if parameter["name"] in ("design", "call", "operation", "window", "synchronise", "datatype", "order"):
            assert {cell.parameters[parameter["name"]] for cell in overhead.cells} == set(parameter["choices"])
