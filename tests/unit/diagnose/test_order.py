# SPDX-License-Identifier: Apache-2.0
"""What is measured next: the most valuable first, nothing twice, what noise left open once more."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from made_results import contrast, finding, planted_contrast, results, step
from msgspec.structs import replace
from planted_switch import state

from slowpath.core.results import Finding, Results
from slowpath.diagnose.state import MeasuredStep, Proposal, State
from slowpath.diagnose.steps.order import KINDS, proposals
from slowpath.diagnose.steps.trial import pooled
from slowpath.diagnose.tasks import RepeatTask, SingleTask, SurveyTask, Task, TrialTask
from slowpath.diagnose.trials import judge_trial
from slowpath.findings.facts import WITHOUT_USER


@pytest.fixture
def small_pages(survey: Results) -> Results:
    """A survey whose slow cell has small pages."""
    slow = survey.cells[0]
    slow = replace(slow, parameters={**slow.parameters, "pages": "small"})
    return replace(survey, cells=[slow, survey.cells[1]])


def after(survey: Results, findings: list[Finding], *steps: MeasuredStep) -> State:
    """After the survey, a witness and these steps."""
    return state(findings, [MeasuredStep(step(1, SurveyTask()), survey), MeasuredStep(step(0), results()), *steps])


def kinds(of: State) -> list[str]:
    return [one.task.kind for one in proposals(of)]


def trial_of(one: Finding, remedy: str = "huge pages") -> TrialTask:
    return TrialTask(
        finding=one.id, remedy=remedy, axis="pages", slow="small", remedied="huge", metric=one.metric,
        phase="steady", control="it is short", fast_side="remedied",
    )  # fmt: skip


def test_what_is_the_user_s_own_and_costs_most_goes_first(small_pages: Results) -> None:
    small = finding("SP008", 1e-6, number=1)
    large = finding("SP008", 1e-3, number=2)
    chosen = finding("SP008", 1.0, number=3, affects_default=False)
    tasks = [one.task for one in proposals(after(small_pages, [small, chosen, large]))]
    order = list(dict.fromkeys(task.finding for task in tasks if isinstance(task, TrialTask)))
    assert all(isinstance(task, TrialTask) for task in tasks)
    assert order == [large.id, small.id, chosen.id]


def test_what_costs_most_is_tried_before_anything_is_explained_and_properties_last(small_pages: Results) -> None:
    """A default diagnosis proves something in its first minute."""
    property_ = finding("SP008", 1.0, number=1, kind="property")
    witnessed = finding("SP008", 1e-5, number=4, kind="opportunity", status="explained")
    large = finding("SP008", 1e-3, number=2, kind="opportunity")
    puts = finding("SP008", 1e-2, number=3, kind="opportunity", concerns="one-sided communication")
    tasks = [one.task for one in proposals(after(small_pages, [property_, puts, witnessed, large]))]
    trials = [task.finding for task in tasks if isinstance(task, TrialTask)]
    assert isinstance(tasks[0], TrialTask)
    assert trials[0] == large.id
    assert trials[-1] == property_.id
    named = [one.task for one in proposals(after(small_pages, [large]), name_only=True)]
    assert not any(isinstance(task, TrialTask) for task in named)


@pytest.mark.parametrize("kind", ["fault", "property"])
def test_a_fault_that_was_screened_is_measured_alone_before_a_remedy_of_another_is_tried(
    kind: str, small_pages: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A property that was screened waits: it decides nothing about whether something is wrong."""
    alone = Proposal(
        SingleTask(factors=["source"]), next(proposals(after(small_pages, [finding("SP008")]))).campaign, ""
    )
    monkeypatch.setattr("slowpath.diagnose.steps.again.propose_single", lambda _: iter([alone]))
    pages = finding("SP008", 1e-3, number=2, kind="opportunity")
    screened = replace(finding("SP065", 1e-6, number=3, kind=kind), needs_cause=True)
    tasks = [one.task for one in proposals(after(small_pages, [pages, screened]))]
    assert isinstance(tasks[0], SingleTask if kind == "fault" else TrialTask)


def test_name_only_asks_for_own_settings_and_for_nothing_else(survey: Results) -> None:
    apart = [(1e-3, 1.5e-3), (1e-3, 1.4e-3)]
    own = contrast("your settings", apart, verdict="undecided")
    own = replace(own, a=replace(own.a, value=WITHOUT_USER), b=replace(own.b, value="default"))
    other = contrast("pages", apart, verdict="undecided")
    of = after(replace(survey, contrasts=[other, own]), [finding("SP008")])
    asked = [one.task for one in proposals(of, name_only=True)]
    assert [task.contrast for task in asked if isinstance(task, RepeatTask)] == [own.id]
    assert len(asked) == 1
    assert [task.contrast for task in (one.task for one in proposals(of)) if isinstance(task, RepeatTask)] == [
        own.id,
        other.id,
        own.id,
    ]


def noisy_trial(seed: int, noise: float = 0.3) -> Results:
    return results(
        contrasts=[
            planted_contrast("remedy", 1e-3, 1.5e-3, 10, noise, seed),
            planted_contrast("remedy again", 1e-3, 1.5e-3, 10, noise, seed + 100),
            planted_contrast("a/a", 1.5e-3, 1.5e-3, 10, 0.01, seed),
            planted_contrast("negative control", 1e-6, 1e-6, 10, noise, seed),
        ]
    )


def test_a_trial_that_noise_left_open_is_made_once_more_and_judged_by_all_pairs(small_pages: Results) -> None:
    one = finding("SP008")
    task = trial_of(one)
    first, second = (MeasuredStep(step(number, task), noisy_trial(number - 2)) for number in (3, 4))
    clear = MeasuredStep(step(3, task), noisy_trial(1, 0.01))
    assert kinds(after(small_pages, [one], first)) == ["trial"]
    assert kinds(after(small_pages, [one], clear)) == []  # decided
    assert kinds(after(small_pages, [one], first, second)) == []  # twice is all
    joined = pooled(second.results, [first.results])
    assert judge_trial(task, joined).pairs == 20
    assert [one.launches for one in joined.contrasts] == [20] * 4
    for pool, own in zip(joined.contrasts, second.results.contrasts, strict=True):
        assert pool.pairs[10:] == own.pairs
        assert pool.p != own.p  # of all pairs, as ratio, interval and verdict are
        assert pool.p_adjusted == pool.p
        assert (pool.more_pairs is None) == (pool.verdict != "undecided")
    assert pooled(second.results, []) == second.results


def test_every_task_has_one_kind_of_step_and_each_is_documented() -> None:
    assert [kind.task for kind in KINDS] == list(dict.fromkeys(kind.task for kind in KINDS))
    assert {kind.task for kind in KINDS} == set(get_args(Task))
    page = (Path(__file__).parents[3] / "docs" / "reference" / "diagnose.md").read_text()
    for kind in KINDS:
        assert f"\n{kind.task.__struct_config__.tag} |" in page
