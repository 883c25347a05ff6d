# SPDX-License-Identifier: Apache-2.0
"""Whether an engine and an MPI library belong together, and if not, why.

A program that was compiled for one binary interface and meets another crashes at best: handles are integers in one
and addresses in the other. With the ABI of MPI-5 one engine runs under every library that has libmpi_abi.so.1.
Source: MPI-5.0, chapter 20 (Application Binary Interface).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.libraries import STANDARD_SONAME, abi_of_soname
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import STANDARD_ABI as STANDARD
from slowpath.run.engine.elf import Dynamic, dynamic


def interface_of(program: Path) -> str | None:
    """The binary interface that the program was linked with; None: it is not linked with a known MPI library."""
    read = dynamic(program)
    return next((_interface(soname) for soname in read.needed if _interface(soname)), None) if read else None


def why_not(program: Path, mpi: Mpi, environ: Mapping[str, str]) -> str | None:
    """Why the engine can't run under `mpi`; None: it can.

    Args: environ: what the engine will be started with, what `mpi` needs included.
    """
    read = dynamic(program)
    if read is None:
        return f"{program} is no program that this machine can start"
    soname = next((name for name in read.needed if _interface(name)), None)
    if soname is None:
        return f"{program} is not linked with a known MPI library (it needs {', '.join(read.needed) or 'no library'})"
    interface = _interface(soname)
    if interface != STANDARD:
        if interface == mpi.abi:
            return None
        return (
            f"it was built for the {interface} interface ({soname}) and {mpi.identity} has that of {mpi.abi}; "
            f"build one: slowpath mpi build --mpi {mpi.mpiexec}"
        )
    if not mpi.standard_abi:
        return (
            f"it was built for the ABI of MPI-5 and {mpi.identity} has no {STANDARD_SONAME}; "
            f"build one: slowpath mpi build --mpi {mpi.mpiexec}"
        )
    return _found_elsewhere(read, mpi, environ)


def require_pair(program: Path, mpi: Mpi, environ: Mapping[str, str]) -> None:
    """Check that the engine can run under this MPI.  Raises: EnvironmentFailure: it can't, and why."""
    if reason := why_not(program, mpi, environ):
        raise EnvironmentFailure(f"the engine {program} can't run under {mpi.identity}: {reason}")


def _interface(soname: str) -> str | None:
    return STANDARD if soname == STANDARD_SONAME else abi_of_soname(soname)


def _found_elsewhere(read: Dynamic, mpi: Mpi, environ: Mapping[str, str]) -> str | None:
    """The dynamic linker's search: rpath where there is no runpath, LD_LIBRARY_PATH, runpath; ld.so(8)."""
    path = [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    folders = [*(() if read.runpath else read.rpath), *path, *read.runpath]
    found = next((Path(folder) for folder in folders if os.path.exists(Path(folder) / STANDARD_SONAME)), None)
    own = [mpi.prefix / name for name in ("lib", "lib64") if os.path.exists(mpi.prefix / name / STANDARD_SONAME)]
    if found is None or not own or found.resolve() in [folder.resolve() for folder in own]:
        return None
    return f"it would load {found / STANDARD_SONAME}; put {own[0]} first in LD_LIBRARY_PATH"
