# SPDX-License-Identifier: Apache-2.0
"""Campaigns that the diagnosis makes: read back, expanded, and holding what a trial must hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

import made_results
import pytest

from slowpath.core.campaign import Campaign, recorded
from slowpath.core.cell_results import CellResult
from slowpath.core.plan import Plan
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.steps.settings import state_campaign
from slowpath.diagnose.steps.survey import survey_campaign
from slowpath.diagnose.trials import Trial, design
from slowpath.findings.facts import WITHOUT_USER
from slowpath.findings.slow_path import EAGER, Remedy
from slowpath.mpi.own_settings import OwnSetting
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import decode, load
from slowpath.plan.cost import estimate
from slowpath.plan.expand import MpiInUse, expand
from support.remedies import find_remedy

Json = dict[str, Any]
MPICH = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
DEFAULT = Condition("default", {}, (), "bound", "core")
OFF = Condition("no single copy", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, (), "bound", "core", "single_copy_off")


def made(campaign: Campaign, description: Json) -> Plan:
    """The plan of a campaign, which is the same when it is read back from its record."""
    plan = expand(campaign, description, MPICH, 1)
    assert expand(decode(recorded(campaign), "made.toml"), description, MPICH, 1) == plan
    return plan


def cell(description: Json, experiment: str = "p2p", **changed: str) -> CellResult:
    entry = next(described for described in description["experiments"] if described["name"] == experiment)
    parameters = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]} | changed
    return made_results.cell(0, parameters, experiment=experiment)


def sides(slow: CellResult, under: Condition, fast: CellResult | None = None, axis: str | None = None) -> Sides:
    return Sides(slow, under, fast, DEFAULT if fast else None, axis, "one_way_s", "steady", "steady")


def test_the_survey_expands_and_stays_within_its_budget(description: Json) -> None:
    plan = made(survey_campaign(load("panel"), 0), description)
    assert plan.rounds == 5
    assert 5 < estimate(plan).wall_s < 40  # docs/internals/record.md
    assert any(contrast.control for contrast in plan.contrasts)


def test_the_first_step_looks_at_the_user_s_variables_and_the_survey_at_gpus(description: Json) -> None:
    own = [OwnSetting("MPIR_CVAR_CH4_CMA_ENABLE", "0")]
    first = made(state_campaign(own, 2, 2), description)
    without = first.environment(WITHOUT_USER, "mpich")
    assert without.unset == ["MPIR_CVAR_CH4_CMA_ENABLE"]
    assert not without.variables
    fresh = {c.b.phase for c in first.contrasts if c.group.startswith("fresh GPU buffers")}
    assert fresh == {"first", "steady"}
    plan = made(survey_campaign(load("panel"), 2), description)
    assert {c.group for c in plan.contrasts} >= {"pinned host memory"}
    assert any(
        c.parameters["memory"] == "device" and c.parameters["device"] == "0:1"
        for c in plan.cells
        if c.experiment == "p2p"
    )


def test_a_trial_of_variables_holds_both_sides_twice_a_control_and_side_effects(description: Json) -> None:
    slow = cell(description, pattern="one_way", message_bytes="1048576", pages="small")
    remedy = Remedy("copy once", "Unset it.", ("environment",), EAGER, unset=("MPIR_CVAR_CH4_CMA_ENABLE",))
    trial = design("SP001:0", sides(slow, OFF, slow, "environment"), remedy, frozenset(), 2)
    assert isinstance(trial, Trial)
    plan = made(trial.campaign, description)
    assert plan.rounds >= 8
    assert {e.name: dict(e.variables) for e in plan.environments} == {
        OFF.environment: dict(OFF.variables),
        trial.task.remedied: {},
    }
    contrasts = Counter(contrast.group for contrast in plan.contrasts)
    assert contrasts == {"remedy": 1, "remedy again": 1, "a/a": 1, "negative control": 1, "side effect": 3}
    effect = next(c for c in plan.contrasts if c.group == "remedy")
    assert (effect.a.value, effect.b.value) == (trial.task.remedied, OFF.environment)
    assert len({launch.environment for launch in plan.launches if launch.round == 1}) == 2


@pytest.mark.parametrize(
    ("name", "experiment", "slow", "remedied"),
    [
        ("huge pages", "p2p", {"pattern": "one_way", "pages": "small", "message_bytes": "1048576"}, "huge"),
        (
            "pad to 2 MiB",
            "p2p",
            {"pattern": "one_way", "buffer_bytes": "4194304", "overalloc_bytes": "4096"},
            "2097152",
        ),
        ("MPI_Win_allocate", "put", {"window": "create"}, "allocate"),
        ("complete puts at once", "put", {}, "latency"),
        ("lock all once", "put", {"synchronise": "lock"}, "flush_all"),
    ],
)
def test_a_trial_of_a_parameter_expands(
    description: Json, name: str, experiment: str, slow: dict[str, str], remedied: str
) -> None:
    remedy = find_remedy(name)
    metric = "one_way_s" if experiment == "p2p" else "time_per_put_s"
    of = Sides(
        cell(description, experiment, **slow),
        DEFAULT,
        None,
        None,
        None,
        metric,
        "first" if name.startswith("pad") else "steady",
        "steady",
    )
    trial = design("SP001:0", of, remedy, frozenset(), 2)
    assert isinstance(trial, Trial), trial
    assert trial.task.remedied == remedied
    plan = made(trial.campaign, description)
    assert [c.group for c in plan.contrasts].count("negative control") == 1


def trial_of(sides_: Sides, name: str, description: Json) -> tuple[Trial, Plan]:
    trial = design("SP001:0", sides_, find_remedy(name), frozenset(), 2)
    assert isinstance(trial, Trial), trial
    return trial, made(trial.campaign, description)


def test_a_remedy_that_changes_the_fast_side_is_toggled_there_as_well(description: Json) -> None:
    slow, fast = (cell(description, "put", synchronise=way) for way in ("lock", "flush_all"))
    of = Sides(slow, DEFAULT, fast, DEFAULT, "synchronise", "time_per_put_s", "steady", "steady")
    trial, plan = trial_of(of, "complete puts at once", description)
    assert trial.task.fast_side == "toggled"
    cells = {cell.cell: cell for cell in plan.cells}
    for group, way in (("remedy", "lock"), ("fast side", "flush_all"), ("fast side again", "flush_all")):
        pair = next(c for c in plan.contrasts if c.group == group)
        sides_of_it = [cells[side.cell].parameters for side in (pair.a, pair.b)]
        assert [parameters["window_info"] for parameters in sides_of_it] == ["latency", "default"]
        assert {parameters["synchronise"] for parameters in sides_of_it} == {way}


def test_a_remedy_that_leads_to_the_fast_side_needs_no_other(description: Json) -> None:
    slow, fast = (cell(description, pattern="one_way", pages=pages) for pages in ("small", "huge"))
    of = Sides(slow, DEFAULT, fast, DEFAULT, "pages", "one_way_s", "steady", "steady")
    trial, plan = trial_of(of, "huge pages", description)
    assert trial.task.fast_side == "remedied"
    assert not [c for c in plan.contrasts if c.group == "fast side"]


def test_a_remedy_of_a_parameter_is_toggled_under_the_environments_of_both_sides(description: Json) -> None:
    slow = fast = cell(description, pattern="one_way", message_bytes="1048576")
    of = Sides(slow, OFF, fast, DEFAULT, "environment", "one_way_s", "steady", "steady")
    trial, plan = trial_of(of, "huge pages", description)
    assert trial.task.fast_side == "toggled"
    assert {cell.environment for cell in plan.cells if cell.group == "fast side"} == {"default"}
