# SPDX-License-Identifier: Apache-2.0
"""Places of calls from Python are the program's lines, and the interpreter runs as it does without a watch."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from ranks import Ranks

from slowpath.watch.events import events_of
from slowpath.watch.record.job import read_job
from slowpath.watch.totals import sites_of

PROGRAM = Path(__file__).parents[1] / "watch" / "places.py"


def line_of(comment: str) -> int:
    """Of the program."""
    return 1 + next(i for i, line in enumerate(PROGRAM.read_text().splitlines()) if line.endswith(comment))


@pytest.fixture(scope="module")
def counted(ranks: Ranks, watch_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Counter[tuple[str, int]]:
    """Calls by name and line; the program printed the same as without a watch."""
    records = tmp_path_factory.mktemp("places") / "ranks"
    records.mkdir()
    own = {"MPI4PY_LIBMPI": str(min(ranks.mpi.prefix.glob("lib*/libmpi.so.*"), key=lambda path: len(path.name)))}
    watching = {"LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(records)}
    plain, watched = (
        ranks.start(sys.executable, str(PROGRAM), ranks=1, of_ranks={**own, **more}) for more in ({}, watching)
    )
    assert plain.returncode == watched.returncode == 0, watched.stderr
    assert plain.stdout == watched.stdout
    assert "references True" in watched.stdout
    _, world = events_of(read_job(records.parent))
    sites = sites_of(world, list(range(len(world.sites))))
    counts: Counter[tuple[str, int]] = Counter()
    for row in world.records[0].profile:
        site = sites[int(world.sites_at(0, np.array([row["site"]]))[0])]
        name = world.records[0].call_names[row["call"]].removesuffix("_c")
        if site.file == "places.py" and not row["flags"] & 2:
            counts[name, site.line or 0] += int(row["count"])
    return counts


def test_a_line_in_python_is_the_place(counted: Counter[tuple[str, int]]) -> None:
    assert counted["MPI_Sendrecv", line_of("COMM.Sendrecv(ONE, 0, tag, TWO, 0, tag)")] == 3000


def test_lines_that_share_a_place_in_c_have_their_shares(counted: Counter[tuple[str, int]]) -> None:
    first, three = (counted["MPI_Allreduce", line_of(comment)] for comment in ("# one", "# three"))
    assert first + three == 40000
    assert first == pytest.approx(10000, rel=0.4)


def test_phases_of_a_program_have_their_lines(counted: Counter[tuple[str, int]]) -> None:
    first, second = (counted["MPI_Barrier", line_of(f"# {phase} phase")] for phase in ("first", "second"))
    assert first + second == 80000
    assert first == pytest.approx(40000, rel=0.2)
