# SPDX-License-Identifier: Apache-2.0
"""Where built engines are kept: one folder an engine, named by what it was built from and for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.mpi import Mpi

VARIABLE = "SLOWPATH_CACHE_DIR"
CHOICE = "SLOWPATH_ENGINE"  # an engine's path, or `abi`; without it each MPI gets an engine of its own
PROGRAM = "slowpath-engine"
NOTE = "engine.json"
STANDARD_ABI = "mpi-5"  # EngineNote.abi of an engine that runs under every library with the ABI of MPI-5
# What the engine is not made of.
LEFT_OUT = ("tests", "fuzz", "printed", "build", "__pycache__")


class EngineNote(msgspec.Struct, frozen=True):
    """engine.json: what lies in this folder of the cache.

    blas       as CMake reports; None: there was none, or the engine is from before it was asked
    processor  what the machine can do that it was compiled for; empty: it runs on each of its architecture
    files      SHA-256 of each file beside this one, by name; empty: an earlier version put them there
    """

    key: str
    mpi: str
    abi: str
    mpicxx: str
    compiler: str
    source: str
    built: str
    blas: str | None = None
    processor: str = ""
    files: dict[str, str] = {}


@dataclass(frozen=True)
class Engine:
    """A built engine."""

    program: Path
    note: EngineNote

    @property
    def facts(self) -> dict[str, str]:
        """Return what run.json states of it."""
        note = self.note
        built = {"abi": note.abi}
        return {"key": note.key, "compiler": note.compiler, "path": str(self.program), **built}


class UsableEngine(Protocol):
    """An engine that can be started: one that this version built, or one that an earlier run recorded."""

    @property
    def program(self) -> Path:
        """Return what is started."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what run.json states of it: key, compiler, path."""


def engines_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Folder of all built engines; SLOWPATH_CACHE_DIR overrides the user's cache folder."""
    environ = os.environ if environ is None else environ
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser().absolute() / "engines"
    import platformdirs

    return Path(platformdirs.user_cache_dir("slowpath")) / "engines"


def source_hash(source: Path) -> str:
    """Hash of the engine's source: names and contents, tests left out. Raises EnvironmentFailure if there is none."""
    digest = hashlib.sha256()
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and not _left_out(path, source)]
    if not (source / "CMakeLists.txt").is_file():
        raise EnvironmentFailure(f"the engine's source is missing ({source}); reinstall slowpath")
    for path in files:
        digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def engine_key(mpi: Mpi, source: str, compiler: str, blas: str, processor: str) -> str:
    """Name of an engine's folder: the library for people to read, then a hash of all it depends on.

    Args: source, compiler: hash of the source, the compiler's own words.  blas: identity of what there is to choose
          from (engine.blas).  processor: what it can do.
    """
    text = "\n".join([mpi.build_identity, source, compiler, blas, processor])
    return f"{mpi.name}-{mpi.version or 'unknown'}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def cached_engine(folder: Path) -> Engine | None:
    """The engine that a folder's note describes, None if there is none. Whether it may be run: engine.whole."""
    try:
        note = msgspec.json.decode((folder / NOTE).read_bytes(), type=EngineNote)
    except (OSError, *DAMAGE):
        return None
    program = folder / PROGRAM
    return Engine(program, note) if os.access(program, os.X_OK) else None


def list_engines(environ: Mapping[str, str] | None = None) -> list[Engine]:
    """Return all built engines, by name."""
    folder = engines_folder(environ)
    if not folder.is_dir():
        return []
    found = (cached_engine(path) for path in sorted(folder.iterdir()) if path.is_dir())
    return [engine for engine in found if engine is not None]


def engine_at(program: Path) -> Engine:
    """An engine wherever it stands. Raises: EnvironmentFailure: there is none."""
    if not os.access(program, os.X_OK) or not program.is_file():
        raise EnvironmentFailure(f"{CHOICE}={program}: there is no engine; name its file, or abi")
    kept = cached_engine(program.parent)
    unknown = "unknown"
    note = EngineNote(str(program), unknown, unknown, unknown, unknown, unknown, unknown)
    return Engine(program, kept.note if kept and kept.program.name == program.name else note)


def _left_out(path: Path, source: Path) -> bool:
    parts = path.relative_to(source).parts
    return any(part in LEFT_OUT or part.startswith(".") for part in parts)
