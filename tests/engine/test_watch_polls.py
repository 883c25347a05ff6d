# SPDX-License-Identifier: Apache-2.0
"""A rank that waits by polling waits: its time has the name and the length that it has in a call that blocks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from ranks import Ranks

from slowpath.watch.attributed import Attributed, attributed
from slowpath.watch.record.job import read_job
from slowpath.watch.results import RankTime
from slowpath.watch.totals import call_seconds, rank_times, time_weights

SOURCE = Path(__file__).parents[1] / "watch" / "polls.c"
WAYS = ("blocks", "tests", "probes", "testsome", "places", "barrier")


def watched(ranks: Ranks, watch_library: Path, folder: Path, way: str) -> Attributed:
    """What one run of the program in this way left."""
    assert ranks.mpi.mpicxx is not None
    program, records = folder / "polls", folder / way / "ranks"
    argv = [str(ranks.mpi.mpicxx.with_name("mpicc")), "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    records.mkdir(parents=True)
    preloaded = {"LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(records)}
    done = ranks.start(str(program), way, ranks=2, of_ranks=preloaded)
    assert done.returncode == 0, done.stderr
    return attributed(read_job(folder / way))


def waiting(found: Attributed) -> RankTime:
    """Times of rank 1."""
    weight = time_weights(found.events, found.world, np.flatnonzero(found.events.is_timed))
    return rank_times(found, weight, call_seconds(found.world))[1]


@pytest.mark.parametrize("way", WAYS)
def test_polling_is_waiting_for_the_rank_that_is_late(
    way: str, ranks: Ranks, watch_library: Path, tmp_path: Path
) -> None:
    time = waiting(watched(ranks, watch_library, tmp_path, way))
    waited_s = time.imbalance_s if way == "barrier" else time.late_sender_s
    assert time.mpi_s > 0.6 * time.span_s
    assert waited_s > 0.5 * time.mpi_s


def test_a_rank_that_computes_between_its_polls_does_not_wait(
    ranks: Ranks, watch_library: Path, tmp_path: Path
) -> None:
    found = watched(ranks, watch_library, tmp_path, "computes")
    assert waiting(found).mpi_s < 0.6 * waiting(found).span_s
    assert not any(found.world.polls)
