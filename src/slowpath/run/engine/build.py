# SPDX-License-Identifier: Apache-2.0
"""The engine for the MPI in use: kept in the cache, or compiled now, once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.owners import make_place
from slowpath.core.resources import data_folder
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.blas import blas_in_sight, processor_features
from slowpath.run.engine.cache import (
    CHOICE,
    STANDARD_ABI,
    Engine,
    EngineNote,
    cached_engine,
    engine_at,
    engine_key,
    engines_folder,
    source_hash,
)
from slowpath.run.engine.compile import BUILD_LIMIT_S, BuildTools, collect, compile_engine
from slowpath.run.engine.meter import Tell
from slowpath.run.engine.pairing import require_pair
from slowpath.run.engine.toolchain import Compiler, find_compiler
from slowpath.run.engine.usable import (
    discard,
    kept_now,
    seal,
    standard_engines,
    trusted_folder,
    usable_engine,
    why_damaged,
    why_not_usable,
)
from slowpath.run.engine.workplace import one_builder, workplace


def engine_for(
    mpi: Mpi,
    environ: Mapping[str, str] | None = None,
    tell: Tell = lambda _: None,
    source: Path | None = None,
    rebuild: bool = False,
) -> Engine:
    """The engine for `mpi`: from the cache, or built now.

    Args: tell: takes one line before a build, which lasts up to a minute, and lines of its progress.
    Raises: EnvironmentFailure: no compiler wrapper, compiler or CMake, a failed build, a cache that can't be written.
    """
    environ = mpi.environ(os.environ if environ is None else environ)
    if environ.get(CHOICE) and source is None:
        return chosen_engine(mpi, environ)
    return _kept_or_built(mpi, environ, tell, source or data_folder("engine"), rebuild)


@contextlib.contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentFailure(
            f"the engine can't be stored in {folder}: {error.strerror or error}; set SLOWPATH_CACHE_DIR to a "
            "writable folder"
        ) from error


def engine_of_standard(
    mpi: Mpi,
    environ: Mapping[str, str] | None = None,
    tell: Tell = lambda _: None,
    rebuild: bool = False,
) -> Engine:
    """The engine for every library with the ABI of MPI-5, built with the wrapper of `mpi`; from the cache or built now.

    Raises: EnvironmentFailure: this MPI has no such library or no wrapper for it; else as `engine_for`.
    """
    environ = mpi.environ(os.environ if environ is None else environ)
    return _kept_or_built(standard(mpi), environ, tell, data_folder("engine"), rebuild)


def standard(mpi: Mpi) -> Mpi:
    """`mpi` as programs see it that are compiled for the ABI of MPI-5.  Raises: EnvironmentFailure: it offers none."""
    wrapper = mpi.mpicxx.with_name("mpicxx_abi") if mpi.mpicxx else None
    if not mpi.standard_abi or wrapper is None or not os.access(wrapper, os.X_OK):
        what = (
            f"libmpi_abi.so.1 but no {wrapper}" if mpi.standard_abi else "no libmpi_abi.so.1, the library of that ABI"
        )
        raise EnvironmentFailure(
            f"{mpi.identity} at {mpi.prefix} can't build an engine for the MPI-5 ABI because it has {what}; use an "
            "MPI with both (such as MPICH 5.0: pip install mpich)"
        )
    return replace(mpi, mpicxx=wrapper, abi=STANDARD_ABI)


def chosen_engine(mpi: Mpi, environ: Mapping[str, str]) -> Engine:
    """The engine that SLOWPATH_ENGINE names.  Raises: EnvironmentFailure: none there, or it can't run under `mpi`."""
    words = environ[CHOICE]
    if words != "abi":
        engine = engine_at(Path(words).expanduser().absolute())
        if reason := why_damaged(engine.program.parent, engine.note.files):
            raise EnvironmentFailure(f"{CHOICE}={words}: {reason}; build it anew, or name another")
    else:
        found = next(standard_engines(source_hash(data_folder("engine")), environ), None)
        if found is None:
            raise EnvironmentFailure(f"{CHOICE}=abi: there is none in the cache yet; run: slowpath mpi build --abi")
        engine = found
    require_pair(engine.program, mpi, environ)
    return engine


def _kept_or_built(mpi: Mpi, environ: Mapping[str, str], tell: Tell, source: Path, rebuild: bool) -> Engine:
    hash_of_source = source_hash(source)
    compiler, blas = _compiler_for(mpi, environ), blas_in_sight(environ)
    key = engine_key(mpi, hash_of_source, compiler.line, blas.identity, processor_features())
    folder = trusted_folder(environ) / key
    ready = None if rebuild else usable_engine(folder, environ, tell)
    if ready is not None:
        return ready
    if mpi.mpicxx is None or mpi.no_header:
        raise EnvironmentFailure(
            f"{mpi.identity} at {mpi.prefix} has {mpi.why_not_built} to compile the engine, or use another MPI "
            "with --mpi"
        )
    note = EngineNote(
        key=key,
        mpi=mpi.identity,
        abi=mpi.abi,
        mpicxx=str(mpi.mpicxx),
        compiler=compiler.line,
        source=hash_of_source,
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        processor=processor_features(),
    )
    more = ("-DSLOWPATH_MPI_IN_COMPILER=ON",) if mpi.is_compiler else ()
    with _kept_in(folder.parent):
        make_place(folder.parent)
        waits = f"waiting for another process, which builds the engine for {mpi.identity} (in {folder})"
        with one_builder(folder, lambda: tell(waits), BUILD_LIMIT_S):
            ready = None if rebuild else usable_engine(folder, environ)
            if ready is not None:
                return ready
            tell(f"building the engine for {mpi.identity} (once; kept in {folder})")
            if not rebuild:
                discard(folder, environ)
            tools = BuildTools(compiler, blas, environ, tell, more)
            return _build_into(folder, source, mpi.mpicxx, tools, note, rebuild)


def kept_engine(mpi: Mpi, environ: Mapping[str, str] | None = None) -> Engine | None:
    """The engine that `engine_for` would take from the cache, None if it would build one."""
    environ = mpi.environ(os.environ if environ is None else environ)
    if environ.get(CHOICE):
        return chosen_engine(mpi, environ)
    return compiled_engine(mpi, environ)


def compiled_engine(mpi: Mpi, environ: Mapping[str, str]) -> Engine | None:
    """The engine in the cache that this compiler made for this MPI with this BLAS, None if there is none."""
    hash_of_source, compiler = source_hash(data_folder("engine")), _compiler_for(mpi, environ)
    key = engine_key(mpi, hash_of_source, compiler.line, blas_in_sight(environ).identity, processor_features())
    return usable_engine(engines_folder(environ) / key, environ)


def _compiler_for(mpi: Mpi, environ: Mapping[str, str]) -> Compiler:
    return find_compiler(environ, mpi.mpicxx if mpi.is_compiler else None)


def _build_into(folder: Path, source: Path, mpicxx: Path, tools: BuildTools, note: EngineNote, rebuild: bool) -> Engine:
    """Build next to `folder` and rename into place, so that a half-built engine is never seen."""
    log = folder.parent / f"{folder.name}.log"
    with workplace(folder) as work:
        compile_engine(source, work / "build", mpicxx, tools, log)
        staged = work / "staged"
        seal(staged, msgspec.structs.replace(note, blas=collect(work / "build", staged, log)))
        _put_into_place(staged, folder, tools.environ, rebuild)
    return kept_now(folder, tools.environ)


def _put_into_place(staged: Path, folder: Path, environ: Mapping[str, str], rebuild: bool) -> None:
    """Rename.  Another process may have been faster: its engine is as good, unless a new one was asked for."""
    if not rebuild and why_not_usable(folder, environ) is None:
        return
    old = staged.parent / "old"
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        if cached_engine(folder) is None:
            raise
