# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as a folder of runs: what every part may know of it. All of diagnosis.json: slowpath.diagnose.records."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes

DIAGNOSIS_FILE = "diagnosis.json"


class StepInfo(msgspec.Struct, frozen=True):
    """One run of a diagnosis. folder: within the diagnosis.  why: it was made."""

    number: int
    folder: str
    why: str


class DiagnosisInfo(msgspec.Struct, frozen=True):
    """started: local time, ISO 8601.  mpi: identity."""

    schema: int
    started: str
    mpi: str | None = None
    status: str = "running"
    steps: list[StepInfo] = []


def is_diagnosis(folder: Path) -> bool:
    """Whether `slowpath diagnose` wrote this folder."""
    return (folder / DIAGNOSIS_FILE).is_file()


def read_info(folder: Path) -> DiagnosisInfo:
    """Of any schema.  Raises: RecordError: it is missing or damaged."""
    path = folder / DIAGNOSIS_FILE
    try:
        return msgspec.json.decode(read_bytes(path), type=DiagnosisInfo)
    except msgspec.DecodeError as error:
        raise RecordError(f"{path}: is not a diagnosis: {error}; name a folder that slowpath diagnose wrote") from error


def step_folders(folder: Path) -> list[Path]:
    """Run folders of its steps that are there, the survey first.  Raises: RecordError: damaged, or none is there."""
    found = [folder / one.folder for one in read_info(folder).steps if (folder / one.folder / "run.json").is_file()]
    if not found:
        raise RecordError(f"{folder}: no step of this diagnosis is there; its survey was not measured, or was moved")
    return found
