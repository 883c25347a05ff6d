# SPDX-License-Identifier: Apache-2.0
"""A variable that the user set is examined where the survey's lengths show no limit."""

from __future__ import annotations

import pytest
from made_results import step
from msgspec.structs import replace
from planted_switch import CMA, LIMIT, asked, proposed, state, times

from slowpath.core.results import Finding, Results
from slowpath.diagnose.state import MeasuredStep, State
from slowpath.diagnose.steps.kind import StepConclusion
from slowpath.diagnose.steps.order import conclude, kind_of
from slowpath.diagnose.tasks import RefineTask, SurveyTask


@pytest.fixture
def octaves(survey: Results) -> Results:
    """A survey's line of lengths, in which no switch shows."""
    template = survey.cells[0]
    cells = [
        replace(template, cell=i, parameters={**template.parameters, "message_bytes": str(8 << i)}) for i in range(20)
    ]
    return replace(survey, cells=cells)


def after(octaves: Results, *steps: MeasuredStep, findings: tuple[Finding, ...] = (), **environ: str) -> State:
    """After the survey, a witness and these steps."""
    measured = [MeasuredStep(step(1, SurveyTask()), octaves), MeasuredStep(step(0), replace(octaves, cells=[])), *steps]
    return state(findings, measured, **environ)


def test_a_variable_that_the_user_set_is_looked_at_where_no_limit_shows(
    octaves: Results, ping_pong: dict[str, str]
) -> None:
    environ = {CMA: str(LIMIT + 1)}
    proposal = proposed(after(octaves, **environ))
    assert proposal.task.kind == "suspect"
    assert {LIMIT, LIMIT + 1} <= set(asked(proposal))
    results = times(asked(proposal), LIMIT, plain=ping_pong)
    seen = MeasuredStep(step(2, proposal.task), results)
    found = conclude([MeasuredStep(step(1, SurveyTask()), octaves), seen], [])
    assert [one.rule for one in found.findings] == ["SP013"]
    assert "limit exactly at" in kind_of(proposal.task).summary(proposal.task, StepConclusion(), found)
    assert found.findings[0].affects_default is True
    assert found.findings[0].ratio == pytest.approx(27 / 8, rel=0.05)
    # What follows is as with any other switch: measured once more, then the variable is moved.
    again = proposed(after(octaves, seen, findings=tuple(found.findings), **environ)).task
    assert isinstance(again, RefineTask)
    assert again.exact_limit == LIMIT
