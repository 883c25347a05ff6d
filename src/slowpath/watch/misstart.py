# SPDX-License-Identifier: Apache-2.0
"""A program whose processes each ran alone: its launcher and its MPI library don't know each other.

A launcher tells each process its rank by a protocol of its own library (PMI, PMIx). A library that hears nothing starts
as a job of one rank, without a message: N processes then do the whole work N times.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import UsageError
from slowpath.mpi.identify import named_in
from slowpath.mpi.launchers import launcher_named
from slowpath.mpi.libraries import MPI_LIBRARIES
from slowpath.watch.folder import WatchInfo, WatchLauncher
from slowpath.watch.record.job import WatchedJob

FEWEST = 2  # processes; one alone may be meant so
_NAMES = ("mpiexec", "mpirun")
# Of one library's launcher, by which a system with several tells them apart (Debian: mpiexec.openmpi).
_SUFFIXES = {"openmpi": ("openmpi",), "mpich": ("mpich", "hydra"), "intelmpi": ("hydra",), "mvapich": ("hydra",)}


@dataclass(frozen=True)
class Misstart:
    """text: what is wrong with how the ranks were started, without a full stop.  remedy: what to do, one sentence."""

    text: str
    remedy: str


def misstart(info: WatchInfo, job: WatchedJob) -> Misstart | None:
    """None: nothing is wrong, or it is not known."""
    if job.alone < FEWEST or (info.launcher is None and job.rank_variable is None):
        return None
    return _sentence(job.alone, info.launcher, job)


def alone_note(info: WatchInfo, job: WatchedJob) -> str | None:
    """The same where no launcher is known: it may be meant so; None: it is known, or there is nothing to say."""
    if job.alone < FEWEST or info.launcher is not None or job.rank_variable is not None:
        return None
    return (
        f"{job.alone} processes ran at the same time, each alone as rank 0 of 1. If one launcher started them, it "
        f"does not belong to the program's library ({job.records[0].words('library_path')})"
    )


def _sentence(count: int, launcher: WatchLauncher | None, job: WatchedJob) -> Misstart:
    record = job.records[0]
    path = record.words("library_path")
    known = named_in(record.words("library"))
    name, version = (known[0].name, known[1]) if known else (None, None)
    library = f"the program's library ({path}, {_titled(name, version)})"
    head = f"Each of {count} processes ran alone as rank 0 of 1:"
    own = own_launcher(Path(path), name) if path else None
    is_other = own is not None and (launcher is None or not _is_same(own, launcher.path))
    start = f"Start it with {own}." if is_other else "Start it with the launcher of that library."
    if launcher is None:
        variable, by = job.rank_variable or ("", None)
        who = f"what started them ({by})" if by else "what started them"
        return Misstart(f"{head} {who} gave each a rank by {variable}, which {library} ignored", start)
    word = Path(launcher.path).name
    if launcher.library is None:
        return Misstart(f"{head} {word} gave them no job that {library} understands", _pmi(launcher, name))
    this = f"this {word} ({launcher.path}, {_titled(launcher.library, launcher.version)})"
    if name is not None and (launcher.library == "openmpi") != (name == "openmpi"):
        return Misstart(f"{head} {this} does not belong to {library}", start)
    hint = start if is_other else "Do their versions differ, or were variables removed (PMI_*, PMIX_*)?"
    return Misstart(f"{head} {this} gave them no job that {library} understands", hint)


def _pmi(launcher: WatchLauncher, library: str | None) -> str:
    """What a batch system's launcher speaks."""
    try:
        found = launcher_named(launcher.name).pmi.get(library or "")
    except UsageError:
        found = None
    if found:
        return f"Start it with: {launcher.name} {found} ({launcher.name} --mpi=list lists the choices)."
    return "Start it with the launcher of that library."


def _titled(name: str | None, version: str | None) -> str:
    title = next((library.title for library in MPI_LIBRARIES if library.name == name), "an MPI that is not known")
    return f"{title} {version}" if version else title


def own_launcher(library_path: Path, name: str | None) -> Path | None:
    """The launcher of the installation that a library lies in; None: not found, or it could be another library's.

    Args: name: of the library. In a folder of several MPIs (/usr/bin) its launcher has a name of its own.
    """
    for folder in library_path.parents[:4]:
        if folder == Path("/"):
            return None
        of_its_own = [
            folder / "bin" / f"{word}.{suffix}" for word in _NAMES for suffix in _SUFFIXES.get(name or "", ())
        ]
        plain = [] if folder == Path("/usr") else [folder / "bin" / word for word in _NAMES]
        for path in (*of_its_own, *plain):
            if path.is_file() and os.access(path, os.X_OK):
                return path
    return None


def _is_same(one: Path, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
