# SPDX-License-Identifier: Apache-2.0
"""Programs in Fortran by the module mpi_f08: watched and replaced they compute what they compute natively.

Of an MPI with a module that gfortran reads, as Debian's; the packages from PyPI have none, so `make test-rest` leaves
this out: SLOWPATH_TEST_MPIS=/usr pytest tests/engine/test_f08.py
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ranks import Ranks
from test_coll_replaced import Table, library_of, text_of

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from slowpath.watch.folder import record_files
from slowpath.watch.record.reader import read_rank

SOURCE = Path(__file__).resolve().parents[2] / "engine" / "watch" / "tests" / "test_f08.f90"
# Of each rank; rank 0 sends, rank 1 receives.
CALLS = {"MPI_Init": 1, "MPI_Comm_rank": 1, "MPI_Comm_size": 1, "MPI_Comm_dup": 1, "MPI_Comm_free": 1}
CALLS |= {"MPI_Bcast": 2, "MPI_Gather": 1, "MPI_Scatter": 1, "MPI_Allgather": 1, "MPI_Alltoall": 1, "MPI_Allreduce": 1}
CALLS |= {"MPI_Scan": 1, "MPI_Iallreduce": 1, "MPI_Wait": 1, "MPI_Irecv": 1, "MPI_Isend": 1, "MPI_Waitall": 1}
CALLS |= {"MPI_Barrier": 1, "MPI_Reduce": 1}
MOCKUPS = {"bcast": "scatter+allgather", "gather": "reduce", "scatter": "bcast", "allgather": "allreduce"}
MOCKUPS |= {"alltoall": "copy+alltoall", "allreduce": "reduce+bcast", "scan": "doubling", "reduce": "allreduce"}

pytestmark = [pytest.mark.needs("gfortran"), pytest.mark.by_hand]


@pytest.fixture
def ranks(mpi: Mpi) -> Ranks:
    """Without an engine: the watch needs none."""
    return Ranks(mpi, None)  # type: ignore[arg-type]


@pytest.fixture
def program(ranks: Ranks, tmp_path: Path) -> Path:
    """Skips where the MPI under test has no module for gfortran."""
    wrapper = None if ranks.mpi.mpicxx is None else ranks.mpi.mpicxx.with_name("mpifort")
    made = tmp_path / "f08"
    if wrapper is None or not wrapper.exists():
        pytest.skip("no Fortran wrapper")
    done = subprocess.run([wrapper, "-o", made, SOURCE], env=ranks.environ(), capture_output=True, text=True)
    if "Cannot open module file" in done.stderr or "Cannot read module file" in done.stderr:
        pytest.skip("no mpi_f08 for this compiler")
    assert done.returncode == 0, done.stderr
    return made


def test_each_call_is_seen_at_its_place_in_the_program(
    ranks: Ranks, program: Path, watch_library: Path, tmp_path: Path
) -> None:
    native = ranks.start(str(program))
    assert native.returncode == 0, native.stderr
    (tmp_path / "ranks").mkdir()
    variables = {"LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(tmp_path / "ranks")}
    watched = ranks.start(str(program), of_ranks=variables)
    assert (watched.returncode, watched.stdout) == (0, native.stdout), watched.stderr
    records = [read_rank(path) for path in record_files(tmp_path)]
    assert sorted(record.rank for record in records) == [0, 1]
    for record in records:
        seen = dict(zip(record.call_names, record.calls["calls"].tolist(), strict=True))
        own = {"MPI_Send" if record.rank == 0 else "MPI_Recv": 1}
        assert {name: count for name, count in seen.items() if count} == CALLS | own
        assert record.sites["fortran"][1:].all()


def test_a_table_changes_no_result(mpi: Mpi, engine: Engine, program: Path, tmp_path: Path) -> None:
    """MPICH's module calls MPI_Bcast in C, but PMPI_Init; Open MPI's calls profiling names alone."""
    ranks = Ranks(mpi, engine)
    native = ranks.start(str(program))
    everything = {"ranks": [1, 1 << 20], "bytes": [0, 1 << 62]}
    table: Table = [{"collective": name, "mockup": mockup, **everything} for name, mockup in MOCKUPS.items()]
    variables = {
        "LD_PRELOAD": str(library_of(ranks)),
        "SLOWPATH_COLL": text_of(ranks, table),
        "SLOWPATH_COLL_REPORT": str(tmp_path / "report.json"),
    }
    done = ranks.start(str(program), exported=variables)
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    assert done.stderr.count("the Fortran layer of this MPI calls profiling names") == 1
    calls = {row["collective"]: row["calls"] for row in json.loads((tmp_path / "report.json").read_text())["rows"]}
    assert calls == {name: 0 if mpi.name == "openmpi" else 2 * CALLS[f"MPI_{name.capitalize()}"] for name in MOCKUPS}
