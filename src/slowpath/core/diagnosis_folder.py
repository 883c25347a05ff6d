# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as a folder of runs: what every part may know of it. All of diagnosis.json: slowpath.diagnose.records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from slowpath.core.decoding import decoded
from slowpath.core.errors import RecordError
from slowpath.core.files import inside, read_bytes
from slowpath.core.limits import FILE_BYTES, LONGEST_ID, MOST_STEPS, Name, Text, Whole

DIAGNOSIS_FILE = "diagnosis.json"
_SURVEY = "-survey"  # how the name of its folder ends
# One folder of the diagnosis itself: nothing hidden, no way up, no way elsewhere.
StepFolder = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=LONGEST_ID)]


class StepInfo(msgspec.Struct, frozen=True):
    """One run of a diagnosis. folder: within the diagnosis.  why: it was made."""

    number: Whole
    folder: StepFolder
    why: Text


class DiagnosisInfo(msgspec.Struct, frozen=True):
    """started: local time, ISO 8601.  mpi: identity."""

    schema: Whole
    started: Name
    mpi: Name | None = None
    status: Name = "running"
    steps: Annotated[list[StepInfo], Meta(max_length=MOST_STEPS)] = []


def is_diagnosis(folder: Path) -> bool:
    """Whether `slowpath diagnose` wrote this folder."""
    return (folder / DIAGNOSIS_FILE).is_file()


def read_info(folder: Path) -> DiagnosisInfo:
    """Read the diagnosis of any schema.  Raises: RecordError: it is missing or damaged."""
    path = folder / DIAGNOSIS_FILE
    content = read_bytes(path, FILE_BYTES[DIAGNOSIS_FILE], within=folder)
    return decoded(content, DiagnosisInfo, path, "name a folder that slowpath diagnose wrote", "is not a diagnosis")


def step_folders(folder: Path) -> list[Path]:
    """Run folders of its steps that are there, the survey first.

    Raises: RecordError: damaged, none is there, or one leads out of the diagnosis.
    """
    steps = [inside(folder, step.folder) for step in read_info(folder).steps]
    steps.sort(key=lambda step: not step.name.endswith(_SURVEY))  # a step before it may be about the user's own state
    found = [step for step in steps if (step / "run.json").is_file()]
    if not found:
        raise RecordError(f"{folder}: no step of this diagnosis exists; its survey was not measured, or was moved")
    return found
