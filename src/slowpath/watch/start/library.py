# SPDX-License-Identifier: Apache-2.0
"""libslowpath-watch.so: by an engine of the cache, or compiled now.

One library serves every MPI, so any engine's will do that was made of this source.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.files import data_folder, make_place, require_place, shut, why_not_trusted
from slowpath.mpi.probe import ask
from slowpath.run.engine.build import BUILD_LIMIT_S, Compiler, Tell, find_cmake, find_compiler, workplace
from slowpath.run.engine.cache import (
    CHOICE,
    RECORD_LAYOUT,
    Engine,
    engine_at,
    engines_folder,
    source_hash,
    usable_engines,
)
from slowpath.run.engine.cache import VARIABLE as CACHE

LIBRARY = "libslowpath-watch.so"
_TARGET = "slowpath-watch"
_WITHOUT_MPI = ("-DCMAKE_BUILD_TYPE=Release", "-DSLOWPATH_MPI=OFF", "-DSLOWPATH_TESTS=OFF")
_KEPT = "watch"  # folder of the cache, next to that of the engines


def find_library(environ: Mapping[str, str], tell: Tell, named: Path | None = None) -> Path:
    """The library to preload, absolute; compiled now where there is none.

    named: the user's choice.
    Raises: UsageError: it names no file.  EnvironmentFailure: it can't be built or preloaded.
    """
    if named is not None:
        if not named.is_file():
            raise UsageError(f"--library {named}: is not a file; name {LIBRARY}, or leave the option out")
        return loadable(named.absolute())
    for path in _ready(environ):
        if why_not_preloaded(path) is None:
            return path
    return loadable(_kept_or_compiled(environ, tell))


def library_folders(environ: Mapping[str, str], mpi: str | None = None) -> list[Path]:
    """Where libraries of this version lie that can be preloaded; those of this MPI's engines first.

    Args: mpi: library and version, as an engine's note has it.
    """
    source = source_hash(data_folder("engine"))
    own = usable_engines(environ, lambda engine: engine.note.source == source and engine.note.mpi == mpi) if mpi else ()
    there = [engine.program.parent for engine in (*_chosen(environ, mpi), *own)]
    ready = [path.parent for path in _ready(environ)]
    return list(dict.fromkeys(folder for folder in (*there, *ready) if why_not_preloaded(folder) is None))


def _chosen(environ: Mapping[str, str], mpi: str | None) -> list[Engine]:
    """The engine that the user names by its path, where it is for this MPI."""
    words = environ.get(CHOICE, "")
    if "/" not in words:
        return []
    engine = engine_at(Path(words).expanduser().absolute())
    return [engine] if engine.note.mpi == mpi else []


def loadable(library: Path) -> Path:
    """Raises: EnvironmentFailure: ld.so can't be asked for it."""
    if reason := why_not_preloaded(library):
        raise EnvironmentFailure(f"{library}: {reason}; set {CACHE} to a folder without them")
    return library


def why_not_preloaded(library: Path) -> str | None:
    """ld.so(8): blanks and colons separate the libraries of LD_PRELOAD, and neither can be escaped; $ expands."""
    bad = any(letter in " :$" or letter.isspace() for letter in str(library))
    return "LD_PRELOAD can't load a path with a blank, a colon or a dollar sign" if bad else None


def _ready(environ: Mapping[str, str]) -> Iterator[Path]:
    """Those that are there, and of this version: of engines in the cache, then of the wheel."""
    source = source_hash(data_folder("engine"))
    for engine in usable_engines(environ, lambda known: known.note.source == source):
        if (engine.program.parent / LIBRARY).is_file():
            yield engine.program.parent / LIBRARY
    yield from sorted(data_folder("engines").glob(f"*/{LIBRARY}"))


def _kept_or_compiled(environ: Mapping[str, str], tell: Tell) -> Path:
    source = data_folder("engine")
    compiler = find_compiler(environ)
    identity = "\n".join([_hash(source), compiler.line])
    folder = engines_folder(environ).parent / _KEPT / hashlib.sha256(identity.encode()).hexdigest()[:12]
    require_place(folder.parent, "libraries", CACHE, environ)
    kept = folder / LIBRARY
    if kept.is_file() and all(why_not_trusted(path.stat(), environ) is None for path in (folder, kept)):
        return kept
    loadable(kept)
    tell(f"building {LIBRARY} (once, about 15 s of one processor; kept in {folder})")
    try:
        make_place(folder.parent)
        with workplace(folder) as work:
            build = _compile(source, work, compiler, environ)
            folder.mkdir(mode=0o755, exist_ok=True)
            part = work / "kept"
            shutil.copy2(next(path for path in build.rglob(LIBRARY) if path.is_file()), part)
            shut(part)
            part.replace(kept)
    except OSError as error:
        raise EnvironmentFailure(
            f"{LIBRARY} can't be stored in {folder}: {error.strerror or error}; set {CACHE} to a writable folder"
        ) from error
    return kept


def _hash(source: Path) -> str:
    digest = hashlib.sha256()
    folders = ("cmake", "watch")
    parts = [
        source / "CMakeLists.txt",
        source / RECORD_LAYOUT,
        *(path for name in folders for path in (source / name).rglob("*")),
    ]
    for path in sorted(parts):
        if path.is_file() and "tests" not in path.relative_to(source).parts:
            digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _compile(source: Path, work: Path, compiler: Compiler, environ: Mapping[str, str]) -> Path:
    """The folder of the build.  Raises: EnvironmentFailure: it does not compile."""
    cmake, build = str(find_cmake(environ)), work / "build"
    configure = [cmake, "-S", str(source), "-B", str(build), *_WITHOUT_MPI]
    if len(compiler.command) == 1:  # CMake takes a launcher such as ccache by a variable of its own
        configure.append(f"-DCMAKE_CXX_COMPILER={compiler.command[0]}")
    jobs = str(max(1, min(8, len(os.sched_getaffinity(0)))))
    for argv in (configure, [cmake, "--build", str(build), "--target", _TARGET, "-j", jobs]):
        done = ask(argv, {"CCACHE_BASEDIR": str(build), **environ}, BUILD_LIMIT_S, together=True)
        if done.return_code != 0:
            lines = done.stdout.decode("utf-8", "replace").splitlines()
            why = next((line.strip() for line in lines if "rror" in line), lines[-1].strip() if lines else "no message")
            raise EnvironmentFailure(
                f"{LIBRARY} did not compile with {compiler.line}: {why}; set CXX to another C++20 compiler"
            )
    return build
