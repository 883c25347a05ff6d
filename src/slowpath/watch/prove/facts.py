# SPDX-License-Identifier: Apache-2.0
"""What is known of a watched program before it is run again: its MPI, its findings, what changed since."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.core.owners import ROOT, WRITABLE_BY_OTHERS
from slowpath.mpi.identify import named_in
from slowpath.mpi.mpi import inspect
from slowpath.mpi.recorded_variables import recorded_variables
from slowpath.watch.folder import WatchInfo
from slowpath.watch.prove.candidate import MpiFacts
from slowpath.watch.results import WatchFinding, WatchResults
from slowpath.watch.results_file import read_watch_results
from slowpath.watch.start.launcher import launcher_of


def results_of(watch: Path) -> WatchResults | None:
    """results.json of a watch; None: it was not concluded, or by another version."""
    try:
        return read_watch_results(watch)
    except RecordError:
        return None


def mpi_of(info: WatchInfo, results: WatchResults | None, environ: Mapping[str, str]) -> MpiFacts:
    """By what the program said when it was watched, else by its launcher."""
    launcher = launcher_of(info.command, environ) if info.command else ""
    said = named_in(results.program.library) if results is not None else None
    found = shutil.which(info.command[0], path=environ.get("PATH")) if launcher else None
    mpi = inspect(Path(found), "option", environ) if found else None
    path = None
    if mpi is not None:
        folders = (mpi.prefix / "lib", mpi.prefix / "lib64")
        path = next((one for folder in folders for one in sorted(folder.glob("libmpi.so.*"))), None)
    if path is None and results is not None and results.program.library_path:
        path = of_system(Path(results.program.library_path))
    name, version = (said[0].name, said[1]) if said is not None else (mpi.name, mpi.version) if mpi else (None, None)
    transport = mpi.transport if mpi is not None and mpi.name == name else None
    return MpiFacts(None if name == "unknown" else name, version, transport, path, launcher)


def of_system(path: Path) -> Path | None:
    """The file behind `path`, without any link, where root alone can change it and each folder down to it.

    None: elsewhere, since a folder does not decide what is loaded. From / on, each part is no link and in a folder that
    was found to be root's alone, so that nobody else can put another file in its place afterwards. A sticky folder that
    others can write is none of these: they choose what is in it.
    """
    try:
        real = path.resolve(strict=True)
        for part in (*reversed(real.parents), real):
            status = part.lstat()
            kind = stat.S_ISREG if part == real else stat.S_ISDIR
            if not kind(status.st_mode) or status.st_uid != ROOT or status.st_mode & WRITABLE_BY_OTHERS:
                return None
    except (OSError, RuntimeError, ValueError):
        return None
    return real


def findings_of(results: WatchResults | None) -> list[WatchFinding]:
    """The most that could be saved first."""
    found = list(results.findings) if results is not None else []
    return sorted(found, key=lambda one: -(one.saved_s if one.saved_s is not None else one.seconds))


def changed_since(info: WatchInfo, environ: Mapping[str, str]) -> list[str]:
    """Variables that steer MPI and are others than when the program was watched."""
    now, _ = recorded_variables(environ)
    # Of a job each one is new, and says nothing of how the program runs.
    names = {name for name in {*now, *info.variables} if not name.startswith(("SLURM_", "PBS_", "FLUX_", "SLOWPATH_"))}
    return sorted(name for name in names if now.get(name) != info.variables.get(name))
