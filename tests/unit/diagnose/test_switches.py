# SPDX-License-Identifier: Apache-2.0
"""Protocol switches: their place to the byte, suspects, and limits that coincide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from made_results import cell, finding, law, results, step
from msgspec.structs import replace
from planted_switch import CELL, CMA, LIMIT, asked, law_of, proposed, state, times

from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.diagnose.limits import (
    AND,
    MOST_STEPS_TO_THE_BYTE,
    around,
    attribution,
    narrow,
    points,
    suspects,
)
from slowpath.diagnose.page import limit_words
from slowpath.diagnose.sides import sides_of
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.limits import campaign_for, has_anchors, task_for
from slowpath.diagnose.steps.limits import propose_attribute as propose_moves
from slowpath.diagnose.steps.order import conclude, kind_of
from slowpath.diagnose.steps.trial import propose_named
from slowpath.diagnose.tasks import AttributeTask, RefineTask, SurveyTask, TrialTask
from slowpath.mpi.settings import switches_of
from slowpath.stats.laws.choose import is_exact
from slowpath.stats.laws.law import Bracket


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


def times_of_break_point(
    values: tuple[int, ...], limit: float, jump: float, seed: int, noise: float = 0.02
) -> np.ndarray:
    """6 launches of t = 1 us + n / 5 GB/s, `jump` times as long beyond the limit; a launch drifts as a whole."""
    generator = np.random.default_rng(seed)
    x = np.array(values, dtype=np.float64)
    plain = (1e-6 + x / 5e9) * np.where(x > limit, jump, 1.0)
    drift = 1 + 0.05 * generator.standard_normal((6, 1))
    return plain * drift * (1 + noise * generator.standard_normal((6, x.size)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("jump", [1.3, 0.7])
def test_a_random_limit_is_found_to_the_byte(seed: int, jump: float) -> None:
    limit = int(np.random.default_rng(seed).integers(5000, 900_000))
    low = 1 << (limit.bit_length() - 1)
    bracket = Bracket("message_bytes", float(low), float(2 * low))
    for number in range(MOST_STEPS_TO_THE_BYTE):
        values = points(bracket)
        found = narrow(bracket, values, times_of_break_point(values, limit, jump, 100 * seed + number))
        assert found.seen
        assert found.bracket.above <= limit < found.bracket.up_to
        bracket = found.bracket
        if is_exact(bracket):
            break
    assert (bracket.above, bracket.up_to) == (limit, limit + 1)
    assert found.jump_ratio == pytest.approx(jump, rel=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_no_limit_is_invented_on_a_smooth_curve(seed: int) -> None:
    bracket = Bracket("message_bytes", 65536.0, 131072.0)
    values = points(bracket)
    found = narrow(bracket, values, times_of_break_point(values, 1e12, 1.0, seed))
    assert not found.seen
    assert found.bracket == bracket


@pytest.mark.parametrize("limit", [2, 3, 7, 40])
def test_a_limit_of_few_buffers_is_confirmed_with_anchors_or_left_unclear(limit: int) -> None:
    """There are no numbers of buffers below 1: limits of 4 and more have enough below them."""
    wider = around(Bracket("live_buffers", limit, limit + 1))
    values = points(wider, exact=limit)
    assert has_anchors(wider, values) == (limit >= 3), "else it stays unclear, and the diagnosis goes on"
    assert wider.above <= limit < wider.up_to


HEADER = 80
FOUND = LimitBracket(covariate="message_bytes", above=8112, up_to=8113, rising=True, confirmed=True)


def latency_s(length: float, cell_bytes: int = 8192, cma_bytes: int = 8192) -> float:
    """Eager up to a cell, copied once from the threshold on, by rendezvous between the two."""
    if length >= cma_bytes:
        return 2.9e-6 + length * 4e-11
    return 4e-7 + length * 1.85e-10 if length <= cell_bytes - HEADER else 3.0e-6 + length * 4e-11


def measured(
    lengths: Sequence[float], time_s: Callable[[float], float], plain: Mapping[str, str] | None = None
) -> Results:
    generator = np.random.default_rng(5)
    cells = []
    for number, length in enumerate(lengths):
        launches_s = time_s(length) * (1 + 0.01 * generator.standard_normal(6))
        cells.append(cell(number, {**(plain or {}), "message_bytes": str(int(length))}, launches_s.tolist()))
    return results(cells)


@pytest.fixture
def known(survey: Results) -> tuple[Finding, list[MeasuredStep]]:
    """A switch known to the byte, and the survey in which it was seen."""
    start = finding(law=replace(law(), brackets=[FOUND]))
    return start, [MeasuredStep(step(1, SurveyTask()), replace(survey, findings=[start]))]


def test_each_of_two_coinciding_limits_moves_the_switch_and_a_trial_raises_both(
    known: tuple[Finding, list[MeasuredStep]],
) -> None:
    _, steps = known
    names = []
    for number in (2, 3):
        current = conclude(steps, []).findings
        proposal = next(propose_moves(current[0], state(current, steps)))
        task = proposal.task
        assert isinstance(task, AttributeTask)
        assert task.moved_bytes < 8192 < (task.remedy_bytes or 0)
        moved = {"cell_bytes" if task.variable == CELL else "cma_bytes": task.moved_bytes}
        seen = measured(asked(proposal), lambda length, moved=moved: latency_s(length, **moved))  # type: ignore[misc]
        steps.append(MeasuredStep(step(number, task), seen))
        names.append(task.variable)
    assert set(names) == {CELL, CMA}
    found = conclude(steps, []).findings[0]
    assert found.law is not None
    limit = found.law.brackets[0]
    assert limit.attributed_to == AND.join(names)
    assert list(limit.movers) == names
    in_other_words = replace(limit, attributed_to="one, or the other")
    assert limit_words(in_other_words).endswith("set by the lower of one, or the other")
    assert limit_words(limit).endswith(f"limit exactly at 8112 B, set by the lower of {AND.join(names)}")
    assert (limit.attribution or "").count("moves the switch from 8112 B") == 2
    assert found.status == "explained"
    assert (found.cause or "").startswith("The library changes its protocol at the lower of the limits")
    assert found.remedies[0].name == f"set {AND.join(names)}"
    current = conclude(steps, []).findings
    assert list(propose_moves(current[0], state(current, steps))) == []
    trial = next(propose_named(current[0], state(current, steps)))
    length = asked(trial)[0]
    assert latency_s(length, cell_bytes=9216) > 0.9 * latency_s(length)  # one alone would not help
    assert latency_s(length, cma_bytes=9257) > 0.9 * latency_s(length)
    assert latency_s(length, 9216, 9257) < 0.7 * latency_s(length)
