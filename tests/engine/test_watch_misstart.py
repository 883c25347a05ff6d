# SPDX-License-Identifier: Apache-2.0
"""A program of one MPI under the launcher of another: each process runs alone, and the verdict begins with that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import Ranks

from slowpath.mpi.find import find_mpi
from watchdog import WATCHDOG_S

SOURCE = """#include <mpi.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""
OTHERS = [option for option in os.environ.get("SLOWPATH_TEST_MPIS", "").split(":") if option]


def watched(ranks: Ranks, launcher: str, environ: dict[str, str], library: Path, folder: Path) -> list[str]:
    """The verdict's lines of two processes of the program of `ranks` under a launcher."""
    assert ranks.mpi.mpicxx is not None
    source, program = folder / "alone.c", folder / "alone"
    source.write_text(SOURCE)
    compiler = str(ranks.mpi.mpicxx.with_name("mpicc"))
    subprocess.run([compiler, "-o", program, source], env=ranks.environ(), check=True, capture_output=True)
    own = ["--library", str(library), "-o", str(folder / "w"), "--verdict", str(folder / "verdict"), "-q"]
    argv = [sys.executable, "-m", "slowpath.cli", "watch", *own, "--", launcher, "-n", "2", str(program)]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "verdict").read_text().splitlines()


@pytest.mark.needs("other MPIs")
def test_the_first_line_names_the_wrong_launcher_and_the_right_one(
    ranks: Ranks, watch_library: Path, tmp_path: Path
) -> None:
    is_open = ranks.mpi.name == "openmpi"
    other = next(mpi for mpi in map(find_mpi, ["embedded", *OTHERS]) if (mpi.name == "openmpi") != is_open)
    first = watched(ranks, str(other.mpiexec), other.environ(ranks.environ()), watch_library, tmp_path)[0]
    assert first.startswith("Each of 2 processes ran alone as rank 0 of 1: this mpiexec")
    assert str(other.mpiexec) in first
    assert "does not belong to the program's library" in first
    assert f"Start it with {ranks.mpi.mpiexec}" in first


def test_under_its_own_launcher_nothing_is_said(ranks: Ranks, watch_library: Path, tmp_path: Path) -> None:
    first = watched(ranks, str(ranks.mpi.mpiexec), ranks.environ(), watch_library, tmp_path)[0]
    assert first.startswith("alone: 2 ranks")
