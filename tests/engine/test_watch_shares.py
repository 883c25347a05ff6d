# SPDX-License-Identifier: Apache-2.0
"""Two ranks on one processor are named, with the time that they stood in its queue; with one each they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi
from slowpath.watch.results import WatchResults, read_watch_results
from watchdog import WATCHDOG_S

SOURCE = """#include <mpi.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int step = 0; step < 200; ++step) {
        for (volatile int work = 0; work < 200000; ++work) {}
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"""
CODE = "SP060"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred short computations with a barrier behind each, compiled."""
    folder, mpi = tmp_path_factory.mktemp("shares"), find_mpi("embedded")
    assert mpi.mpicxx is not None
    (folder / "steps.c").write_text(SOURCE)
    argv = [str(mpi.mpicxx.with_name("mpicc")), "-O1", "-o", folder / "steps", folder / "steps.c"]
    subprocess.run(argv, env=mpi.environ(os.environ), check=True, capture_output=True)
    return folder / "steps"


def watched(program: Path, library: Path, folder: Path, processors: set[int]) -> WatchResults:
    """Two ranks of the program that may use these processors."""
    mpi = find_mpi("embedded")
    launched = [str(mpi.mpiexec), "-bind-to", "none", "-n", "2", str(program)]
    own = ["--library", str(library), "-o", str(folder), "-q", "--verdict", str(folder.with_suffix(".txt"))]
    argv = [sys.executable, "-m", "slowpath.cli", "watch", *own, "--", *launched]
    done = subprocess.run(
        argv,
        env=mpi.environ(os.environ),
        preexec_fn=lambda: os.sched_setaffinity(0, processors),
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return read_watch_results(folder)


def test_two_ranks_on_one_processor_are_named(program: Path, watch_library: Path, tmp_path: Path) -> None:
    one = min(os.sched_getaffinity(0))
    found = watched(program, watch_library, tmp_path / "w", {one})
    assert found.resources is not None
    assert [rank.processors for rank in found.resources] == [str(one)] * 2
    assert all(rank.involuntary_switches for rank in found.resources)
    named = next(finding for finding in found.findings if finding.rule == CODE)
    assert f"2 ranks on 1 processor ({one} of " in named.text
    assert named.interval[0] > 0
    assert "ranks share processors" in (tmp_path / "w.txt").read_text().replace("\n", " ")


def test_with_a_processor_each_they_are_not(program: Path, watch_library: Path, tmp_path: Path) -> None:
    every = os.sched_getaffinity(0)
    if len(every) < 2:
        pytest.skip("needs two processors")
    found = watched(program, watch_library, tmp_path / "w", every)
    assert CODE not in [finding.rule for finding in found.findings]
