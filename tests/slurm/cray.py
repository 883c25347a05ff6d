# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a machine of HPE Cray: the embedded MPICH behind a library that answers as Cray MPICH does, the
compiler wrappers cc and CC, the module's variables, and no mpiexec on the PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from slowpath.mpi.mpi import Mpi

# As HPE's libraries print it: 8.1 in MPI.jl's documentation of Perlmutter, 9.0 in DragonHPC's examples.
ANSWERS = {
    "8.1.29": "MPI VERSION    : CRAY MPICH version 8.1.29.26 (ANL base 3.4a2)\\n"
    "MPI BUILD INFO : Wed Mar 06  9:40 2024 (git hash 0ed77a1)\\n",
    "9.0.1": "MPI VERSION    : CRAY MPICH version 9.0.1.498 (ANL base 4.1.2)\\n"
    "MPI BUILD INFO : Wed Jul 16  9:39 2025 (git hash 0848216)\\n",
}
SHIM = Path(__file__).with_name("cray_mpich.c")
SONAME = "libmpi_gnu_123.so.12"
# The real one prints what it adds, for --cray-print-opts; it links the MPI --as-needed, and leaves its folder to
# LD_LIBRARY_PATH.
WRAPPER = """#!/bin/sh
case "$1" in
    --cray-print-opts=*) echo "-I{include} -L{lib} -Wl,--as-needed,-lmpi_gnu_123,--no-as-needed"; exit;;
esac
case " $* " in *" -c "*) exec {compiler} -I{include} "$@";; esac
exec {compiler} -I{include} "$@" -L{lib} -L{real} -Wl,--as-needed,-lmpi_gnu_123,-l:libmpi.so.12,--no-as-needed
"""


@dataclass(frozen=True)
class CrayMachine:
    """prefix: of the library, as the module names it.  programs: folder of cc and CC.  env: what the module sets."""

    prefix: Path
    programs: Path
    env: dict[str, str]


def cray_machine(folder: Path, mpich: Mpi, version: str) -> CrayMachine:
    """Made in `folder`, where it is still the same the next time: engines are kept by their compiler's path."""
    folder, real = folder.resolve(), mpich.prefix / "lib"
    prefix = folder / version / "ofi" / "gnu" / "12.3"
    lib, programs = prefix / "lib", folder / version / "bin"
    lib.mkdir(parents=True, exist_ok=True)
    programs.mkdir(exist_ok=True)
    words = ["cc", "-shared", "-fPIC", f'-DANSWER="{ANSWERS[version]}"', f"-Wl,-soname,{SONAME}", str(SHIM)]
    words += [f"-L{real}", "-Wl,--no-as-needed", "-lmpi", f"-Wl,-rpath,{real}", "-o", str(lib / SONAME)]
    subprocess.run(words, check=True)
    for name in ("libmpi_gnu_123.so", "libmpi.so"):
        (lib / name).unlink(missing_ok=True)
        (lib / name).symlink_to(SONAME)
    # Behind the wrapper, so that it finds again what it compiled for other MPIs.
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "")
    for name, compiler in (("cc", "cc"), ("CC", "c++")):
        path = programs / name
        words = f"{launcher} {shutil.which(compiler)}".strip()
        path.write_text(WRAPPER.format(include=mpich.prefix / "include", lib=lib, real=real, compiler=words))
        path.chmod(0o755)
    return CrayMachine(
        prefix,
        programs,
        {
            "CRAY_MPICH_VERSION": version,
            "CRAY_MPICH_DIR": str(prefix),
            "CRAY_MPICH_PREFIX": str(prefix),
            "MPICH_DIR": str(prefix),
            "PE_ENV": "GNU",
            "CRAYPE_VERSION": "2.7.31",
            "CRAY_LD_LIBRARY_PATH": str(lib),
            "LD_LIBRARY_PATH": os.pathsep.join([str(lib), str(real)]),
            "CMAKE_CXX_COMPILER_LAUNCHER": "",
            # Where Slurm's default is not cray_shasta, users state what the library speaks.
            "SLURM_MPI_TYPE": "pmi2",
        },
    )
