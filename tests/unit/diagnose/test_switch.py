# SPDX-License-Identifier: Apache-2.0
"""From a protocol switch to the byte, to its variable and to a trial: proposals and conclusions on planted times."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
from made_results import METRIC, finding, law, results, step
from msgspec.structs import replace
from planted_switch import CELL, CMA, LIMIT, asked, law_of, proposed, state, times

from slowpath.core.results import LimitBracket, Results
from slowpath.diagnose.conclusion import conclude
from slowpath.diagnose.limits.attribution import attribution
from slowpath.diagnose.limits.variables import suspects
from slowpath.diagnose.sides import sides_of
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.attribute import campaign_for, task_for
from slowpath.diagnose.steps.kind import StepConclusion
from slowpath.diagnose.steps.registry import kind_of
from slowpath.diagnose.tasks import AttributeTask, RefineTask, SurveyTask, TrialTask
from slowpath.mpi.settings import switches_of


def test_a_switch_is_refined_attributed_and_then_tried(survey: Results) -> None:
    start = finding(law=law((49152.0, 65536.0)))
    measured = [MeasuredStep(step(1, SurveyTask()), replace(survey, findings=[start]))]
    found = conclude(measured, [])
    kinds = []
    for number in range(2, 12):
        done = [*measured, MeasuredStep(step(0), results())]  # calls are counted
        proposal = proposed(state(found.findings, done, **{CMA: str(LIMIT + 1)}))
        task = proposal.task
        kinds.append(task.kind)
        if isinstance(task, TrialTask):
            break
        moved = task.expected_bytes if isinstance(task, AttributeTask) else LIMIT
        measured.append(MeasuredStep(step(number, task), times(asked(proposal), moved, number)))
        before, found = found, conclude(measured, [])
        assert kind_of(task).summary(task, before, found)
    assert kinds[-2:] == ["attribute", "trial"]
    assert set(kinds[:-2]) == {"refine"}
    refined = [one.step.task for one in measured if isinstance(one.step.task, RefineTask)]
    assert any(task.exact_limit is not None for task in refined)  # an exact limit is measured once more
    made = found.findings[0]
    assert made.law is not None
    bracket = made.law.brackets[0]
    assert (bracket.above, bracket.up_to, bracket.attributed_to) == (LIMIT, LIMIT + 1, CMA)
    assert made.status == "explained"
    assert made.legs.explained.state == "shown"
    assert isinstance(task, TrialTask)
    assert task.remedy == f"unset {CMA}"  # the user's own setting is taken away first
    assert asked(proposal) == [LIMIT]  # the slow side of the switch


def test_a_variable_that_moves_nothing_is_ruled_out(survey: Results) -> None:
    start = finding(law=law((LIMIT, LIMIT + 1)))
    limit = LimitBracket(covariate="message_bytes", above=LIMIT, up_to=LIMIT + 1, rising=False)
    suspect = suspects(switches_of("mpich", "5.0.2"), LIMIT, {CMA: str(LIMIT + 1)}, {}, "mpich")[0]
    sides = sides_of(start, survey)
    assert sides is not None
    task = task_for(finding(law=law_of(limit)), limit, suspect, sides, set_by_user=False)
    assert task.is_main_limit
    assert task.moved_bytes < task.value_bytes  # lowered, so that the slow length below the switch gets fast
    lengths = [float(v) for v in campaign_for(task, sides, 2).cells[0].parameters["message_bytes"]]
    stayed = attribution(task, times(lengths, LIMIT))
    assert stayed is not None
    assert not stayed.moved
    changed = stayed.applied(start)
    assert changed.remedies == start.remedies  # what was seen is reported, and no verdict is made of it
    assert changed.legs.explained.state == "missing"
    assert changed.legs.explained.evidence[-1] == stayed.text
    assert "leaves the switch at" in stayed.text
    gone = attribution(task, times(lengths, 10**9))
    assert gone is not None
    assert not gone.moved


def test_another_limit_of_the_law_gets_a_finding_of_its_own(survey: Results) -> None:
    start = finding(law=law((1000.0, 1001.0), (LIMIT, LIMIT + 1)))
    task = AttributeTask(
        finding=start.id, variable=CMA, effect="it sets a limit", value_bytes=LIMIT + 1, value_source="MPI_T",
        moved_bytes=LIMIT - 5498, limit_bytes=LIMIT, expected_bytes=LIMIT - 5499, rising=False, metric=METRIC,
        phase="steady", is_main_limit=False, set_by_user=False,
    )  # fmt: skip
    sides = sides_of(start, survey)
    assert sides is not None
    lengths = [float(v) for v in campaign_for(task, sides, 2).cells[0].parameters["message_bytes"]]
    measured = [MeasuredStep(step(1, SurveyTask()), replace(survey, findings=[start]))]
    measured.append(MeasuredStep(step(2, task), times(lengths, task.expected_bytes)))
    before, found = StepConclusion([start]), conclude(measured, [])
    assert [one.status for one in found.findings] == ["observed", "explained"]
    own = found.findings[1]
    assert own.about == f"switch, {CMA}"
    assert own.law is not None
    assert [(one.above, one.attributed_to) for one in own.law.brackets] == [(LIMIT, CMA)]
    assert own.ratio == pytest.approx(27 / 8, rel=0.05)
    assert own.text.startswith("At the 50020 B protocol switch latency falls 3.")
    assert own.remedies[0].verdict == "not tried"
    assert kind_of(task).summary(task, before, changed(found, shown="Two. Sentences")) == "Two. Sentences"
    summary = kind_of(task).summary(task, before, found)
    assert f"moves the switch from {LIMIT} B to {task.expected_bytes} B" in summary


def test_suspects_are_near_and_the_library_s_own_word_goes_first() -> None:
    switches = switches_of("mpich", "5.0.2")
    read = {CMA: 50021.0, "FAR": 70000.0, "OTHER": 50000.0}
    found = suspects(switches, LIMIT, {}, read, "mpich")
    assert [(one.switch.variable, one.source) for one in found] == [(CMA, "MPI_T"), ("OTHER", "MPI_T")]
    assert suspects(switches, 8112, {}, {}, "mpich")[0].source == "not read; default of MPICH 5.0.2, MPI_T"
    near = {"A_SIZE": 8192.0, "B_SIZE": 8112.0, CELL: 8192.0, CMA: 8192.0}
    assert {one.switch.variable for one in suspects(switches, 8112, {}, near, "mpich")[:2]} == {CELL, CMA}
    assert suspects(switches, 1000, {}, {}, "mpich") == []
    open_mpi = suspects((), 4000, {}, {"btl_sm_eager_limit": 4096.0}, "openmpi")
    assert open_mpi[0].switch.variable == "OMPI_MCA_btl_sm_eager_limit"
