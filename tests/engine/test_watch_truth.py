# SPDX-License-Identifier: Apache-2.0
"""A program that knows which of its messages were late, and which came early: what a watch says of them is true."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ranks import Ranks

from slowpath.watch.attributed import attributed
from slowpath.watch.record.job import read_job
from support.watch_truth import Score, scores

SOURCE = Path(__file__).parents[1] / "watch" / "truth.c"
RANKS, SEED, ROUNDS, DELAY_US = 4, 20, 250, 400
LEAST_SHARE = 0.99
LEAST_ASKED = {"matched": 400, "late sender": 300, "unexpected": 200, "late receiver": 200, "last in a collective": 20}


def test_late_and_unexpected_are_what_the_program_knows(ranks: Ranks, watch_library: Path, tmp_path: Path) -> None:
    if ranks.mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    program = tmp_path / "truth"
    argv = [str(ranks.mpi.mpicxx.with_name("mpicc")), "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    found = watched(ranks, watch_library, program, tmp_path / "watch")
    for question, score in found.items():
        assert score.share >= LEAST_SHARE, (question, found)
    for question, least in LEAST_ASKED.items():
        assert found[question].asked >= least, (question, found)


def watched(ranks: Ranks, watch_library: Path, program: Path, watch: Path) -> dict[str, Score]:
    """What one run of the program knows, and how often the watch is right."""
    (watch / "ranks").mkdir(parents=True)
    preloaded = {"LD_PRELOAD": str(watch_library)}
    words = (str(program), str(watch / "table"), str(SEED), str(ROUNDS), str(DELAY_US))
    done = ranks.start(*words, ranks=RANKS, of_ranks={**preloaded, "SLOWPATH_WATCH": str(watch / "ranks")})
    assert done.returncode == 0, done.stderr
    return scores(watch / "table", attributed(read_job(watch)))
