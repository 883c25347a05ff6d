# SPDX-License-Identifier: Apache-2.0
"""What steps make of findings: counts of a witness, the outcome of a trial, a state that the user forces."""

from __future__ import annotations

import pytest
from made_results import cell, environment, finding, planted_contrast, remedy, results, step
from msgspec.structs import replace

from slowpath.core.cell_results import CallCounts, RoleWitness
from slowpath.core.plan import Roles
from slowpath.core.results import Finding, Results
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.kind import StepConclusion, with_counts
from slowpath.diagnose.steps.order import advance, conclude
from slowpath.diagnose.tasks import SurveyTask, TrialTask
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import WITHOUT_USER, UserState
from slowpath.mpi.settings import Forced
from slowpath.slowpaths.evaluate import facts_of


def counted(system_s: float, operations: int, calls: dict[str, CallCounts] | None = None) -> Results:
    """A run of one cell, whose receiver was watched."""
    role = RoleWitness(
        minor_faults_per_op=None, major_faults_per_op=None, system_time_s_per_op=system_s, involuntary_switches=1,
        operations=operations, calls=calls,
    )  # fmt: skip
    return results([cell(0, {}, witness={"steady": {"send": None, "receive": role}})])


def test_a_witness_of_two_runs_counts_the_operations_of_both() -> None:
    calls = {"process_vm_readv": CallCounts(calls_per_op=1.0, bytes_per_op=None, failed_per_op=0.0)}
    both = with_counts(counted(4e-5, 50), counted(11e-5, 20, calls))
    witness = both.cells[0].witness
    assert witness is not None
    role = witness["steady"]["receive"]
    assert role is not None
    assert witness["steady"]["send"] is None
    assert role.system_time_s_per_op == pytest.approx(6e-5)
    assert (role.operations, role.involuntary_switches, role.calls) == (70, 2, calls)


def test_a_trial_s_outcome_makes_a_finding_proven(survey: Results) -> None:
    start = finding("SP008", remedies=[remedy("huge pages", side_effects=["memory"])])
    contrasts = [
        planted_contrast("remedy", 1e-3, 3e-3),
        planted_contrast("remedy again", 1e-3, 3e-3, seed=2),
        planted_contrast("negative control", 1e-6, 1e-6),
    ]
    task = TrialTask(
        finding=start.id, remedy="huge pages", axis="pages", slow="small", remedied="huge", metric=start.metric,
        phase="steady", control="short", fast_side="remedied",
    )  # fmt: skip
    steps = [
        MeasuredStep(step(1, SurveyTask()), replace(survey, findings=[start])),
        MeasuredStep(step(2, task), results(contrasts=contrasts)),
    ]
    found = conclude(steps, []).findings[0]
    assert found.status == "proven"
    assert found.remedies[0].verdict == "proven"
    assert "memory" in found.remedies[0].side_effects
    assert advance(StepConclusion([start]), steps, []).findings == [found]


def test_the_user_s_forced_state_is_named_as_one(monkeypatch: pytest.MonkeyPatch, survey: Results) -> None:
    seen = []

    def rules(results: Results, roles: Roles, user_state: UserState | None = None, **_: object) -> list[Finding]:
        seen.append(user_state)
        return [finding("SP009", affects_default=False)]

    monkeypatch.setattr("slowpath.diagnose.own_settings.findings", rules)
    environments = [*survey.run.environments, environment(WITHOUT_USER, unset=["X"])]
    survey = replace(survey, run=replace(survey.run, environments=environments))
    forced = [Forced("single_copy_off", "X", "0")]
    found = conclude([MeasuredStep(step(1, SurveyTask()), survey)], forced).findings
    assert seen == [UserState("single_copy_off", {"X": "0"}, WITHOUT_USER)]
    evidence = facts_of(survey, ROLES, seen[0])
    own, without = survey.cells[0], replace(survey.cells[1], environment=WITHOUT_USER)
    assert (evidence.setting(own), evidence.variables(own)) == ("single_copy_off", {"X": "0"})
    assert (evidence.setting(without), evidence.variables(without)) == (None, {})
    assert [evidence.is_default(one) for one in (own, without)] == [True, False]
    assert [evidence.as_found(one) for one in (own, without)] == [False, True]
    assert found[0].affects_default is True
    assert "your environment sets X=0" in found[0].text
