# SPDX-License-Identifier: Apache-2.0
"""Slowpath finds, explains and proves slow paths in MPI communication.

import slowpath
run = slowpath.open("slowpath-runs/checkup-20260131-120000")      # docs/how-to/other-tools.md
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.core.version import __version__

if TYPE_CHECKING:
    from slowpath.report.api import Run
    from slowpath.watch.report.api import Watch

__all__ = ["__version__", "open"]


def open(path: str | PathLike[str]) -> Run | Watch:
    """Open a run folder, whole or unfinished, a diagnosis (a slowpath.report.api.DiagnosisRun), or a watch.

    Raises: RecordError: `path` is none of these, or can't be read.
    """
    # Imported here, so that `slowpath --help` does not wait for numpy.
    from slowpath.core.errors import unreadable
    from slowpath.core.files import is_diagnosis
    from slowpath.report.api import DiagnosisRun, Run
    from slowpath.watch.folder import is_watch
    from slowpath.watch.report.api import Watch

    folder = Path(path)
    if not folder.is_dir():
        raise unreadable(folder, "no folder" if folder.exists() else "does not exist", "name a run folder")
    if is_watch(folder):
        return Watch(folder)
    if is_diagnosis(folder):
        return DiagnosisRun(folder)
    run = Run(folder)
    _ = run.info  # a folder that is no run is refused here and not later
    return run
