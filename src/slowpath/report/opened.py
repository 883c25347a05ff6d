# SPDX-License-Identifier: Apache-2.0
"""`slowpath.open`: what a folder is, a run, a diagnosis or a watch."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from slowpath.core.diagnosis_folder import is_diagnosis
from slowpath.core.errors import RecordError
from slowpath.core.watch_folder import is_watch
from slowpath.report.api import Run
from slowpath.report.diagnosis_api import Diagnosis
from slowpath.report.watch.api import Watch


def open(path: str | PathLike[str]) -> Run | Watch:
    """A run folder, whole or unfinished, a diagnosis (a slowpath.report.diagnosis_api.Diagnosis), or a watch.

    Raises: RecordError if `path` is none, or can't be read.
    """
    folder = Path(path)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise RecordError(f"{folder}: {what}; name a run folder")
    if is_watch(folder):
        return Watch(folder)
    if is_diagnosis(folder):
        return Diagnosis(folder)
    run = Run(folder)
    _ = run.info  # a folder that is no run is refused here and not later
    return run
