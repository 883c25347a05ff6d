# SPDX-License-Identifier: Apache-2.0
"""Files that slowpath tune writes, under the library that reads them: programs run with them; MPICH reads its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks import Ranks

from slowpath.diagnose.tune.cells import TuneRequest
from slowpath.diagnose.tune.files import written
from slowpath.mpi import tuning
from slowpath.mpi.tuning import ALGORITHMS, Pick

EFFORT = "samples=8 warmup_s=0 time_limit_s=0.001"
CELLS = [f"coll collective=alltoall message_bytes={length} {EFFORT}" for length in (64, 4096)]


@pytest.mark.needs("minutes")
def test_programs_run_with_the_files(ranks: Ranks, blankless: Path) -> None:
    library = ranks.mpi.name
    request = TuneRequest(library, f"{library}-x", None, ("alltoall",), (2,), (64, 4096), 5)
    picks = [Pick("alltoall", 2, 64, "algorithm", ALGORITHMS[library]["alltoall"][1])]
    variables = written(blankless, request, picks, {("alltoall", 2): (64, 4096)}, ranks.mpi, ranks.environ(), None)
    done = ranks.run_plan(blankless / "run", CELLS, of_all=variables, exported=variables)
    assert done.returncode == 0, done.stderr
    if library != "mpich":
        return
    (blankless / tuning.MPICH_FILE).write_text("{")
    assert ranks.run_plan(blankless / "run", CELLS, of_all=variables, exported=variables).returncode != 0
