# SPDX-License-Identifier: Apache-2.0
"""Results of a run, from a results.json or a run folder, and what they state of a cell's surroundings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowpath.analyse.results_file import read_results
from slowpath.core.cell_results import CellResult
from slowpath.core.diagnosis_folder import is_diagnosis, step_folders
from slowpath.core.errors import RecordError
from slowpath.core.results import (
    EnvironmentResult,
    MpiResult,
    PlacementResult,
    Results,
    RunResult,
)


class Source(msgspec.Struct, frozen=True):
    """Results and where they are from. folder: the run folder; None: a results.json that stands alone."""

    path: Path
    results: Results
    folder: Path | None = None

    @property
    def run(self) -> RunResult:
        """The section `run`."""
        return self.results.run


def mpi_of(run: RunResult, name: str | None) -> MpiResult:
    """What the run states of the MPI that cells call `name`."""
    return next((one for one in run.mpis if one.mpi == name), run.mpi)


def environment_of(run: RunResult, cell: CellResult) -> EnvironmentResult | None:
    """What the cell's environment means under its MPI; None where the run does not state it."""
    found = (e for e in run.environments if e.name == cell.environment and e.mpi in (None, cell.mpi))
    return next(found, None)


def placement_of(run: RunResult, cell: CellResult) -> PlacementResult | None:
    """The cell's placement; None where the run does not state it."""
    return next((p for p in run.placements if p.name == cell.placement), None)


def read_source(path: Path) -> Source:
    """Results of a run folder, of a diagnosis or of a results.json wherever it stands.

    A diagnosis stands for its survey: the other steps of two diagnoses measure what each found, and not the same. A run
    folder whose results.json is missing or older than the end of its run is analysed anew; nothing is written.
    Raises: RecordError: nothing there, damaged, no results, or of another schema.
    """
    if path.is_file():
        whole = (path.parent / "run.json").is_file() and path.name == "results.json"
        return Source(path, read_results(path), path.parent if whole else None)
    if not path.exists():
        raise RecordError(f"{path}: does not exist; name a run folder or a results.json")
    if is_diagnosis(path):
        return read_source(step_folders(path)[0])
    ready, run = path / "results.json", path / "run.json"
    folder = path if run.is_file() else None
    if ready.is_file() and (folder is None or ready.stat().st_mtime >= run.stat().st_mtime):
        return Source(path, read_results(ready), folder)
    return Source(path, _analysed(path), folder)


def _analysed(folder: Path) -> Results:
    from slowpath.analyse.build import build_results  # numpy and scipy: only where there are no results yet

    return build_results(folder)
