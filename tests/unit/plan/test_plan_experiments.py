# SPDX-License-Identifier: Apache-2.0
"""p2p: messages in blocks, and who receives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slowpath.core.plan import Plan
from slowpath.experiments.cannon.experiment import CANNON as CANNON_EXPERIMENT
from slowpath.experiments.cannon.experiment import RankGrid, grid_of
from slowpath.experiments.messages import blocks_of, extent_bytes, receiver_of, with_blocks
from slowpath.experiments.put import PUT as PUT_EXPERIMENT
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand
from slowpath.slowpaths.registry import remedy_text

DEFAULT = {
    "pattern": "one_way",
    "message_bytes": "1024",
    "memory": "host",
    "pages": "default",
    "buffer_bytes": "message",
    "overalloc_bytes": "0",
    "offset_bytes": "0",
    "synchronise": "outside",
    "in_flight": "4",
    "pairs": "1",
}


def cell(**changed: str) -> dict[str, str]:
    return {**DEFAULT, **changed}


def test_blocks_and_gaps_make_the_extent() -> None:
    by_length, by_number = cell(datatype="vector", block_bytes="64"), cell(datatype="indexed", blocks="16")
    for parameters in (by_length, by_number):
        assert blocks_of(parameters) == 16
        assert extent_bytes(parameters, 0) == extent_bytes(parameters, 1) == 16 * 64 + 15 * 64
    assert extent_bytes(cell(block_bytes="64"), 0) == 1024, "a message in one piece has no blocks"
    assert extent_bytes(cell(datatype="vector", blocks="1"), 0) == 1024
    assert extent_bytes(cell(datatype="vector", block_bytes="64", message_bytes="0"), 0) == 0


def test_results_say_blocks_whichever_was_given() -> None:
    said = with_blocks(cell(datatype="vector", block_bytes="64", blocks="1"))
    assert (said["blocks"], said["block_bytes"]) == ("16", "auto")
    assert blocks_of(said) == 16
    untouched = cell(datatype="vector", blocks="16", block_bytes="auto")
    assert with_blocks(untouched) == untouched


def test_who_receives() -> None:
    assert receiver_of(cell()) is None
    assert receiver_of(cell(peer="1")) == 1
    assert receiver_of(cell(peer="1", pattern="windowed")) is None


# Cells of the experiment `put`: what they cost, and the campaign that is made of them.


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
    assert {"window", "window_info", "synchronise"} <= set(remedies)
    of = {c.a.value + " " + c.b.value: c.remedy for c in overhead.contrasts if c.axis in ("window", "window_info")}
    assert of["allocate create"] == "MPI_Win_allocate"
    assert "perf_preference" in remedy_text(of["latency default"] or "")
    for contrast in overhead.contrasts:
        assert not (contrast.explains and contrast.remedy), "what only explains has nothing to copy"
        assert contrast.axis not in ("design", "call", "checks") or contrast.explains


def test_the_campaign_covers_every_design_and_choice(overhead: Plan, description: dict[str, Any]) -> None:
    put = next(e for e in description["experiments"] if e["name"] == "put")
    for parameter in put["parameters"]:
        if parameter["name"] in ("design", "call", "operation", "window", "synchronise", "datatype", "order"):
            assert {cell.parameters[parameter["name"]] for cell in overhead.cells} == set(parameter["choices"])


# Cells of the experiment `cannon`: what they cost, and the campaign that is made of them.


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
def test_cost_follows_the_parameters_of_plan_cannon(plan_of: Callable[..., Plan], less: str, more: str) -> None:
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


# Campaigns that put libraries into states of GPU support: what is measured, what excludes what, what is skipped.


CRAY, MPICH = ("craympich", "8.1.29"), ("mpich", "5.0.2")


def planned(name: str, description: dict[str, Any], library: tuple[str, str], gpus: bool) -> Plan:
    mpi = MpiInUse(library[0], " ".join(library), resolver(*library, gpus=gpus))
    return expand(load(name), description, [mpi], seed=1)


@pytest.mark.parametrize("library", [CRAY, MPICH])
def test_gpu_support_is_measured_where_there_is_a_driver(description: dict[str, Any], library: tuple[str, str]) -> None:
    plan = planned("gpu-support", description, library, gpus=True)
    assert [cell.skip for cell in plan.cells if cell.skip] == []
    variables = {environment.name: environment.variables for environment in plan.environments}
    assert variables["default"] == {}
    off, on = variables["GPU support off"], variables["GPU support on"]
    assert (off.keys(), set(off.values()), set(on.values())) == (on.keys(), {"0"}, {"1"})
    assert all("device" not in cell.parameters.get("memory", "host") for cell in plan.cells)
    grids = {cell.parameters["communicator"] for cell in plan.cells if cell.experiment == "coll"}
    assert grids == {"halves", "strided"}  # rows and columns


def test_pinned_host_has_a_law_of_its_own_and_its_states(description: dict[str, Any]) -> None:
    plan = planned("pinned-host", description, CRAY, gpus=True)
    memory = [cell for cell in plan.cells if cell.group == "memory"]
    lengths = {int(cell.parameters["message_bytes"]) for cell in memory}
    assert (min(lengths), max(lengths), len(lengths)) == (8 * 1024, 128 * 1024**2, 8)
    assert {cell.environment for cell in memory} == {
        "default", "CMA", "XPMEM", "no single copy", "network path", "GPU support off"
    }  # fmt: skip
    variables = {environment.name: environment.variables for environment in plan.environments}
    # GPU support excludes XPMEM, and without GPU support no message comes from a GPU's memory.
    assert variables["XPMEM"] == {"MPICH_SMP_SINGLE_COPY_MODE": "XPMEM", "MPICH_GPU_SUPPORT_ENABLED": "0"}
    without = {name for name, value in variables.items() if value.get("MPICH_GPU_SUPPORT_ENABLED") == "0"}
    assert without == {"XPMEM", "GPU support off"}
    assert not [cell for cell in plan.cells if cell.environment in without and cell.parameters["memory"] == "device"]
    across = {cell.environment for cell in plan.cells if cell.placement == "two nodes"}
    assert across == {"default", "network path"}
