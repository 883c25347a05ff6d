# SPDX-License-Identifier: Apache-2.0
"""diagnosis.json: what was done and what follows from it. Written after every step, so that nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slowpath.core.files import (
    DIAGNOSIS_FILE,
    StepFolder,
    decoded,
    json_bytes,
    read_bytes,
    require_schema,
    write_atomically,
)
from slowpath.core.result import FILE_BYTES, MOST_STEPS, Count, LongText, Name, NotNegative, Number, Whole
from slowpath.core.results import Finding, Verdict
from slowpath.diagnose.program import ProgramUse
from slowpath.diagnose.tasks import LeftOut, SurveyTask, Task
from slowpath.findings.finding import LeastSeen
from slowpath.mpi.settings import Forced

SCHEMA = 3
FILE = DIAGNOSIS_FILE

Status = Literal["running", "settled", "named", "budget", "interrupted"]


class DiagnosisStep(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the diagnosis. wall_s, summary (what came out, one line): None until it is over.

    launches_left_out: of a survey that its share of the budget ended.
    """

    number: Whole
    folder: StepFolder
    why: LongText
    estimate_s: NotNegative
    task: Task
    wall_s: NotNegative | None = None
    summary: LongText | None = None
    launches_left_out: Count = 0


class ScreenedSuspect(msgspec.Struct, frozen=True, kw_only=True):
    """An alternative that looked faster. cells, ratios: time as it is over time with it, of each, the most first."""

    name: Name
    cells: list[Name]
    ratios: list[Number]


class AlternativesOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a screening of the library's own choices showed.

    rows: alternatives that were measured alone.  failed: of those, alternative -> why no launch with it worked.
    slower: that slow down a cell by themselves.  suspects: that looked faster; findings are of fresh launches.
    left_out: alternative of this library -> why it can change nothing here.
    """

    rows: Whole
    failed: dict[Name, LongText]
    slower: list[Name]
    suspects: list[ScreenedSuspect]
    left_out: dict[Name, LongText]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """A whole diagnosis.

    status: named: no more than names was asked for; budget: stopped at it.  forced: variables of the user's that are
    known to force a slow state.  name_only: nothing is explained, refined or tried.  next: what would be measured next.
    verdict: by the judge of every run; None: nothing
    was measured yet.
    only: rules and questions that were asked for; empty: all.  not_tried: remedies that can't help on this machine.
    program: that it is for; None: for no program in particular.
    own_settings: a line for each setting of the user's that is ignored, left in or otherwise worth one.
    paths: what carries messages, a line for each path, or why it is not known; empty: no launch was asked.
    least: what the survey would have decided, by its own spread; empty: nothing has one.
    alternatives: None: the library's own choices were not screened.
    """

    schema: Whole
    slowpath: Name
    command: list[LongText]
    started: Name
    budget_s: NotNegative
    mpi: Name | None
    status: Status = "running"
    finished: Name | None = None
    spent_s: NotNegative = 0.0
    forced: list[Forced] = []
    steps: Annotated[list[DiagnosisStep], Meta(max_length=MOST_STEPS)] = []
    findings: list[Finding] = []
    next: list[str] = []
    name_only: bool = False
    verdict: Verdict | None = None
    only: list[str] = []
    not_tried: list[LeftOut] = []
    own_settings: list[LongText] = []
    paths: list[LongText] = []
    least: list[LeastSeen] = []
    program: ProgramUse | None = None
    alternatives: AlternativesOutcome | None = None

    @property
    def launches_left_out(self) -> int:
        """Of the survey, by its share of the budget."""
        return sum(step.launches_left_out for step in self.steps)


def survey_step(diagnosis: Diagnosis) -> DiagnosisStep | None:
    """The survey; the first step where there is none; None: there is no step."""
    surveys = (step for step in diagnosis.steps if isinstance(step.task, SurveyTask))
    return next(surveys, diagnosis.steps[0] if diagnosis.steps else None)


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Raises: EnvironmentFailure when the disk refuses."""
    write_atomically(folder / FILE, json_bytes(diagnosis))


def read_diagnosis(folder: Path) -> Diagnosis:
    """Raises: RecordError: it is missing, damaged or of another version."""
    path = folder / FILE
    content = read_bytes(path, FILE_BYTES[FILE], within=folder)
    advice = "name a folder that slowpath diagnose wrote"
    require_schema(content, path, SCHEMA, advice, "is not a diagnosis")
    return decoded(content, Diagnosis, path, advice, "is not a diagnosis")
