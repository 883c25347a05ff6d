# SPDX-License-Identifier: Apache-2.0
"""The table of remedies, and their controls."""

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
from slowpath.findings.slow_path import Remedy
from slowpath.mpi.settings import SWITCHES, resolver, variable_named
from slowpath.plan.expand import MpiInUse, expand
from slowpath.slowpaths.registry import REMEDIES, remedies_for
from support.remedies import find_remedy


def test_names_are_unique() -> None:
    names = [remedy.name for remedy in REMEDIES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.name)
def test_each_changes_exactly_one_kind_of_thing_or_is_not_tried(remedy: Remedy) -> None:
    kinds = [bool(remedy.variables or remedy.unset), remedy.change is not None, remedy.bind is not None]
    assert sum(kinds) == 1 or (not remedy.is_tried and sum(kinds) == 0)
    assert remedy.text.endswith(".")
    assert (remedy.change is None) == (remedy.parameter is None)
    assert remedy.axes
    assert remedy.parameter is None or remedy.parameter in remedy.axes


@pytest.mark.parametrize(
    ("library", "version", "fits"),
    [("mpich", "5.0.2", True), ("mpich", "3.4", False), ("mpich", None, False), ("openmpi", "5.0.11", False)],
)
def test_a_remedy_fits_its_library_and_version_only(library: str, version: str | None, fits: bool) -> None:
    assert (
        "complete puts at once" in [remedy.name for remedy in remedies_for("SP019", None, library, version)]
    ) == fits


@pytest.mark.parametrize(
    ("rule", "axis", "names"),
    [
        ("SP019", "window", ["MPI_Win_allocate", "shared window"]),
        ("SP019", "window_info", ["complete puts at once", "no locks"]),
        ("SP019", "synchronise", ["lock all once", "flush locally"]),
        ("SP015", "pack", ["packing loop", "contiguous data"]),
        ("SP011", "placement", ["bind to cores"]),
        ("SP011", "pages", []),
    ],
)
def test_a_remedy_fits_the_axis_of_the_contrast_only(rule: str, axis: str, names: list[str]) -> None:
    assert [remedy.name for remedy in remedies_for(rule, axis, "mpich", "5.0.2")] == names


@pytest.mark.parametrize(
    ("name", "slow", "fits"),
    [
        ("lock all once", {"synchronise": "lock"}, True),
        ("lock all once", {"synchronise": "flush_all"}, False),
        ("flush locally", {"synchronise": "flush_all"}, True),
        ("flush locally", {"synchronise": "fence"}, False),
        ("shared window", {"window": "create"}, False),
        ("MPI_Win_allocate", {"window": "allocate"}, False),
        ("no locks", {"window_info": "default", "synchronise": "fence"}, True),
        ("no locks", {"window_info": "default", "synchronise": "lock"}, False),
        ("pad to 2 MiB", {"overalloc_bytes": "1"}, False),
    ],
)
def test_a_remedy_that_changes_nothing_in_the_slow_cell_is_none(name: str, slow: dict[str, str], fits: bool) -> None:
    assert find_remedy(name).fits(slow) is fits


def test_switches_know_what_holds_now() -> None:
    switch = next(switch_ for switch_ in SWITCHES if switch_.variable == "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD")
    assert switch.applies.fits("mpich", "5.0.2")
    assert not switch.applies.fits("openmpi", "5.0.11")
    assert switch.value({}) == switch.default_bytes
    assert switch.value({switch.variable: "50021"}) == 50021
    assert switch.value({switch.variable: "48k"}) is None
    assert variable_named("btl_sm_eager_limit", "openmpi") == "OMPI_MCA_btl_sm_eager_limit"
    assert variable_named("MPIR_CVAR_X", "mpich") == "MPIR_CVAR_X"


Json = dict[str, Any]
DESCRIPTION: Json = json.loads((Path(__file__).parents[3] / "schema" / "engine.json").read_text())
MPICH = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
UNBOUND = Condition("default", {}, (), "unbound", "none")


def planned(name: str, metric: str, **changed: str) -> tuple[Trial, Plan]:
    entry = next(experiment for experiment in DESCRIPTION["experiments"] if experiment["name"] == "p2p")
    parameters = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]} | changed
    sides = Sides(cell(0, parameters), UNBOUND, None, None, None, metric, "steady", "steady")
    trial = design("SP001:0", sides, find_remedy(name), frozenset(), 2)
    assert isinstance(trial, Trial), trial
    return trial, expand(trial.campaign, DESCRIPTION, MPICH, 1)


@pytest.mark.parametrize(
    ("name", "metric", "slow", "control"),
    [
        ("bind to cores", "half_round_trip_latency_s", {}, {"design": "empty_call", "window": "allocate"}),
    ],
)
def test_a_control_toggles_the_remedy_in_a_cell_that_it_must_leave(
    name: str, metric: str, slow: dict[str, str], control: dict[str, str]
) -> None:
    trial, plan = planned(name, metric, **slow)
    made = next(contrast for contrast in plan.contrasts if contrast.group == CONTROL)
    assert made.axis == trial.task.axis
    cells = {cell.cell: cell for cell in plan.cells}
    for side in (made.a, made.b):
        parameters = cells[side.cell].parameters
        assert {key: parameters[key] for key in control} == control


def test_packing_has_no_control_and_so_no_proof() -> None:
    trial, plan = planned("contiguous data", "half_round_trip_latency_s", datatype="vector", message_bytes="65536")
    assert not [contrast for contrast in plan.contrasts if contrast.group == CONTROL]
    pairs = [(1e-6 * (1 + 0.001 * i), 3e-6) for i in range(10)]
    made = [contrast(name, pairs) for name in (EFFECT, AGAIN)]
    made.append(contrast(FAST, [(1e-6 * (1 + 0.001 * i), 1e-6) for i in range(10)]))
    task = replace(trial.task, fast_side="unchanged")
    outcome = judge_trial(task, results(contrasts=made))
    assert outcome.verdict == "partial"
    assert "no control known" in outcome.reason
