# SPDX-License-Identifier: Apache-2.0
"""What libslowpath-watch.so takes each MPI for, held against that library's own mpi.h. Starts no ranks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slowpath.mpi.mpi import Mpi

ENGINE = Path(__file__).resolve().parents[2] / "engine"
PARTS = [ENGINE / "watch" / f"{name}.cpp" for name in ("calls", "library", "loader", "originals")]


def test_constants_are_those_of_mpi_h(mpi: Mpi, tmp_path: Path) -> None:
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
