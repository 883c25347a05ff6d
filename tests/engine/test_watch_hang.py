# SPDX-License-Identifier: Apache-2.0
"""Programs that hang on real ranks: the first line says who waits where for whom, and who has not come."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.watch.results import Standstill, read_watch_results
from watchdog import WATCHDOG_S

SOURCE = Path(__file__).parents[1] / "watch" / "hang.c"
RANKS = 4


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    made = tmp_path_factory.mktemp("hang") / "hang"
    argv = [str(mpi.mpicxx.with_name("mpicc")), "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", made, SOURCE]
    subprocess.run(argv, env=mpi.environ(os.environ), check=True, capture_output=True)
    return made


def hung(mpi: Mpi, library: Path, program: Path, folder: Path, way: str) -> tuple[str, Standstill]:
    """The last lines of stderr, and what the results say."""
    own = ["--library", str(library), "-o", str(folder / "w"), "-q", "--hang-after", "1.5"]
    plain, launcher, cores = mpi.environ(os.environ), launcher_named(mpi.launcher), len(os.sched_getaffinity(0))
    words = [str(program), way]
    made = command(launcher, str(mpi.mpiexec), mpi.name, RANKS, "none", {}, words, cores, plain)
    argv = [sys.executable, "-m", "slowpath.cli", "watch", *own, "--", *made.argv]
    environ = {**plain, **made.variables}
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode != 0
    results = read_watch_results(folder / "w")
    assert results.standstill is not None, done.stderr
    assert results.standstill.text in results.verdict[0]
    assert f"hang, {RANKS} ranks, hung for " in done.stderr
    assert "stopped, because nothing moved for 1.5 s" in done.stderr
    return done.stderr, results.standstill


def test_the_rank_that_does_not_come_to_a_barrier_is_named(
    mpi: Mpi, watch_library: Path, program: Path, tmp_path: Path
) -> None:
    _, still = hung(mpi, watch_library, program, tmp_path, "barrier")
    assert (still.cause, still.late) == ("missing", (3,))
    assert still.text.startswith("rank 3 does not come to MPI_Barrier at barrier (hang.c:")
    assert "where ranks 0-2 wait: it is outside MPI for " in still.text


def test_a_receive_that_nobody_sends_to_is_named_with_its_place(
    mpi: Mpi, watch_library: Path, program: Path, tmp_path: Path
) -> None:
    _, still = hung(mpi, watch_library, program, tmp_path, "last")
    assert (still.cause, still.late) == ("missing", (0,))
    assert still.text.startswith("rank 1 waits in MPI_Recv from rank 0 (tag 77) at last (hang.c:")
    assert still.text.endswith("but rank 0 is in MPI_Finalize, or past it")


def test_sends_round_a_ring_are_a_circle(mpi: Mpi, watch_library: Path, program: Path, tmp_path: Path) -> None:
    _, still = hung(mpi, watch_library, program, tmp_path, "cycle")
    assert (still.cause, still.late) == ("circle", (0, 1, 2, 3))
    assert "all in MPI_Ssend at cycle (hang.c:" in still.text
