# SPDX-License-Identifier: Apache-2.0
"""Compiling an engine for wheels: for any processor, any folder of its MPI library, any library of its interface."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.resources import data_folder
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.blas import PACKAGED, blas_in_sight
from slowpath.run.engine.build import standard
from slowpath.run.engine.cache import NOTE, EngineNote, source_hash
from slowpath.run.engine.compile import BuildTools, collect, compile_engine
from slowpath.run.engine.elf import dynamic
from slowpath.run.engine.meter import Tell
from slowpath.run.engine.prebuilt import ROOM_BEGINS
from slowpath.run.engine.toolchain import find_compiler


def build_portable(
    mpi: Mpi, of_standard: bool, work: Path, out: Path, environ: Mapping[str, str], tell: Tell = lambda _: None
) -> Path:
    """The folder in `out`, named by the interface, with the engine and what is kept next to it.

    Args: of_standard: against the ABI of MPI-5 in place of the library's own.
          work: kept, so that a second build is short.
    Raises: EnvironmentFailure: as `engine_for`; or a program looks for libraries in folders of this machine.
    """
    environ = mpi.environ(environ)
    made_with = standard(mpi) if of_standard else mpi
    if made_with.mpicxx is None:
        raise EnvironmentFailure(f"{mpi.identity} at {mpi.prefix} has no mpicxx; use another MPI")
    compiler, source = find_compiler(environ), data_folder("engine")
    build, log = work / made_with.abi, work / f"{made_with.abi}.log"
    build.mkdir(parents=True, exist_ok=True)
    tools = BuildTools(compiler, blas_in_sight(environ), environ, tell, ("-DSLOWPATH_PORTABLE=ON",))
    compile_engine(source, build, made_with.mpicxx, tools, log)
    folder = out / made_with.abi
    shutil.rmtree(folder, ignore_errors=True)
    blas = collect(build, folder, log)
    (folder / PACKAGED).unlink(missing_ok=True)  # taken from its own package where the engine is used
    _require_portable(folder)
    note = EngineNote(
        key=_digest(folder),
        mpi=f"compiled with {made_with.identity}",
        abi=made_with.abi,
        mpicxx=made_with.mpicxx.name,
        compiler=compiler.line,
        source=source_hash(source),
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        blas=blas and PACKAGED,
        origin="wheel",
    )
    (folder / NOTE).write_bytes(msgspec.json.encode(note))
    return folder


def _require_portable(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        read = dynamic(path)
        for place in (*read.rpath, *read.runpath) if read else ():
            if place != str(folder.resolve()) and not place.startswith(ROOM_BEGINS):
                raise EnvironmentFailure(f"{path} looks for libraries in {place}, a folder of this machine")


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
