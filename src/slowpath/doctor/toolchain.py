# SPDX-License-Identifier: Apache-2.0
"""MPI, compiler and CMake: what it takes to measure at all."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from slowpath.core.errors import SlowpathError
from slowpath.doctor.check import Check
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.launchers import BATCH_NAMES
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import wheel_engine
from slowpath.run.engine.cache import Engine
from slowpath.run.engine.toolchain import find_cmake, find_compiler

NOT_NEEDED = "none needed: the wheel's engine for the {} interface fits this MPI"


def mpi_in_use() -> Check:
    """The MPI that `slowpath run` takes."""
    try:
        mpi = find_mpi(None)
    except SlowpathError as error:
        return Check("MPI", None, "missing", str(error), "install an MPI, or: pip install 'slowpath[mpich]'")
    if mpi.mpicxx is None and _prebuilt() is None:
        return Check(
            "MPI",
            _line(mpi),
            "missing",
            "it has no mpicxx, so the engine can't be compiled for it",
            "install its development package, or choose another MPI with --mpi",
        )
    how = {
        "embedded": "the one that came with this Python",
        "PATH": "the first on the PATH",
        "environment": "named by SLOWPATH_MPI",
    }
    if mpi.doubt:
        return Check("MPI", _line(mpi), "warn", mpi.doubt)
    which = how.get(mpi.source, mpi.source)
    if mpi.launcher in BATCH_NAMES and mpi.source == "PATH":
        which = f"the one that is loaded; {mpi.launcher} starts its ranks, {mpi.mpicxx} compiles"
    return Check("MPI", _line(mpi), "ok", f"used by slowpath run: {which}")


def other_mpis() -> Check:
    """MPIs that --mpi could name."""
    try:
        others = find_all()[1:]
    except SlowpathError as error:
        return Check("other MPIs", None, "warn", str(error), "correct SLOWPATH_MPI")
    if not others:
        return Check("other MPIs", "none", "ok", "nothing else to compare with here")
    return Check("other MPIs", "; ".join(map(_line, others)), "ok", "measure with one by: slowpath run --mpi PATH")


def compiler() -> Check:
    """The C++20 compiler for the engine."""
    try:
        found = find_compiler(os.environ, _compiler_of_mpi())
    except SlowpathError as error:
        if (engine := _prebuilt()) is not None:
            return Check("C++20 compiler", None, "ok", NOT_NEEDED.format(engine.note.abi))
        return Check("C++20 compiler", None, "missing", str(error), "install GCC 10 or later, or set CXX")
    return Check("C++20 compiler", f"{shlex.join(found.command)}: {found.line}", "ok", "compiles the engine")


def _compiler_of_mpi() -> Path | None:
    """CC of the Cray programming environment, where it compiles for the MPI in use."""
    try:
        mpi = find_mpi(None)
    except SlowpathError:
        return None
    return mpi.mpicxx if mpi.is_compiler else None


def cmake() -> Check:
    """The CMake for the engine."""
    try:
        found = find_cmake(os.environ)
    except SlowpathError as error:
        if (engine := _prebuilt()) is not None:
            return Check("CMake", None, "ok", NOT_NEEDED.format(engine.note.abi))
        return Check("CMake", None, "missing", str(error), "pip install cmake")
    return Check("CMake", str(found), "ok", "builds the engine")


def _prebuilt() -> Engine | None:
    """The wheel's engine for the MPI that `slowpath run` takes, None if none fits."""
    try:
        mpi = find_mpi(None)
        found = wheel_engine(mpi, mpi.environ(os.environ))
    except SlowpathError:
        return None
    return found if isinstance(found, Engine) else None


def _line(mpi: Mpi) -> str:
    abi = f"{mpi.abi} ABI" + (", standard ABI" if mpi.standard_abi else "")
    return f"{mpi.identity} ({abi}; launcher {mpi.launcher}) {mpi.mpiexec}"
