# SPDX-License-Identifier: Apache-2.0
"""Negative controls in the campaigns of their trials: cells that the engine has, toggled as the remedy toggles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_results import cell, contrast, results
from msgspec.structs import replace

from slowpath.core.plan import Plan
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.trials import AGAIN, CONTROL, EFFECT, FAST, Trial, design, judge_trial
from slowpath.mpi.settings import resolver
from slowpath.plan.expand import MpiInUse, expand
from support.remedies import find_remedy

Json = dict[str, Any]
DESCRIPTION: Json = json.loads((Path(__file__).parents[3] / "schema" / "engine.json").read_text())
MPICH = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
UNBOUND = Condition("default", {}, (), "unbound", "none")


def planned(name: str, metric: str, **changed: str) -> tuple[Trial, Plan]:
    entry = next(one for one in DESCRIPTION["experiments"] if one["name"] == "p2p")
    parameters = {one["name"]: one["default"] for one in entry["parameters"]} | changed
    sides = Sides(cell(0, parameters), UNBOUND, None, None, None, metric, "steady", "steady")
    found = design(sides, find_remedy(name), frozenset(), 2)
    assert isinstance(found, Trial), found
    return found, expand(found.campaign, DESCRIPTION, MPICH, 1)


@pytest.mark.parametrize(
    ("name", "metric", "slow", "control"),
    [
        ("bind to cores", "half_round_trip_latency_s", {}, {"design": "empty_call", "window": "allocate"}),
        (
            "larger cache of GPU handles in MPICH",
            "half_round_trip_latency_s",
            {"memory": "device", "live_buffers": "32"},
            {"live_buffers": "1", "memory": "device"},
        ),
    ],
)
def test_a_control_toggles_the_remedy_in_a_cell_that_it_must_leave(
    name: str, metric: str, slow: dict[str, str], control: dict[str, str]
) -> None:
    found, plan = planned(name, metric, **slow)
    made = next(one for one in plan.contrasts if one.group == CONTROL)
    assert made.axis == found.axis
    cells = {one.cell: one for one in plan.cells}
    for side in (made.a, made.b):
        parameters = cells[side.cell].parameters
        assert {key: parameters[key] for key in control} == control


def test_packing_says_why_nothing_can_be_its_control() -> None:
    found, plan = planned("contiguous data", "half_round_trip_latency_s", datatype="vector", message_bytes="65536")
    assert not [one for one in plan.contrasts if one.group == CONTROL]
    pairs = [(1e-6 * (1 + 0.001 * i), 3e-6) for i in range(10)]
    made = [contrast(name, pairs) for name in (EFFECT, AGAIN)]
    made.append(contrast(FAST, [(1e-6 * (1 + 0.001 * i), 1e-6) for i in range(10)]))
    task = replace(found.task("SP015:00000000"), fast_side="unchanged")
    outcome = judge_trial(task, results(contrasts=made))
    assert outcome.verdict == "partial"
    assert "no negative control: MPI_Pack also copies contiguous messages" in outcome.reason
