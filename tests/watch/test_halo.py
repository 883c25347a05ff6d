# SPDX-License-Identifier: Apache-2.0
"""examples/halo computes the same whatever slow path is planted, in C++ and in Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi
from watchdog import WATCHDOG_S

HALO = Path(__file__).parents[2] / "examples" / "halo"
SCENE = ["--grid", "1x2", "--size", "40x30", "--iterations", "6", "--work", "2", "--notes", "3"]
FAULTS = [
    "--pages small",
    "--blocks 8",
    "--window once",
    "--window each",
    "--fresh",
    "--odd",
    "--late 1:0.001",
    "--flood 3",
]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def on_two_ranks() -> Run:
    """Starts a program on two ranks of the embedded MPI."""
    mpi = find_mpi("embedded")

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        argv = [mpi.mpiexec, "-n", "2", *words]
        environ = mpi.environ(os.environ)
        return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)

    return run


@pytest.fixture(scope="module")
def halo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C++, compiled."""
    program, mpi = tmp_path_factory.mktemp("halo") / "halo", find_mpi("embedded")
    argv = [str(mpi.mpicxx), "-O1", "-std=c++17", "-Wall", "-Wextra", "-Werror", HALO / "halo.cpp", "-o", program]
    subprocess.run(argv, env=mpi.environ(os.environ), check=True, timeout=WATCHDOG_S)
    return program


def checksum(done: subprocess.CompletedProcess[str]) -> str:
    """Of a run that went well."""
    match = re.search(r"^checksum ([0-9A-F]{16})$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stderr
    assert match, done.stdout
    return match[1]


def test_no_fault_changes_what_is_computed(halo: Path, on_two_ranks: Run) -> None:
    clean = checksum(on_two_ranks(halo, *SCENE))
    assert {fault: checksum(on_two_ranks(halo, *SCENE, *fault.split())) for fault in FAULTS} == dict.fromkeys(
        FAULTS, clean
    )
    assert checksum(on_two_ranks(halo, *SCENE, "--work", "1")) != clean


def test_python_computes_what_cpp_does(halo: Path, on_two_ranks: Run) -> None:
    words = [*SCENE, "--blocks", "8", "--pages", "small"]
    assert checksum(on_two_ranks(sys.executable, HALO / "halo.py", *words)) == checksum(on_two_ranks(halo, *SCENE))


@pytest.mark.parametrize("words", [["--late", "1"], ["--pages", "1"], ["--grid", "3x1"], ["--what", "1"], ["--pinned"]])
def test_what_cannot_be_is_one_line(halo: Path, on_two_ranks: Run, words: list[str]) -> None:
    done = on_two_ranks(halo, *words)
    assert done.returncode == 2
    assert re.fullmatch(r"halo: .+\n", done.stderr)
