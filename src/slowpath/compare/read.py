# SPDX-License-Identifier: Apache-2.0
"""Reading of runs to compare: from a results.json or a run folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowpath.analyse.source import read_results
from slowpath.core.errors import RecordError
from slowpath.core.files import is_diagnosis, step_folders
from slowpath.core.results import Results, RunResult, nothing_measured

READY = "results.json"


class RunSource(msgspec.Struct, frozen=True):
    """Results of a run and their origin.  Args: folder: the run folder, or None for a results.json on its own."""

    path: Path
    results: Results
    folder: Path | None = None

    @property
    def run(self) -> RunResult:
        """Return the section `run` of the results."""
        return self.results.run


def read_source(path: Path) -> RunSource:
    """Read the results of a run folder, a diagnosis or a results.json.

    A diagnosis is represented by its survey, on which its other steps depend. A run folder is analysed again, since its
    results.json may be older than the launches, or edited; one on its own is used as it is. Nothing is written.
    Raises: RecordError: the path does not exist, or has no results, damaged ones or ones of another schema.
    """
    if not path.exists():
        raise RecordError(f"{path}: does not exist; name a run folder or a results.json")
    if path.is_dir() and is_diagnosis(path):
        return read_source(step_folders(path)[0])
    folder, ready = (path, path / READY) if path.is_dir() else (path.parent, path)
    has_record = (folder / "run.json").exists()
    if not (has_record and (folder / "launches").is_dir() and ready.name == READY) and ready.exists():
        return RunSource(path, read_results(ready))
    from slowpath.analyse.build import build_results  # numpy and scipy: only where there are no results yet

    return RunSource(path, build_results(folder), folder if has_record else None)


def require_measured(source: RunSource) -> RunSource:
    """Return the source if it holds a measurement.  Raises: RecordError: it holds none."""
    reason = nothing_measured(source.results)
    if reason is not None:
        raise RecordError(f"{source.path}: nothing was measured: {reason}; measure again")
    return source
