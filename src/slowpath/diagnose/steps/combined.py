# SPDX-License-Identifier: Apache-2.0
"""Combined: remedies that were proven one by one are measured all at once; the last step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slowpath.core.results import Results
from slowpath.diagnose.combined.design import design
from slowpath.diagnose.combined.verdict import judge_combined
from slowpath.diagnose.records import CombinedOutcome
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import CombinedTask


def propose(state: State) -> Iterator[Proposal]:
    """Once for each set of cells and remedies that meet in them."""
    made = design(state)
    if made is None:
        return
    task, campaign = made
    if task.cases not in [done.cases for done in state.tasks(CombinedTask)]:
        yield Proposal(task, campaign, "proven remedies combined: does each still help?")


def apply(before: StepConclusion, task: CombinedTask, results: Results, history: StepHistory) -> StepConclusion:
    """Findings stay as they are."""
    return replace(before, combined=judge_combined(task, results, history.step.folder))


def summary(_: CombinedTask, __: StepConclusion, after: StepConclusion) -> str:
    """`keeps for SP008, SP018; loses for SP009`."""
    return outcome_words(after.combined) if after.combined else "no outcome"


COMBINED = StepKind(CombinedTask, apply, summary)


def outcome_words(outcome: CombinedOutcome) -> str:
    """Which findings keep, lose, or are undecided, in one line."""
    rules = {
        word: [finding.rule for finding in outcome.findings if finding.verdict == word]
        for word in ("keeps", "loses", "undecided")
    }
    parts = [f"{word} for {', '.join(those)}" for word, those in rules.items() if those]
    slower = len(outcome.side_effects)
    return "; ".join([*parts, *([f"{slower} other cells slower"] if slower else [])])
