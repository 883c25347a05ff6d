# SPDX-License-Identifier: Apache-2.0
"""Compiling the engine for the MPI in use, once, into the cache."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.resources import data_folder
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.blas import PACKAGED, PLUGIN, BlasInSight, blas_in_sight, processor_features
from slowpath.run.engine.cache import (
    CHOICE,
    NOTE,
    PROGRAM,
    STANDARD_ABI,
    Engine,
    EngineNote,
    cached_engine,
    engine_at,
    engine_key,
    engines_folder,
    source_hash,
    standard_engines,
)
from slowpath.run.engine.pairing import require_pair
from slowpath.run.engine.toolchain import Compiler, find_cmake, find_compiler

BUILD_LIMIT_S = 900.0
BLAS_LINE = re.compile(r"^-- BLAS: (?!none)(.+)$", re.MULTILINE)  # engine/studies/blas/CMakeLists.txt
ERROR_LINE = re.compile(r"\berror: |^CMake Error|undefined reference|No space left")
# Kept next to the engine when the source builds them: the original reproducers' commands, the driver-level experiment,
# the library that pads allocations of programs that can't be changed, what `slowpath count` works with, what plants
# slow paths (docs/results/plants.md), and the BLAS.
OTHER_PROGRAMS = (
    "gpudirect_p2p_overalloc",
    "intranode_pinned_host_comm",
    "slowpath-ipc",
    "libslowpath-pad.so",
    "libslowpath-layers.so",
    "libslowpath-count.so",
    "libslowpath-witness.so",
    "slowpath-count-ptrace",
    "slowpath-count-names",
    "libslowpath-plant.so",
    PLUGIN,
    PACKAGED,
)


def engine_for(
    mpi: Mpi,
    environ: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    source: Path | None = None,
    rebuild: bool = False,
) -> Engine:
    """The engine for `mpi`: from the cache, or built now.

    tell: takes one line before a build, which lasts up to a minute.
    Raises: EnvironmentFailure: no compiler wrapper, compiler or CMake, a failed build, a cache that can't be written.
    """
    environ = mpi.environ(os.environ if environ is None else environ)
    if environ.get(CHOICE) and source is None:
        return chosen_engine(mpi, environ)
    return _kept_or_built(mpi, environ, tell, source or data_folder("engine"), rebuild)


def engine_of_standard(
    mpi: Mpi,
    environ: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    rebuild: bool = False,
) -> Engine:
    """The engine for every library with the ABI of MPI-5, built with the wrapper of `mpi`; from the cache or built now.

    Raises: EnvironmentFailure: this MPI has no such library or no wrapper for it; else as `engine_for`.
    """
    environ = mpi.environ(os.environ if environ is None else environ)
    wrapper = mpi.mpicxx.with_name("mpicxx_abi") if mpi.mpicxx else None
    if not mpi.standard_abi or wrapper is None or not os.access(wrapper, os.X_OK):
        what = (
            f"libmpi_abi.so.1 but no {wrapper}" if mpi.standard_abi else "no libmpi_abi.so.1, the library of that ABI"
        )
        raise EnvironmentFailure(
            f"{mpi.identity} at {mpi.prefix} can't build an engine for the ABI of MPI-5: it has {what}; use an MPI "
            "that has both (MPICH 5.0 from PyPI does: pip install mpich)"
        )
    standard = replace(mpi, mpicxx=wrapper, abi=STANDARD_ABI)
    return _kept_or_built(standard, environ, tell, data_folder("engine"), rebuild)


def chosen_engine(mpi: Mpi, environ: Mapping[str, str]) -> Engine:
    """The engine that SLOWPATH_ENGINE names.  Raises: EnvironmentFailure: none there, or it can't run under `mpi`."""
    words = environ[CHOICE]
    if words != "abi":
        engine = engine_at(Path(words).expanduser().absolute())
    else:
        found = standard_engines(source_hash(data_folder("engine")), environ)
        if not found:
            raise EnvironmentFailure(f"{CHOICE}=abi: there is none in the cache yet; run: slowpath engine build --abi")
        engine = found[0]
    require_pair(engine.program, mpi, environ)
    return engine


def _kept_or_built(
    mpi: Mpi, environ: Mapping[str, str], tell: Callable[[str], None], source: Path, rebuild: bool
) -> Engine:
    hash_of_source = source_hash(source)
    compiler, blas = _compiler_for(mpi, environ), blas_in_sight(environ)
    key = engine_key(mpi, hash_of_source, compiler.line, blas.identity, processor_features())
    folder = engines_folder(environ) / key
    ready = None if rebuild else cached_engine(folder)
    if ready is not None:
        return ready
    if mpi.mpicxx is None:
        raise EnvironmentFailure(
            f"{mpi.identity} at {mpi.prefix} has no mpicxx, so the engine can't be compiled for it; install its "
            "development package, or use another MPI with --mpi"
        )
    tell(f"building the engine for {mpi.identity} (once; kept in {folder})")
    note = EngineNote(
        key=key,
        mpi=mpi.identity,
        abi=mpi.abi,
        mpicxx=str(mpi.mpicxx),
        compiler=compiler.line,
        source=hash_of_source,
        built=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        return _build_into(folder, source, mpi.mpicxx, BuildTools(compiler, blas, environ, mpi.is_compiler), note)
    except OSError as error:
        raise EnvironmentFailure(
            f"the engine can't be kept in {folder.parent}: {error.strerror or error}; "
            "set SLOWPATH_CACHE_DIR to a folder that can be written"
        ) from error


def kept_engine(mpi: Mpi, environ: Mapping[str, str] | None = None) -> Engine | None:
    """The engine that `engine_for` would take from the cache, None if it would build one."""
    environ = mpi.environ(os.environ if environ is None else environ)
    if environ.get(CHOICE):
        return chosen_engine(mpi, environ)
    hash_of_source, compiler = source_hash(data_folder("engine")), _compiler_for(mpi, environ)
    key = engine_key(mpi, hash_of_source, compiler.line, blas_in_sight(environ).identity, processor_features())
    return cached_engine(engines_folder(environ) / key)


def _compiler_for(mpi: Mpi, environ: Mapping[str, str]) -> Compiler:
    return find_compiler(environ, mpi.mpicxx if mpi.is_compiler else None)


@dataclass(frozen=True)
class BuildTools:
    """What a build works with. compiler_has_mpi: CMake needs to look for no MPI, since the compiler links it."""

    compiler: Compiler
    blas: BlasInSight
    environ: Mapping[str, str]
    compiler_has_mpi: bool = False


def _build_into(folder: Path, source: Path, mpicxx: Path, tools: BuildTools, note: EngineNote) -> Engine:
    """Build next to `folder` and rename into place, so that a half-built engine is never seen."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    log = folder.parent / f"{folder.name}.log"
    try:
        _run_cmake(source, work / "build", mpicxx, tools, log)
        staged = work / "staged"
        staged.mkdir()
        for name in (PROGRAM, *OTHER_PROGRAMS):
            for built in (path for path in (work / "build").rglob(name) if path.is_file()):
                shutil.copy2(built, staged / name)
        if not (staged / PROGRAM).exists():
            raise EnvironmentFailure(f"the build made no {PROGRAM}; see {log}")
        blas = BLAS_LINE.search(log.read_text(errors="replace"))
        note = msgspec.structs.replace(note, blas=blas[1] if blas else None)
        (staged / NOTE).write_bytes(msgspec.json.encode(note))
        _put_into_place(staged, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    engine = cached_engine(folder)
    if engine is None:
        raise EnvironmentFailure(f"the engine in {folder} is not whole; remove that folder and try again")
    return engine


def _put_into_place(staged: Path, folder: Path) -> None:
    """Rename, over an older build of the same key if need be. Another process may have been faster: its is as good."""
    old = staged.parent / "old"
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        if cached_engine(folder) is None:
            raise


def _run_cmake(source: Path, build: Path, mpicxx: Path, tools: BuildTools, log: Path) -> None:
    cmake = find_cmake(tools.environ)
    jobs = max(1, min(8, len(os.sched_getaffinity(0))))
    configure = [
        str(cmake),
        *("-S", str(source), "-B", str(build)),
        "-DCMAKE_BUILD_TYPE=Release",
        "-DSLOWPATH_TESTS=OFF",
        "-DSLOWPATH_MPI_IN_COMPILER=ON" if tools.compiler_has_mpi else f"-DMPI_CXX_COMPILER={mpicxx}",
        *tools.blas.cmake_arguments,
    ]
    # The first word only: CMake takes a launcher such as ccache by a variable of its own.
    if len(tools.compiler.command) == 1:
        configure.append(f"-DCMAKE_CXX_COMPILER={tools.compiler.command[0]}")
    steps = (("configure", configure), ("compile", [str(cmake), "--build", str(build), "-j", str(jobs)]))
    with log.open("wb") as out:
        for what, argv in steps:
            out.write(f"$ {' '.join(argv)}\n".encode())
            out.flush()
            try:
                code = subprocess.run(
                    argv,
                    env=dict(tools.environ),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=BUILD_LIMIT_S,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                raise EnvironmentFailure(f"the engine did not {what} within {BUILD_LIMIT_S:g} s; see {log}") from None
            if code != 0:
                raise EnvironmentFailure(
                    f"the engine did not {what} with {mpicxx}: {_why(log)}; see {log}, or choose another MPI with --mpi"
                )


def _why(log: Path) -> str:
    """The log's most telling line: what CMake could not find, else its first error."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    telling = [line for line in lines if line.startswith("Could NOT find")]
    # A message of our own CMake files: the paragraph below the line that says where it comes from.
    heads = [i for i, line in enumerate(lines) if line.startswith("CMake Error") and line.endswith("(message):")]
    telling += [" ".join(itertools.takewhile(bool, lines[i + 1 :])) for i in heads]
    telling += [line for line in lines if ERROR_LINE.search(line)]
    return telling[0] if telling else "no error message"
