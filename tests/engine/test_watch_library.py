# SPDX-License-Identifier: Apache-2.0
"""What libslowpath-watch.so takes each MPI for, held against its own mpi.h, and what of others. Starts no ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from slowpath.mpi.mpi import Mpi

ENGINE = Path(__file__).resolve().parents[2] / "engine"
PARTS = [ENGINE / "watch" / f"{name}.cpp" for name in ("call", "library", "loader", "originals")]


def test_constants_are_those_of_mpi_h(mpi: Mpi, wrapped_calls: str, tmp_path: Path) -> None:
    """Of the MPI's own interface and, where it comes with one, of the ABI."""
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    own = "openmpi" if mpi.name == "openmpi" else "mpich"
    abi = mpi.mpicxx.with_name("mpicxx_abi")
    for wrapper, interface in ((mpi.mpicxx, own), *([(abi, "abi")] if abi.exists() else [])):
        program = tmp_path / interface
        source = ENGINE / "watch" / "tests" / "test_constants.cpp"
        words = [
            str(wrapper),
            "-std=c++20",
            "-O0",
            "-Wl,--no-as-needed",
            f"-I{ENGINE}",
            wrapped_calls,
            "-o",
            str(program),
            str(source),
            *map(str, PARTS),
        ]
        environ = mpi.environ(os.environ)
        subprocess.run([*words, "-ldl"], env=environ, check=True, capture_output=True)
        folder = {"LD_LIBRARY_PATH": str(mpi.mpicxx.parent.parent / "lib")}
        done = subprocess.run([program, interface], env={**environ, **folder}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_an_mpi_of_an_unknown_interface_is_said_once_and_the_program_runs_on(
    watch_library: Path, tmp_path: Path, blankless: Path
) -> None:
    """One that lacks a call ends the program as the loader does."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    other, program, sources = blankless / "libmpi.so", blankless / "program", ENGINE / "watch" / "tests"
    made = [compiler, "-shared", "-fPIC", "-o", other, sources / "other_mpi.c"]
    subprocess.run([*made, "-DMORE"], check=True)
    linked = [other, f"-Wl,-rpath,{blankless}"]
    subprocess.run([compiler, "-o", program, sources / "test_other_mpi.c", *linked], check=True)
    subprocess.run(made, check=True)
    environ = {**os.environ, "LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(tmp_path)}
    done = subprocess.run([program], env=environ, capture_output=True, text=True)
    line = f"slowpath watch: not recorded: the interface of {other} is not that of MPICH, Open MPI or the MPI ABI\n"
    assert (done.returncode, done.stderr) == (3, line)
    assert list(tmp_path.iterdir()) == []
    quiet = subprocess.run([program], env={**environ, "SLOWPATH_WATCH": ""}, capture_output=True, text=True)
    assert (quiet.returncode, quiet.stderr) == (3, "")
    lacks = subprocess.run([program, "more"], env=environ, capture_output=True, text=True)
    assert lacks.returncode == 127
    assert lacks.stderr.splitlines()[1:] == [
        "slowpath watch: the program calls MPI_Buffer_flush, which its MPI library lacks"
    ]
