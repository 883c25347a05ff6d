# SPDX-License-Identifier: Apache-2.0
"""MPICH's switch at 8112 B: the lower of a cell less its header and of the length from which messages are copied once.

Raising one of them only uncovers the other, so each is lowered; a trial raises both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from made_results import cell, finding, law, results, step
from msgspec.structs import replace
from planted_switch import CELL, CMA, asked, state

from slowpath.core.campaign import campaign_toml
from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.diagnose.limits import AND, TOGETHER, attribution
from slowpath.diagnose.page import limit_words
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.limits import attribute_other_limits as propose_others
from slowpath.diagnose.steps.limits import propose_attribute as propose_moves
from slowpath.diagnose.steps.order import conclude
from slowpath.diagnose.steps.trial import propose_attributed
from slowpath.diagnose.tasks import AttributeTask, SurveyTask

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
    assert (list(limit.movers), limit.only_together) == (names, False)
    in_other_words = replace(limit, attributed_to="one, or the other")
    assert limit_words(in_other_words).endswith("set by the lower of one, or the other")
    assert limit_words(limit).endswith(f"limit exactly at 8112 B, set by the lower of {AND.join(names)}")
    assert (limit.attribution or "").count("moves the switch from 8112 B") == 2
    assert found.status == "explained"
    assert (found.cause or "").startswith("The library changes its protocol at the lower of the limits")
    assert found.remedies[0].name == f"set {AND.join(names)}"
    current = conclude(steps, []).findings
    assert list(propose_moves(current[0], state(current, steps))) == []
    trial = next(propose_attributed(current[0], state(current, steps)))
    length = asked(trial)[0]
    assert latency_s(length, cell_bytes=9216) > 0.9 * latency_s(length)  # one alone would not help
    assert latency_s(length, cma_bytes=9257) > 0.9 * latency_s(length)
    assert latency_s(length, 9216, 9257) < 0.7 * latency_s(length)


def test_a_second_limit_of_a_law_gets_one_finding_with_both_variables(
    known: tuple[Finding, list[MeasuredStep]],
) -> None:
    """The finding is about another limit of its law; each variable is asked once."""
    start, steps = known
    first = LimitBracket(covariate="message_bytes", above=2**20, up_to=2**20 + 2**19, unclear=True)
    start = replace(start, law=replace(law(), brackets=[first, FOUND]))
    steps = [MeasuredStep(steps[0].step, replace(steps[0].results, findings=[start]))]
    asked_for = []
    for number in range(2, 8):
        current = conclude(steps, []).findings
        made = (
            one
            for f in current
            for one in (*propose_moves(f, state(current, steps)), *propose_others(f, state(current, steps)))
        )
        proposal = next(made, None)
        if proposal is None:
            break
        task = proposal.task
        assert isinstance(task, AttributeTask)
        asked_for.append(task.variable)
        moved = {"cell_bytes" if task.variable == CELL else "cma_bytes": task.moved_bytes}
        seen = measured(asked(proposal), lambda length, moved=moved: latency_s(length, **moved))  # type: ignore[misc]
        steps.append(MeasuredStep(step(number, task), seen))
    found = conclude(steps, []).findings
    assert sorted(asked_for) == sorted({CELL, CMA})
    assert len(found) == 2
    assert found[1].law is not None
    assert set(found[1].law.brackets[0].each_moves) == {CELL, CMA}


def higher_latency_s(length: float, cell_bytes: int = 8192, cma_bytes: int = 8192) -> float:
    """Another library, which takes the slow protocol only beyond both limits."""
    limit = max(cell_bytes - HEADER, cma_bytes)
    return 4e-7 + length * 1.85e-10 if length <= limit else 2.9e-6 + length * 4e-11


def test_the_higher_of_two_coinciding_limits_moves_with_both_together(
    known: tuple[Finding, list[MeasuredStep]],
) -> None:
    """One alone leaves the switch, the other moves it by the header only."""
    start, steps = known
    start = replace(start, law=replace(law(), brackets=[replace(FOUND, above=8192, up_to=8193)]))
    steps = [MeasuredStep(steps[0].step, replace(steps[0].results, findings=[start]))]
    texts = []
    for number in (2, 3, 4):
        current = conclude(steps, []).findings
        task = (proposal := next(propose_moves(current[0], state(current, steps)))).task
        assert isinstance(task, AttributeTask)
        assert bool(task.together) is (number == 4)
        moved = {task.variable: task.moved_bytes, **{name: one.moved_bytes for name, one in task.together.items()}}
        values = moved.get(CELL, 8192), moved.get(CMA, 8192)
        seen = measured(asked(proposal), lambda length, values=values: higher_latency_s(length, *values))  # type: ignore[misc]
        steps.append(MeasuredStep(step(number, task), seen))
        shown = attribution(task, seen)
        assert shown is not None
        assert shown.moved is (number == 4)
        texts.append(shown.text)
    assert any("leaves the switch at 8192 B" in text for text in texts[:2])
    only = next(found for text in texts[:2] if (found := re.search(r"to a place between (\d+) and (\d+) B", text)))
    assert int(only[1]) <= 8192 - HEADER < int(only[2]) <= 8192
    found = conclude(steps, []).findings[0]
    assert found.law is not None
    limit = found.law.brackets[0]
    assert (set(limit.movers), limit.only_together, limit.each_moves) == ({CELL, CMA}, True, ())
    assert limit.attributed_to == TOGETHER.join(limit.movers)
    assert (found.cause or "").endswith("neither moves it alone.")
    current = conclude(steps, []).findings
    assert list(propose_moves(current[0], state(current, steps))) == []
    trial = next(propose_attributed(current[0], state(current, steps)))
    assert f"{CELL} = " in campaign_toml(trial.campaign)
    assert f"{CMA} = " in campaign_toml(trial.campaign)
