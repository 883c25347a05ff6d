# SPDX-License-Identifier: Apache-2.0
"""The engines of a cache that may be started: nobody else's, and as they were when they were put there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.owners import require_place, shut, why_not_trusted
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import (
    NOTE,
    STANDARD_ABI,
    VARIABLE,
    Engine,
    EngineNote,
    cached_engine,
    engines_folder,
    list_engines,
)

Tell = Callable[[str], None]
LOOKS, BETWEEN_LOOKS_S = 40, 0.05


def seal(folder: Path, note: EngineNote) -> None:
    """Write `note` with the checksums of all files of a new engine, which nobody else may write from now on."""
    sums = {path.name: checksum(path) for path in sorted(folder.iterdir()) if path.name != NOTE}
    (folder / NOTE).write_bytes(msgspec.json.encode(msgspec.structs.replace(note, files=sums)))
    for path in (folder, *folder.iterdir()):
        shut(path)


def trusted_folder(environ: Mapping[str, str]) -> Path:
    """Folder of the engines, which need not be there.  Raises: EnvironmentFailure: others could change what is run."""
    folder = engines_folder(environ)
    require_place(folder, "engines", VARIABLE, environ)
    return folder


def usable_engine(folder: Path, environ: Mapping[str, str], tell: Tell = lambda _: None) -> Engine | None:
    """The engine in this folder of the cache; None: there is none, or it must not be run, and `tell` gets the reason.

    Raises: EnvironmentFailure: as `trusted_folder`.
    """
    trusted_folder(environ)
    seen = _identity(folder)
    while seen is not None:
        reason, engine = why_not_usable(folder, environ), cached_engine(folder)
        if reason is None and engine is not None:
            return engine
        before, seen = seen, _identity(folder)
        if before == seen:  # else another process put a new one there meanwhile, and this was half of each
            tell(f"the engine in {folder} is not used, but made anew: {reason}")
            return None
    return None


def kept_now(folder: Path, environ: Mapping[str, str]) -> Engine:
    """The engine that was just put there, by us or a faster process.  Raises: EnvironmentFailure: it can't be used."""
    for _ in range(LOOKS):
        reason, engine = why_not_usable(folder, environ), cached_engine(folder)
        if reason is None and engine is not None:
            return engine
        time.sleep(BETWEEN_LOOKS_S)  # another process exchanges it just now, by two renames
    raise EnvironmentFailure(
        f"the engine in {folder} is not run: {reason}; set {VARIABLE} to a file system that keeps owners, modes "
        "and contents"
    )


def discard(folder: Path, environ: Mapping[str, str]) -> None:
    """Take what must not be used out of the way.  Raises: OSError: it is another's, in a folder where that protects."""
    if folder.exists() and why_not_usable(folder, environ) is not None:
        aside = folder.with_name(f".{folder.name}-discarded-{os.getpid()}-{threading.get_ident()}")
        try:
            folder.rename(aside)
        except FileNotFoundError:  # another process was faster
            return
        if why_not_usable(aside, environ) is None:  # another process put a whole one there after our look
            with contextlib.suppress(OSError):
                aside.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)


def usable_engines(environ: Mapping[str, str], wanted: Callable[[Engine], bool]) -> Iterator[Engine]:
    """Yield the engines of the cache that are `wanted` and may be run, the newest first; each is read when it is
    needed.

    Raises: EnvironmentFailure: as `trusted_folder`.
    """
    trusted_folder(environ)
    found = sorted(filter(wanted, list_engines(environ)), key=lambda engine: engine.note.built, reverse=True)
    return (engine for engine in found if why_not_usable(engine.program.parent, environ) is None)


def why_not_usable(folder: Path, environ: Mapping[str, str]) -> str | None:
    """Why the engine in `folder` must not be run: another could have made it, or it is not whole; None: it may."""
    try:
        status = folder.stat()
    except OSError as error:
        return error.strerror or str(error)
    if reason := why_not_trusted(status, environ):
        return reason
    engine = cached_engine(folder)
    if engine is None:
        return f"it was damaged: {NOTE} or the program can't be read"
    if not engine.note.files:
        return "it has no checksums (from an earlier version)"
    return _why_not_files(folder, engine.note, environ)


def why_damaged(folder: Path, sums: Mapping[str, str]) -> str | None:
    """Return which file is not what it was.  sums: name -> SHA-256.  None: each is as it was."""
    for name, kept in sums.items():
        try:
            if checksum(folder / name) != kept:
                return f"it was damaged: {name} is not what was put there"
        except OSError as error:
            return f"it was damaged: {name}: {error.strerror or error}"
    return None


def built_for(mpi: Mpi, source: str, processor: str, environ: Mapping[str, str]) -> Engine | None:
    """The newest engine that was compiled here for this MPI from this source, whichever compiler and BLAS made it."""
    facts = (mpi.identity, mpi.abi, str(mpi.mpicxx), source, processor)
    return next(usable_engines(environ, lambda engine: _facts(engine.note) == facts), None)


def standard_engines(source: str, environ: Mapping[str, str]) -> Iterator[Engine]:
    """Engines built against the ABI of MPI-5 from this source, the newest first."""
    return usable_engines(environ, lambda engine: engine.note.abi == STANDARD_ABI and engine.note.source == source)


def _facts(note: EngineNote) -> tuple[str, ...]:
    return (note.mpi, note.abi, note.mpicxx, note.source, note.processor)


def _why_not_files(folder: Path, note: EngineNote, environ: Mapping[str, str]) -> str | None:
    for name in (NOTE, *note.files):
        try:
            if reason := why_not_trusted((folder / name).stat(), environ):
                return f"{name}: {reason}"
        except OSError as error:
            return f"it was damaged: {name}: {error.strerror or error}"
    return why_damaged(folder, note.files)


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def checksum(path: Path) -> str:
    """SHA-256 of a file.  Raises: OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
