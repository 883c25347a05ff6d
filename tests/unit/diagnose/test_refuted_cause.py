# SPDX-License-Identifier: Apache-2.0
"""A trial in which the remedy that removes the cause changes nothing takes the cause away from a finding."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from made_results import contrast, finding, leg, planted_contrast, results, step
from msgspec.structs import replace

from slowpath.core.results import ContrastResult, Finding, Legs, Results
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory
from slowpath.diagnose.steps.trial import apply
from slowpath.diagnose.tasks import TrialTask
from slowpath.slowpaths.registry import SLOW_PATHS, known

CAUSE = "The library handles the datatype block by block."
EXPLAINED = finding(
    "SP015",
    status="explained",
    cause=CAUSE,
    legs=Legs(observed=leg("shown"), explained=leg("shown", "law and witness agree"), proven=leg()),
)
TASK = TrialTask(
    finding=EXPLAINED.id, remedy="contiguous data", axis="datatype", slow="vector", remedied="byte",
    metric=EXPLAINED.metric, phase="steady", control="it is short", fast_side="unchanged",
)  # fmt: skip


def trial(
    slow: float = 3.0, remedied: float = 3.0, fast: float = 1.0, pairs: int = 10, noise: float = 0.01
) -> list[ContrastResult]:
    """Contrasts of a trial with planted times, ms."""
    return [
        planted_contrast("remedy", remedied * 1e-3, slow * 1e-3, pairs, noise),
        planted_contrast("remedy again", remedied * 1e-3, slow * 1e-3, pairs, noise, seed=2),
        planted_contrast("a/a", slow * 1e-3, slow * 1e-3, pairs, seed=3),
        planted_contrast("fast side", fast * 1e-3, fast * 1e-3, pairs, seed=4),
        planted_contrast("negative control", 1e-6, 1e-6, pairs, seed=5),
    ]


def after(
    contrasts: Sequence[ContrastResult],
    seen: Finding = EXPLAINED,
    task: TrialTask = TASK,
    run: Results | None = None,
    earlier: Sequence[MeasuredStep] = (),
) -> Finding:
    found = replace(run or results(), contrasts=list(contrasts))
    history = StepHistory(step(len(earlier) + 1, task), earlier, ())
    [one] = apply(StepConclusion([replace(seen, id=task.finding)]), task, found, history).findings
    return one


def test_a_remedy_of_the_cause_that_changes_nothing_takes_the_cause_away() -> None:
    found = after(trial())
    assert (found.status, found.cause) == ("observed", None)
    why = found.legs.explained
    assert why.state == "refuted"
    assert why.text.startswith("'contiguous data' was tried and did not help: without it, the time is ")
    assert re.search(r"; removing half of the gap would make it 1\.[45]\d?x$", why.text)
    assert found.doubts == [why.text]
    assert f"explained: {why.text}" in found.missing
    assert CAUSE.rstrip(".") not in found.hypotheses
    assert found.remedies[0].verdict == "no effect"


@pytest.mark.parametrize(
    "contrasts",
    [
        pytest.param(trial(pairs=5), id="too few pairs"),
        pytest.param(trial(fast=2.3, noise=0.1), id="interval too wide"),
        pytest.param(trial(slow=3.0, remedied=2.6), id="it helps a little"),
        pytest.param(trial(remedied=4.0), id="it costs time of its own"),
        pytest.param(trial()[:3], id="no fast side"),
        pytest.param([contrast("remedy")], id="no pairs"),
        pytest.param([*trial()[:2], planted_contrast("a/a", 3e-3, 4e-3), *trial()[3:]], id="copies differ"),
    ],
)
def test_what_decides_nothing_changes_nothing(contrasts: Sequence[ContrastResult]) -> None:
    found = after(contrasts)
    assert (found.status, found.cause, found.legs.explained) == ("explained", CAUSE, EXPLAINED.legs.explained)


def test_what_removes_a_cause_is_a_remedy_of_its_slow_path_that_the_engine_applies_itself() -> None:
    for path in SLOW_PATHS:
        for remedy in path.removes_cause:
            assert remedy in path.remedies
            assert remedy.change is not None or set(remedy.variables) == {"SLOWPATH_THREAD_LEVEL"}
            assert remedy.untried is None
    small_pages = known("SP008")
    assert small_pages is not None
    assert [one.name for one in small_pages.removes_cause] == ["huge pages"]
