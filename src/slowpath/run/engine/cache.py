# SPDX-License-Identifier: Apache-2.0
"""The cache of engines, which of them may be started, and what their files need."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import DAMAGE, require_place, shut, why_not_trusted
from slowpath.mpi.mpi import Mpi

# What pyelftools raises for damaged files besides its own error.
_DAMAGE = (
    OSError,
    ELFError,
    IndexError,
    KeyError,
    ValueError,
    OverflowError,
    AttributeError,
    TypeError,
    AssertionError,
)


@dataclass(frozen=True)
class Dynamic:
    """needed: sonames in order.  rpath, runpath: folders, $ORIGIN replaced; with a runpath the rpath is ignored."""

    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


def dynamic(path: Path) -> Dynamic | None:
    """Return the dynamic section, or None for a file that is damaged or is no dynamically linked ELF program."""
    words: dict[str, list[str]] = {"needed": [], "rpath": [], "runpath": []}
    try:
        with path.open("rb") as file:
            segments = ELFFile(file).iter_segments()
            segment = next((segment for segment in segments if isinstance(segment, DynamicSegment)), None)
            if segment is None:
                return None
            for tag in segment.iter_tags():
                kind = str(tag.entry.d_tag).removeprefix("DT_").lower()
                if kind in words:
                    words[kind].append(getattr(tag, kind))
    except _DAMAGE:
        return None
    origin = str(path.resolve().parent)

    def folders(kind: str) -> tuple[str, ...]:
        parts = (folder for word in words[kind] for folder in word.split(":") if folder)
        return tuple(folder.replace("$ORIGIN", origin) for folder in parts)

    return Dynamic(tuple(words["needed"]), folders("rpath"), folders("runpath"))


VARIABLE = "SLOWPATH_CACHE_DIR"
CHOICE = "SLOWPATH_ENGINE"  # an engine's path, or `abi`; without it each MPI gets an engine of its own
PROGRAM = "slowpath-engine"
NOTE = "engine.json"
RECORD_LAYOUT = Path("..", "schema", "watch.json")  # beside the engine's source, of which it is a part
STANDARD_ABI = "mpi-5"  # EngineNote.abi of an engine that runs under every library with the ABI of MPI-5
LEFT_OUT = ("tests", "fuzz", "printed", "build", "__pycache__")  # what the engine is not made of


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
        raise EnvironmentFailure(f"{source}: is missing; reinstall slowpath")
    for path in [*files, *filter(Path.is_file, [source / RECORD_LAYOUT])]:
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
    engines = (cached_engine(path) for path in sorted(folder.iterdir()) if path.is_dir())
    return [engine for engine in engines if engine is not None]


def no_choice(words: object, reason: str) -> EnvironmentFailure:
    """Return the error for an engine that SLOWPATH_ENGINE names."""
    return EnvironmentFailure(f"{CHOICE}={words}: {reason}; name another, or unset it and run: slowpath mpi build")


def not_kept(folder: Path, reason: object) -> EnvironmentFailure:
    """Return the error for a cache that keeps no engine."""
    return EnvironmentFailure(f"{folder}: can't keep the engine: {reason}; set {VARIABLE} to another folder")


def engine_at(program: Path) -> Engine:
    """An engine wherever it stands. Raises: EnvironmentFailure: there is none."""
    if not os.access(program, os.X_OK) or not program.is_file():
        raise no_choice(program, "no engine")
    kept = cached_engine(program.parent)
    unknown = "unknown"
    note = EngineNote(str(program), unknown, unknown, unknown, unknown, unknown, unknown)
    return Engine(program, kept.note if kept and kept.program.name == program.name else note)


def _left_out(path: Path, source: Path) -> bool:
    parts = path.relative_to(source).parts
    return any(part in LEFT_OUT or part.startswith(".") for part in parts)


Tell = Callable[[str], None]
LOOKS, BETWEEN_LOOKS_S = 40, 0.05


def seal(folder: Path, note: EngineNote) -> None:
    """Write `note` with the checksums of all files of a new engine, which nobody else may write from now on."""
    files = [path for path in sorted(folder.iterdir()) if path.name != NOTE and not path.is_symlink()]
    sums = {path.name: checksum(path) for path in files}
    (folder / NOTE).write_bytes(msgspec.json.encode(msgspec.structs.replace(note, files=sums)))
    for path in (folder, folder / NOTE, *files):
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
            tell(f"rebuilding the engine in {folder}: {reason}")
            return None
    return None


def kept_now(folder: Path, environ: Mapping[str, str]) -> Engine:
    """The engine that was just put there, by us or a faster process.  Raises: EnvironmentFailure: it can't be used."""
    for _ in range(LOOKS):
        reason, engine = why_not_usable(folder, environ), cached_engine(folder)
        if reason is None and engine is not None:
            return engine
        time.sleep(BETWEEN_LOOKS_S)  # another process exchanges it just now, by two renames
    raise not_kept(folder, reason)


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
    usable = sorted(filter(wanted, list_engines(environ)), key=lambda engine: engine.note.built, reverse=True)
    return (engine for engine in usable if why_not_usable(engine.program.parent, environ) is None)


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
        return f"damaged: {NOTE} or the program"
    if not engine.note.files:
        return "no checksums"
    return _why_not_files(folder, engine.note, environ)


def why_damaged(folder: Path, sums: Mapping[str, str]) -> str | None:
    """Return which file is not what it was.  sums: name -> SHA-256.  None: each is as it was."""
    for name, kept in sums.items():
        try:
            if checksum(folder / name) != kept:
                return f"damaged: {name}"
        except OSError as error:
            return f"damaged: {name}: {error.strerror or error}"
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
            return f"damaged: {name}: {error.strerror or error}"
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
