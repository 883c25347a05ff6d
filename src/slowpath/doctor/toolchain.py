# SPDX-License-Identifier: Apache-2.0
"""MPI, compiler and CMake: what it takes to measure at all."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from slowpath.core.errors import SlowpathError
from slowpath.doctor.check import Check
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.launchers import BATCH_NAMES
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.probe import output_of
from slowpath.run.engine.blas import PLUGIN, BlasInSight, blas_in_sight, package_version
from slowpath.run.engine.build import kept_engine
from slowpath.run.engine.toolchain import find_cmake, find_compiler

# The BLAS that the experiment cannon multiplies with.

NAME = "BLAS"
INSTALL = "install OpenBLAS, BLIS, MKL or AOCL for developers, or: pip install 'slowpath[blas]'"
# They choose the code that a BLAS runs, so that a forgotten one halves the rate and nothing shows it.
STEERING = (
    *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "BLIS_ARCH_TYPE", "BLIS_MODEL_TYPE"),
    *("MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "MKL_CBWR"),
)
# In a process of its own: a BLAS starts threads and takes memory when it is loaded.
_ASK = """
import ctypes, sys
plugin = ctypes.CDLL(sys.argv[1])
for name in ("name", "core", "file"):
    function = getattr(plugin, "slowpath_blas_" + name)
    function.restype = ctypes.c_char_p
    print((function() or b"").decode())
"""


def blas() -> Check:
    """Return what cannon multiplies with, and what steers it."""
    steered = {name: os.environ[name] for name in STEERING if name in os.environ}
    plugin = _plugin()
    if plugin is not None:
        return judged(_asked(plugin, os.environ), steered)
    return unbuilt(blas_in_sight(os.environ), steered)


def judged(found: tuple[str, str, str] | None, steered: Mapping[str, str]) -> Check:
    """Judge the BLAS that the engine has.

    Args: found: its name, the processor type of its code, its file; the first two may be empty. None: it can't be
          loaded.
    """
    if found is None:
        return Check(NAME, None, "missing", "the engine can't load its BLAS", "slowpath mpi build --force")
    name, core, file = found
    value = ", ".join([name or Path(file).name, *([f"core {core}"] if core else []), file])
    if not name and Path(file).resolve().parent.name in ("blas", "atlas-reference"):
        means = "the reference BLAS is about ten times slower than a tuned one and hides the cost of communication"
        return Check(NAME, value, "warn", means, INSTALL)
    return _with_variables(value, "multiplies in the experiment cannon", steered)


def unbuilt(sight: BlasInSight, steered: Mapping[str, str]) -> Check:
    """Before there is an engine: what its build will choose from."""
    if sight.libraries:
        seen = ", ".join(map(str, sight.libraries))
        return _with_variables(seen, "CMake chooses among these when the engine is built, for cannon", steered)
    if sight.package is not None:
        value = f"scipy-openblas32 {package_version() or 'of unknown version'}"
        return _with_variables(value, "used when the engine is built, for cannon", steered)
    return Check(NAME, "none", "missing", "the experiment cannon has no BLAS for its multiplications", INSTALL)


def _with_variables(value: str, means: str, steered: Mapping[str, str]) -> Check:
    if not steered:
        return Check(NAME, value, "ok", means)
    listed = ", ".join(f"{name}={text}" for name, text in steered.items())
    return Check(
        NAME,
        value,
        "warn",
        f"{listed} in the environment overrides the BLAS's choice for this processor and may halve its rate",
        f"unset {' '.join(steered)}",
    )


def _plugin() -> Path | None:
    """Beside the engine of the MPI in use; None if that engine is not built, or has none."""
    try:
        engine = kept_engine(find_mpi(None))
    except SlowpathError:
        return None
    plugin = engine.program.parent / PLUGIN if engine else None
    return plugin if plugin and plugin.exists() else None


def _asked(plugin: Path, environ: Mapping[str, str]) -> tuple[str, str, str] | None:
    printed = output_of([sys.executable, "-c", _ASK, str(plugin)], {**environ, "OPENBLAS_NUM_THREADS": "1"})
    lines = (printed or "").splitlines()
    return (lines[-3], lines[-2], lines[-1]) if len(lines) >= 3 else None


def mpi_in_use() -> Check:
    """The MPI that `slowpath run` takes."""
    try:
        mpi = find_mpi(None)
    except SlowpathError as error:
        return Check("MPI", None, "missing", str(error), "install an MPI, or: pip install 'slowpath[mpich]'")
    if mpi.lacks is not None:
        means = f"it has no {mpi.lacks}, so the engine can't be compiled for it"
        do = f"{mpi.install_what_it_lacks}, or choose another MPI with --mpi"
        return Check("MPI", _line(mpi), "missing", means, do)
    how = {
        "embedded": "the one that came with this Python",
        "PATH": "the first on the PATH",
        "environment": "named by SLOWPATH_MPI",
    }
    if mpi.doubt:
        return Check("MPI", _line(mpi), "warn", mpi.doubt)
    which = how.get(mpi.source, mpi.source)
    if mpi.launcher in BATCH_NAMES and mpi.source == "PATH":
        which = f"the loaded one; {mpi.launcher} starts its ranks, {mpi.mpicxx} compiles"
    return Check("MPI", _line(mpi), "ok", f"used by slowpath run: {which}")


def first_on_path() -> Check:
    """The mpiexec that a shell starts, which need not be the MPI that is measured."""
    name, first = "mpiexec", shutil.which("mpiexec")
    if first is None:
        return Check(name, "none on the PATH", "ok", "slowpath starts the launcher of its MPI by its path")
    try:
        taken = find_mpi(None)
    except SlowpathError as error:
        return Check(name, first, "warn", str(error))
    if os.path.realpath(first) == os.path.realpath(taken.mpiexec):
        return Check(name, first, "ok", "a shell starts the MPI that slowpath measures")
    means = f"a shell starts this one; slowpath run measures {taken.identity} with {taken.mpiexec}"
    return Check(name, first, "warn", means, f"start programs with {taken.mpiexec}, or measure this one: --mpi {first}")


def other_mpis() -> Check:
    """MPIs that --mpi could name."""
    try:
        every = find_all()
        taken = find_mpi(None).mpiexec.resolve() if every else None
        others = [mpi for mpi in every if mpi.mpiexec.resolve() != taken]
    except SlowpathError as error:
        return Check("other MPIs", None, "warn", str(error), "correct SLOWPATH_MPI")
    if not others:
        return Check("other MPIs", "none", "ok", "nothing else to compare with here")
    return Check("other MPIs", "; ".join(map(_line, others)), "ok", "measure with one of them: slowpath run --mpi PATH")


def compiler() -> Check:
    """The C++20 compiler for the engine."""
    try:
        found = find_compiler(os.environ, _compiler_of_mpi())
    except SlowpathError as error:
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
        return Check("CMake", None, "missing", str(error), "pip install cmake")
    return Check("CMake", str(found), "ok", "builds the engine")


def _line(mpi: Mpi) -> str:
    abi = f"{mpi.abi} ABI" + (", standard ABI" if mpi.standard_abi else "")
    return f"{mpi.identity} ({abi}; launcher {mpi.launcher}) {mpi.mpiexec}"
