# SPDX-License-Identifier: Apache-2.0
"""Cells of the experiment `put`: what they cost, and the campaign that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slowpath.core.errors import UsageError
from slowpath.core.plan import Plan
from slowpath.experiments.put import PUT as PUT_EXPERIMENT
from slowpath.plan.campaign import load, shipped
from slowpath.plan.cost import estimate
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


def test_a_contrast_may_explain_instead_of_accuse(plan_of: Callable[..., Plan]) -> None:
    lines = 'design = ["mpi", "store"]\n[[contrast]]\nname = "x"\nquestion = "?"\ncells = "c"\naxis = "design"\n'
    lines += 'a = "mpi"\nb = "store"\nmetric = "time_per_put_s"\n'
    assert [plan_of(PUT + lines + more).contrasts[0].explains for more in ("", "explains = true")] == [False, True]
    with pytest.raises(UsageError, match="is not a time; a contrast compares times: time_per_put_s"):
        plan_of(PUT + lines.replace("time_per_put_s", "instructions_per_put"))


@pytest.fixture
def overhead(description: dict[str, Any]) -> Plan:
    """The shipped campaign under three libraries."""
    campaign = load("put-overhead")
    return expand(campaign, description, in_use(*(campaign.mpi or ())), seed=1)


def test_the_campaign_takes_about_three_minutes(overhead: Plan) -> None:
    cost = estimate(overhead)
    assert cost.launches == overhead.rounds * 3, "one launch a library and round: all ratios are within a launch"
    assert 60 < cost.wall_s < 200


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


def test_the_campaign_runs_under_one_mpi_too(description: dict[str, Any]) -> None:
    plan = expand(load("put-overhead"), description, in_use("unknown"), seed=1)
    assert "mpi" not in {contrast.axis for contrast in plan.contrasts}
    assert {cell.mpi for cell in plan.cells} == {"unknown"}


def test_a_limit_may_be_given_with_its_unit(plan_of: Callable[..., Plan]) -> None:
    with pytest.raises(UsageError, match="'2TiB' is too large; message_bytes ends at 1TiB"):
        plan_of(PUT + 'message_bytes = "2TiB"\ndatatype = "large_count"')


def test_what_is_shared_among_more_puts_is_no_slow_path() -> None:
    """A burst of one put was SLOW, 28.8x: it pays alone for a synchronisation that others share among a thousand."""
    along = [one for name in shipped() for one in load(name).contrasts if one.axis == "puts"]
    assert along
    assert all(one.explains for one in along)
