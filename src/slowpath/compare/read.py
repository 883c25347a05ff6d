# SPDX-License-Identifier: Apache-2.0
"""Reading of runs to compare: from a results.json or a run folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowpath.analyse.source import read_results
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import RecordError
from slowpath.core.files import is_diagnosis, step_folders
from slowpath.core.results import EnvironmentResult, MpiResult, PlacementResult, Results, RunResult, nothing_measured

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


def mpi_of(run: RunResult, name: str | None) -> MpiResult:
    """Return the facts that the run states about the MPI that its cells call `name`."""
    return next((mpi for mpi in run.mpis if mpi.mpi == name), run.mpi)


def environment_of(run: RunResult, cell: CellResult) -> EnvironmentResult | None:
    """Return the cell's environment under its MPI, or None if the run does not state it."""
    alike = (e for e in run.environments if e.name == cell.environment and e.mpi in (None, cell.mpi))
    return next(alike, None)


def placement_of(run: RunResult, cell: CellResult) -> PlacementResult | None:
    """Return the cell's placement, or None if the run does not state it."""
    return next((p for p in run.placements if p.name == cell.placement), None)


def read_source(path: Path) -> RunSource:
    """Read the results of a run folder, a diagnosis or a results.json.

    A diagnosis is represented by its survey, because the other steps depend on what it found. A run folder is analysed
    again, because its results.json may be older than the launches, or edited. Only a results.json without launches next
    to it is used as it is. Nothing is written.
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
