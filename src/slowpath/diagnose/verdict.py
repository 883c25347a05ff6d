# SPDX-License-Identifier: Apache-2.0
"""The verdict of a diagnosis, by the judge of every run: its findings as they are now, the survey's questions. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from slowpath.analyse.run_facts import run_facts
from slowpath.core.results import ContrastResult, Finding, Verdict
from slowpath.diagnose.program import ProgramUse, with_program
from slowpath.diagnose.state import MeasuredStep, survey_of
from slowpath.diagnose.tasks import RepeatTask, SurveyTask
from slowpath.findings.conclude import conclude


def verdict_of(
    findings: Sequence[Finding], measured: Sequence[MeasuredStep], program: ProgramUse | None = None
) -> Verdict:
    """Headline and counts; its lines are those of the survey.

    Args: measured: the survey first.  program: that the diagnosis is for.
    """
    survey = survey_of(measured).results
    task = survey_of(measured).step.task
    asked = isinstance(task, SurveyTask) and bool(task.only)
    # A diagnosis is asked for time, not for rounds; one that was asked for a slow path has it named, fault or not.
    facts = run_facts(survey)
    wrong = tuple(with_program(program, facts.wrong_place))
    run = dataclasses.replace(facts, rounds=0, round_s=None, is_check=not asked, wrong_place=wrong)
    cells = {cell.cell: cell for cell in survey.cells}
    return conclude(list(_still_asked(measured)), findings, run, cells=cells).verdict


def _still_asked(measured: Sequence[MeasuredStep]) -> Iterator[ContrastResult]:
    """The survey's contrasts without those that more pairs decided: what these showed is a finding, or no loss."""
    decided = {
        one.step.task.contrast
        for one in measured
        if isinstance(one.step.task, RepeatTask)
        and any(contrast.verdict in ("same", "faster", "slower") for contrast in one.results.contrasts)
    }
    yield from (contrast for contrast in survey_of(measured).results.contrasts if contrast.id not in decided)
