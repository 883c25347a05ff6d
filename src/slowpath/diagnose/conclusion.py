# SPDX-License-Identifier: Apache-2.0
"""What follows from the steps of a diagnosis, in order: the same folders give the same findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory
from slowpath.diagnose.steps.registry import kind_of
from slowpath.mpi.settings import Forced
from slowpath.slowpaths.evaluate import without_split_medians


def conclude(measured: Sequence[MeasuredStep], forced: Sequence[Forced]) -> StepConclusion:
    """From all steps, the survey first.

    Args: forced: variables of the user's that force a slow state.
    """
    concluded = StepConclusion()
    for one in measured:
        concluded = _applied(concluded, one, measured, forced)
    return concluded


def advance(before: StepConclusion, measured: Sequence[MeasuredStep], forced: Sequence[Forced]) -> StepConclusion:
    """`conclude(measured)`, from what it was without the last step."""
    if kind_of(measured[-1].step.task).adds_evidence:
        return conclude(measured, forced)
    return _applied(before, measured[-1], measured, forced)


def _applied(
    before: StepConclusion, one: MeasuredStep, measured: Sequence[MeasuredStep], forced: Sequence[Forced]
) -> StepConclusion:
    task = one.step.task
    after = kind_of(task).apply(before, task, one.results, StepHistory(one.step, measured, forced))
    return replace(after, findings=without_split_medians(after.findings))
