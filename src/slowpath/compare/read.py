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
    nothing_measured,
)

READY = "results.json"
_OTHER = "{} is not what its launches give: it is older, edited, damaged or of another version. It was not used"


class Source(msgspec.Struct, frozen=True):
    """Results and where they are from. folder: the run folder; None: a results.json that stands alone.

    notes: what the reader is to know of where they are from.
    """

    path: Path
    results: Results
    folder: Path | None = None
    notes: tuple[str, ...] = ()

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
    folder is analysed anew, whatever results.json lies in it: that may be older than the launches, or edited. Only one
    that stands alone, without launches next to it, is taken as it is. Nothing is written.
    Raises: RecordError: nothing there, damaged, no results, or of another schema.
    """
    if not path.is_dir():
        if not path.exists():
            raise RecordError(f"{path}: does not exist; name a run folder or a results.json")
        if path.name == READY and _has_launches(path.parent):
            return _analysed(path, path.parent)
        return Source(path, read_results(path))
    if is_diagnosis(path):
        return read_source(step_folders(path)[0])
    ready = path / READY
    if ready.exists() and not _has_launches(path):
        return Source(path, read_results(ready))
    return _analysed(path, path)


def require_measured(source: Source) -> Source:
    """Raises: RecordError: nothing was measured in it, so that nothing can be concluded from it."""
    reason = nothing_measured(source.results)
    if reason is not None:
        raise RecordError(f"{source.path}: nothing was measured: {reason}; measure again")
    return source


def _has_launches(folder: Path) -> bool:
    """Whether there is a record that results can be made from."""
    if (folder / "run.json").exists():
        return (folder / "launches").is_dir()
    from slowpath.experiments.ipc.folder import ipc_folders

    return bool(ipc_folders(folder))


def _analysed(path: Path, folder: Path) -> Source:
    """From the record.  Args: path: what the user named."""
    from slowpath.analyse.build import build_results  # numpy and scipy: only where there are no results yet

    results, ready = build_results(folder), folder / READY
    notes = (_OTHER.format(ready),) if ready.exists() and not _agrees(ready, results) else ()
    return Source(path, results, folder if (folder / "run.json").is_file() else None, notes)


def _agrees(ready: Path, results: Results) -> bool:
    """Whether a results.json holds the values that its launches give."""
    try:
        return read_results(ready).cells == results.cells
    except RecordError:
        return False
