# SPDX-License-Identifier: Apache-2.0
"""A program of one MPI under the launcher of another: each process runs alone, and the verdict begins with that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.watch.results import read_watch_results
from watchdog import WATCHDOG_S

SOURCE = """#include <mpi.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""
OTHERS = [option for option in os.environ.get("SLOWPATH_TEST_MPIS", "").split(":") if option]


def watched(program_of: Mpi, launcher_of: Mpi, library: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Two processes of a program under a launcher; the verdict is what stderr ends with."""
    assert program_of.mpicxx is not None
    environ = launcher_of.environ(program_of.environ(os.environ))
    source, program = folder / "alone.c", folder / "alone"
    source.write_text(SOURCE)
    compiler = str(program_of.mpicxx.with_name("mpicc"))
    subprocess.run([compiler, "-o", program, source], env=environ, check=True, capture_output=True)
    own = ["--library", str(library), "-o", str(folder / "w"), "-q"]
    argv = [
        sys.executable,
        "-m",
        "slowpath.cli",
        "watch",
        *own,
        "--",
        str(launcher_of.mpiexec),
        "-n",
        "2",
        str(program),
    ]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


def the(name: str) -> Mpi:
    """The MPI under test of this name."""
    return next(mpi for mpi in map(find_mpi, ["embedded", *OTHERS]) if mpi.name == name)


@pytest.mark.needs("other MPIs")
@pytest.mark.parametrize(("program", "launcher"), [("openmpi", "mpich"), ("intelmpi", "openmpi")])
def test_the_first_line_names_the_wrong_launcher_and_the_right_one(
    program: str, launcher: str, watch_library: Path, tmp_path: Path
) -> None:
    done = watched(the(program), the(launcher), watch_library, tmp_path)
    assert done.returncode == 0, done.stderr
    first = read_watch_results(tmp_path / "w").verdict[0]
    assert any(
        line.startswith("Each of 2 processes ran alone as rank 0 of 1: this") for line in done.stderr.splitlines()
    )
    assert first.startswith("Each of 2 processes ran alone as rank 0 of 1: this mpiexec")
    assert f"({the(launcher).mpiexec}, " in first
    assert "does not belong to the program's library" in first
    assert f"Start it with {the(program).mpiexec.parent}/" in first


@pytest.mark.needs("other MPIs")
def test_where_the_library_refuses_the_other_launcher_that_is_said(watch_library: Path, tmp_path: Path) -> None:
    """MPICH 5 does not start where it meets PMIx."""
    done = watched(the("mpich"), the("openmpi"), watch_library, tmp_path)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert f"this mpiexec ({the('openmpi').mpiexec}, Open MPI) does not belong to the library that alone needs" in last


def test_under_its_own_launcher_nothing_is_said(watch_library: Path, tmp_path: Path) -> None:
    done = watched(the("mpich"), the("mpich"), watch_library, tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_watch_results(tmp_path / "w").program.misstart is None
