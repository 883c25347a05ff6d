# SPDX-License-Identifier: Apache-2.0
"""From a protocol switch to the byte, to its variable and to a trial: proposals and conclusions on planted times."""

from __future__ import annotations

from made_results import finding, law, results, step
from msgspec.structs import replace
from planted_switch import CMA, LIMIT, asked, law_of, proposed, state, times

from slowpath.core.results import LimitBracket, Results
from slowpath.diagnose.limits import attribution, suspects
from slowpath.diagnose.sides import sides_of
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.limits import campaign_for, task_for
from slowpath.diagnose.steps.order import conclude, kind_of
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
