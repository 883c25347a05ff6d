# SPDX-License-Identifier: Apache-2.0
"""All kinds of steps, what they conclude together, and what to measure next, the most valuable first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from slowpath.analyse.deviations import with_outside
from slowpath.analyse.reference import NONE, HealthyRuns
from slowpath.core.campaign import Campaign
from slowpath.core.results import Finding
from slowpath.diagnose.limits import maybe_set_by_user
from slowpath.diagnose.own_settings import first_by_cost
from slowpath.diagnose.state import MeasuredStep, Proposal, State
from slowpath.diagnose.steps import alternatives, trial
from slowpath.diagnose.steps.alternatives import ALTERNATIVES
from slowpath.diagnose.steps.deviations import OUTSIDE, outside, propose_outside
from slowpath.diagnose.steps.kind import WITNESS, StepConclusion, StepHistory, StepKind, propose_witness
from slowpath.diagnose.steps.settings import PATH, SETTINGS, STATE, propose_own_state, propose_path, propose_settings
from slowpath.diagnose.steps.survey import SURVEY, propose_survey
from slowpath.diagnose.steps.trial import TRIAL
from slowpath.diagnose.tasks import OutsideTask, SurveyTask, Task, TrialTask
from slowpath.findings.finding import cost
from slowpath.findings.slow_path import on_gpu

# All kinds of steps, one line each; `order` has their proposals in the order of their value.

KINDS: tuple[StepKind[Any], ...] = (
    STATE,
    SURVEY,
    PATH,
    SETTINGS,
    ALTERNATIVES,
    OUTSIDE,
    WITNESS,
    TRIAL,
)


def kind_of(task: Task) -> StepKind[Any]:
    """The kind of step that decides it."""
    return next(kind for kind in KINDS if kind.task is type(task))


# What follows from the steps of a diagnosis, in order: the same folders give the same findings.


def conclude(measured: Sequence[MeasuredStep], healthy: HealthyRuns = NONE) -> StepConclusion:
    """From all steps, the survey first.

    Args: healthy: runs to compare with.
    """
    concluded = StepConclusion()
    for done in measured:
        concluded = _applied(concluded, done, StepHistory(done.step, measured, healthy))
    return concluded


def advance(before: StepConclusion, measured: Sequence[MeasuredStep], healthy: HealthyRuns = NONE) -> StepConclusion:
    """`conclude(measured)`, from what it was without the last step."""
    if kind_of(measured[-1].step.task).adds_evidence:
        return conclude(measured, healthy)
    return _applied(before, measured[-1], StepHistory(measured[-1].step, measured, healthy))


def _applied(before: StepConclusion, done: MeasuredStep, history: StepHistory) -> StepConclusion:
    task = done.step.task
    after = kind_of(task).apply(before, task, done.results, history)
    if isinstance(task, SurveyTask | OutsideTask):
        after = replace(after, findings=with_outside(after.findings, outside(history.measured, history.healthy)))
    return after


# What to measure next, the most valuable first. Pure: what is known in, proposals out.
#
# What lies outside of healthy runs is measured again first. Then what costs most and has a remedy is tried, so that a
# default diagnosis proves something in its first minute. A finding of the user's own goes before one of a state that
# nobody chose, what may be a fault or an opportunity before a property of the library, and of these the one that costs
# most.

ProposeFor = Callable[[Finding, State], Iterator[Proposal]]

FIRST_TRIED = 3  # findings of which one remedy each is tried before anything is explained

# What a finding itself needs, one finding after the other.
OF_A_FINDING: tuple[ProposeFor, ...] = (
    trial.propose_named,
    trial.propose,
)


def proposals(state: State, name_only: bool = False) -> Iterator[Proposal]:
    """In the order of their value; those that were made already are left out, what was not asked for, and what needs
    GPU memory where that is left out.

    Args: name_only: only what may name another slow path; nothing is refined, explained or tried.
    """
    for proposal in _proposals(state, name_only):
        if state.gpus or not _on_gpu(proposal.campaign):
            yield proposal


def _on_gpu(campaign: Campaign) -> bool:
    values = (table.parameters.get("memory", "host") for table in campaign.cells)
    kinds = (kind for value in values for kind in (value if isinstance(value, (list, tuple)) else [value]))
    return any(on_gpu({"memory": str(kind)}) for kind in kinds)


def _proposals(state: State, name_only: bool) -> Iterator[Proposal]:
    if not state.is_surveyed:
        yield from propose_own_state(state)
        yield from _of_own_state(state, name_only)
        yield from propose_survey(state)
        return
    if not state.asked:
        yield from propose_outside(state)
    state = state.for_what_was_asked
    ordered = sorted(state.findings, key=lambda finding: _value(finding, state), reverse=True)
    if state.gpus and not name_only and not state.tasks(TrialTask):
        yield from _first_trials(ordered, state)  # what the survey left time for, before anything else takes it
    yield from propose_path(state)
    yield from propose_settings(state)  # nothing that is tried under them means much before that is known
    if name_only:
        return
    yield from _first_trials(ordered, state)
    yield from propose_witness(state)
    for finding in ordered:
        for propose in OF_A_FINDING:
            yield from propose(finding, state)
    yield from trial.propose_again(state)
    yield from alternatives.propose(state)


def _first_trials(ordered: Sequence[Finding], state: State) -> Iterator[Proposal]:
    """One remedy of each of the first findings that are no property, have one that can be tried here, and concern
    every program, or the one that the diagnosis is for.
    """
    begun = 0
    for finding in sorted(ordered, key=lambda finding: (_is_set_by_user(finding, state), cost(finding)), reverse=True):
        if (
            finding.kind == "property"
            or (finding.concerns and not finding.program_s)
            or finding.affects_default is False
        ):
            continue
        if begun == FIRST_TRIED:
            return
        if any(remedy.verdict != "not tried" for remedy in finding.remedies):
            begun += 1
            continue
        first = next(trial.propose(finding, state), None)
        if first is not None:
            begun += 1
            yield first


def _of_own_state(state: State, name_only: bool) -> Iterator[Proposal]:
    """Which setting it is, and the proof: before a survey, which such a state would slow down as well."""
    yield from propose_settings(state)
    for finding in () if name_only else first_by_cost(state.findings, state.measured):
        yield from trial.propose_named(finding, state)
        yield from trial.propose(finding, state)


def _value(finding: Finding, state: State) -> tuple[bool, bool, bool, bool, tuple[int, float]]:
    """What users have themselves, what they set themselves, what may be counted, what has a witness and lacks the proof
    alone, what costs most.
    """
    return (
        finding.affects_default is not False,
        _is_set_by_user(finding, state),
        finding.kind != "property",
        finding.status == "explained" or bool(finding.legs.explained.evidence),
        cost(finding),
    )


def _is_set_by_user(finding: Finding, state: State) -> bool:
    return any(remedy.own_settings for remedy in finding.remedies) or maybe_set_by_user(finding, state)
