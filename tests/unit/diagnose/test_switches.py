# SPDX-License-Identifier: Apache-2.0
"""Protocol switches: variables near one, and the trials that prove which of them sets it."""

from __future__ import annotations

import pytest
from made_results import finding, law, step
from msgspec.structs import replace
from planted_switch import CELL, CMA, asked, state

from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.diagnose.limits import AND, suspects, with_cause
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.trial import propose_named
from slowpath.diagnose.tasks import SurveyTask, TrialTask
from slowpath.mpi.settings import switches_of

SWITCHES = switches_of("mpich", "5.0.2")


def limit(above: float, up_to: float) -> LimitBracket:
    return LimitBracket(covariate="message_bytes", above=above, up_to=up_to)


def test_a_variable_is_near_a_switch_whose_bracket_holds_it_or_lies_a_header_away() -> None:
    assert {suspect.switch.variable for suspect in suspects(SWITCHES, limit(6144, 8192), {}, {}, "mpich")} == {
        CMA,
        CELL,
    }
    assert {suspect.switch.variable for suspect in suspects(SWITCHES, limit(8192, 12288), {}, {}, "mpich")} == {
        CMA,
        CELL,
    }
    assert suspects(SWITCHES, limit(12288, 16384), {}, {}, "mpich") == []
    read = {"MPIR_CVAR_X_SIZE": 16000.0, CELL: 8192.0}
    (other,) = suspects(SWITCHES, limit(12288, 16384), {}, read, "mpich")
    assert (other.switch.variable, other.source) == ("MPIR_CVAR_X_SIZE", "MPI_T")
    (own,) = suspects(SWITCHES, limit(49152, 65536), {CMA: "50021"}, {}, "mpich")
    assert (own.switch.variable, own.value_bytes, own.source) == (CMA, 50021, "your environment")


@pytest.fixture
def seen(survey: Results) -> tuple[Finding, list[MeasuredStep]]:
    """A switch after which messages get fast, and the survey in which it was seen."""
    start = finding("SP013", law=law((49152.0, 65536.0)), ratio=3.4, excess_s=19e-6, slow_cells=[0], fast_cells=[1])
    return start, [MeasuredStep(step(1, SurveyTask()), replace(survey, findings=[start]))]


def test_the_user_s_own_variable_is_taken_away_first_and_then_set_below_the_slow_length(
    seen: tuple[Finding, list[MeasuredStep]],
) -> None:
    start, measured = seen
    proposals = list(propose_named(start, state([start], measured, **{CMA: "50021"})))
    tasks = [proposal.task for proposal in proposals if isinstance(proposal.task, TrialTask)]
    assert [task.remedy for task in tasks] == [f"unset {CMA}", f"set {CMA}"]
    assert all(asked(proposal) == [49152] for proposal in proposals), "the slow length next to the switch"
    assert tasks[0].fast_side == "none"
    assert tasks[0].constant_s == pytest.approx(19e-6 / 2.4), "what the other protocol takes"
    remedied = proposals[1].campaign.environments[-1]
    assert int(remedied.variables[CMA]) < 49152


def test_limits_that_coincide_are_tried_one_by_one_and_then_together(seen: tuple[Finding, list[MeasuredStep]]) -> None:
    start, measured = seen
    known = replace(start, law=law((40960.0, 50000.0)))
    read = {CELL: "45056", CMA: "45056"}
    tasks = [proposal.task for proposal in propose_named(known, state([known], measured, **read))]
    names = [task.remedy for task in tasks if isinstance(task, TrialTask) and task.remedy.startswith("set")]
    assert len(names) == 3
    assert AND in names[-1]


def test_a_proven_variable_is_the_cause() -> None:
    named = with_cause(finding("SP013"), f"set {CMA}")
    assert named.cause == f"{CMA} sets the length at which the library changes its protocol."
    assert named.legs.explained.state == "shown"
    assert "together set" in (with_cause(finding("SP013"), f"set {CELL}{AND}{CMA}").cause or "")
