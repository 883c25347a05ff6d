# SPDX-License-Identifier: Apache-2.0
"""`slowpath.open`: what a folder is, a run, a diagnosis or a watch."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.decoding import decoded
from slowpath.core.diagnosis_folder import DIAGNOSIS_FILE, DiagnosisInfo, is_diagnosis, read_info, step_folders
from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes
from slowpath.core.limits import FILE_BYTES
from slowpath.core.results import Finding
from slowpath.core.watch_folder import is_watch
from slowpath.report.api import Run
from slowpath.report.rows import Row
from slowpath.report.watch.api import Watch


class _Findings(msgspec.Struct):
    findings: list[Finding] = []


class DiagnosisRun(Run):
    """The folder of a diagnosis. Cells, contrasts and samples are those of its survey; `steps` are all runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.diagnosis: DiagnosisInfo = read_info(folder)
        super().__init__(step_folders(folder)[0])

    def __repr__(self) -> str:
        return f"<DiagnosisRun {self.folder.name!r} {self.diagnosis.status}>"

    @cached_property
    def steps(self) -> list[Run]:
        """Its runs, the survey first."""
        return [Run(folder) for folder in step_folders(self.folder)]

    @property
    def findings(self) -> list[Finding]:
        """Slow paths by name, with what all steps showed of them.  Raises: RecordError: of an older schema."""
        path = self.folder / DIAGNOSIS_FILE
        advice = "if an older slowpath wrote it: slowpath diagnose --resume"
        return decoded(
            read_bytes(path, FILE_BYTES[DIAGNOSIS_FILE], within=self.folder), _Findings, path, advice
        ).findings

    def rows(self) -> list[Row]:
        """Rows of all steps, each with its step's folder."""
        return [{"step": run.path.name, **row} for run in self.steps for row in run.rows()]

    def contrast_rows(self) -> list[Row]:
        """Contrasts of all steps, each with its step's folder."""
        return [{"step": run.path.name, **row} for run in self.steps for row in run.contrast_rows()]

    def to_diagnosis_dict(self) -> dict[str, Any]:
        """diagnosis.json."""
        path = self.folder / DIAGNOSIS_FILE
        content = read_bytes(path, FILE_BYTES[DIAGNOSIS_FILE], within=self.folder)
        return decoded(content, dict[str, Any], path, "name a folder that slowpath diagnose wrote")


def open(path: str | PathLike[str]) -> Run | Watch:
    """A run folder, whole or unfinished, a diagnosis (a slowpath.report.opened.Diagnosis), or a watch.

    Raises: RecordError if `path` is none, or can't be read.
    """
    folder = Path(path)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise RecordError(f"{folder}: {what}; name a run folder")
    if is_watch(folder):
        return Watch(folder)
    if is_diagnosis(folder):
        return DiagnosisRun(folder)
    run = Run(folder)
    _ = run.info  # a folder that is no run is refused here and not later
    return run
