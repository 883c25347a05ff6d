# SPDX-License-Identifier: Apache-2.0
"""Planted delays under real MPIs: whoever has to pay does, by the law, and nobody else.

A delay is spun, so that it is a lower bound of the call whatever else the machine does. No upper bound is asked for:
the calls that pay nothing are compared with the least that those which pay take.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.record.blocks import BlockIndex, read, scan
from slowpath.run.engine.cache import Engine
from slowpath.studies.plants.measure import LIBRARY, VARIABLE

TIME_LIMIT_S = 120
MESSAGE = "pattern=one_way message_bytes=4096"
Planted = Callable[..., BlockIndex]


@pytest.fixture
def planted(mpi: Mpi, engine: Engine, tmp_path: Path) -> Planted:
    """Runs cells of p2p under a law and reads what they left."""

    def run(law: str, *cells: str) -> BlockIndex:
        folder = tmp_path / law.split()[0]
        folder.mkdir()
        done = launch(mpi, engine, folder, law, cells)
        assert done.returncode == 0, done.stderr
        return scan(folder / "samples.blk")

    return run


def launch(
    mpi: Mpi, engine: Engine, folder: Path, law: str, cells: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    lines = [f"cell {i} p2p {text}" for i, text in enumerate(cells)]
    (folder / "plan.txt").write_text("\n".join(["slowpath-plan 1", "launch 0", "seed 5", *lines, ""]))
    argv = [str(engine.program), "--plan", str(folder / "plan.txt"), "--out", str(folder)]
    variables = {"LD_PRELOAD": str(engine.program.parent / LIBRARY), VARIABLE: law}
    environ = mpi.environ(os.environ)
    started = command(launcher_named(mpi.launcher), str(mpi.mpiexec), mpi.name, 2, "none", variables, argv, 2, environ)
    return subprocess.run(
        ["timeout", "-k", "5", str(TIME_LIMIT_S), *started.argv],
        env={**environ, **started.variables},
        capture_output=True,
        text=True,
        check=False,
    )


def times_s(index: BlockIndex, cell: int, phase: str, rank: int = 0) -> NDArray[np.float64]:
    blocks = [read(index, int(i)).duration_ns for i in index.select(cell=cell, phase=phase, rank=rank)]
    return np.concatenate(blocks) * 1e-9


def test_pages_of_an_allocation_are_paid_once_by_the_sender(planted: Planted) -> None:
    cells = [
        f"{MESSAGE} buffer_bytes=2097152 overalloc_bytes={more} allocations=5 messages=3" for more in (0, 1, 65536)
    ]
    index = planted("pages cost_s=100e-6", *cells)
    aligned, by_small, by_middle = (times_s(index, cell, "first") for cell in range(3))
    assert by_small.min() >= 513 * 100e-6
    assert by_middle.min() >= 33 * 100e-6
    assert aligned.min() < by_middle.min() < by_small.min()
    assert times_s(index, 1, "steady").min() < 513 * 100e-6


def test_a_receive_can_be_planted_too(planted: Planted) -> None:
    index = planted("constant cost_s=5e-3 side=receive phase=every", f"{MESSAGE} messages=6")
    for phase in ("first", "steady"):
        assert times_s(index, 0, phase, rank=1).min() >= 5e-3


def test_a_gate_opens_at_the_nth_use(planted: Planted) -> None:
    index = planted("gate n=4 cost_s=20e-3", f"{MESSAGE} messages=8 allocations=2")
    later = times_s(index, 0, "steady").reshape(2, 7)
    assert times_s(index, 0, "first").min() >= 20e-3
    assert later[:, :2].min() >= 20e-3
    assert later[:, 2:].min() < 20e-3


def test_one_buffer_more_than_the_cache_holds_misses_always(planted: Planted) -> None:
    index = planted("live n=3 cost_s=5e-3", *(f"{MESSAGE} messages=4 live_buffers={live}" for live in (3, 4)))
    assert times_s(index, 0, "steady").min() < 5e-3
    assert times_s(index, 1, "steady").min() >= 5e-3


def test_a_threshold_is_exact_to_the_byte(planted: Planted) -> None:
    index = planted("threshold n=1000 cost_s=5e-3", *(f"pattern=one_way message_bytes={n}" for n in (1000, 1001)))
    assert times_s(index, 0, "steady").min() < 5e-3
    assert times_s(index, 1, "steady").min() >= 5e-3


def test_blocks_and_open_receives_are_counted(planted: Planted) -> None:
    index = planted("blocks cost_s=1e-3", f"{MESSAGE} datatype=vector blocks=8", MESSAGE)
    assert times_s(index, 0, "steady").min() >= 8e-3
    assert times_s(index, 1, "steady").min() < 8e-3
    index = planted("queue cost_s=1e-3", *(f"{MESSAGE} posted=before queue={n}" for n in (16, 0)))
    assert times_s(index, 0, "steady", rank=1).min() >= 16e-3
    assert times_s(index, 1, "steady", rank=1).min() < 16e-3


def test_a_text_that_cannot_be_read_ends_the_job(mpi: Mpi, engine: Engine, tmp_path: Path) -> None:
    done = launch(mpi, engine, tmp_path, "pages costs=1", (MESSAGE,))
    assert done.returncode != 0
    assert f"slowpath-plant: error: {VARIABLE}='pages costs=1'" in done.stdout + done.stderr
