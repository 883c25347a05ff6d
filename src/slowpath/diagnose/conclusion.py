# SPDX-License-Identifier: Apache-2.0
"""What follows from the steps of a diagnosis, in order: the same folders give the same findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.analyse.run_facts import wrong_place
from slowpath.core.brief import MOST_ACTIONS
from slowpath.core.results import Finding, Results
from slowpath.diagnose.ranks.job import PAIR
from slowpath.diagnose.records import FILE, read_diagnosis
from slowpath.diagnose.state import MeasuredStep, survey_of
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory
from slowpath.diagnose.steps.registry import kind_of
from slowpath.findings.conclude import lines_of
from slowpath.findings.tally import group_of
from slowpath.mpi.forced import Forced
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


def named_first(findings: Sequence[Finding], survey: Results) -> list[Finding]:
    """Return the findings that the verdict's first lines stand for, in their order; what is wrong with the place takes
    lines before them.
    """
    lines = lines_of(findings)[: max(0, MOST_ACTIONS - len(wrong_place(survey.run, PAIR)))]
    return [finding for line in lines for finding in line]


def is_left_open(finding: Finding) -> bool:
    """Whether the verdict has it in its line of what is undecided."""
    return group_of(finding) in ("suspicion", "untried")


Concluded = tuple[Sequence[Finding], Results]


def diagnosed(folder: Path) -> Concluded | None:
    """Findings of the whole diagnosis and results of its survey; None: there is none in this folder, or it is not over.

    Raises: RecordError: the folder is damaged.
    """
    if not (folder / FILE).is_file():
        return None
    diagnosis = read_diagnosis(folder)
    if diagnosis.status not in ("named", "settled", "budget"):
        return None
    measured = [MeasuredStep(step, build_results(folder / step.folder)) for step in diagnosis.steps]
    return conclude(measured, diagnosis.forced).findings, survey_of(measured).results
