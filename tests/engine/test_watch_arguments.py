# SPDX-License-Identifier: Apache-2.0
"""The watch reads no argument that MPI does not: guard pages stand where the standard calls one insignificant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from ranks import Ranks
from test_watch_calls import compiled, written

from slowpath.mpi.mpi import Mpi
from slowpath.watch.folder import record_files
from slowpath.watch.record.reader import RankRecord, read_rank

ITEM_BYTES = 3 * 4  # three ints, of test_intercommunicators.c
# What each rank gives in a collective between rank 0 and ranks 1 and 2, in units of three ints. Rooted ones are called
# twice: first rank 0 is the root, then rank 1. What arrives is negative; None: takes no part.
BETWEEN: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "MPI_Bcast": ((1, -1), (-1, 1), (-1, 0)),
    "MPI_Scatter": ((2, -1), (-1, 1), (-1, 0)),
    "MPI_Scatterv": ((2, -1), (-1, 1), (-1, 0)),
    "MPI_Gather": ((0, 1), (1, 0), (1, 0)),
    "MPI_Gatherv": ((0, 1), (1, 0), (1, 0)),
    "MPI_Reduce": ((0, 1), (1, 0), (1, 0)),
    "MPI_Allreduce": ((1,), (1,), (1,)),
    "MPI_Allgather": ((1,), (1,), (1,)),
    "MPI_Allgatherv": ((1,), (1,), (1,)),
    "MPI_Alltoall": ((2,), (1,), (1,)),
    "MPI_Alltoallv": ((2,), (1,), (1,)),
    "MPI_Alltoallw": ((2,), (1,), (1,)),
    "MPI_Reduce_scatter_block": ((2,), (2,), (2,)),
    "MPI_Reduce_scatter": ((2,), (2,), (2,)),
}
NO_RANK, RECEIVE = -4, 2  # of the record: Peer.proc_null, Kind.receive


@pytest.fixture
def ranks(mpi: Mpi) -> Ranks:
    """Without an engine: none is needed, so none is built."""
    return Ranks(mpi, None)  # type: ignore[arg-type]


def both_ways(ranks: Ranks, program: Path, library: Path, folder: Path, *words: str, count: int) -> list[RankRecord]:
    """Run a program unwatched and watched; its output has to be the same.

    Args: words: behind the folder for its output.  count: of ranks.
    Returns: the records by rank.
    """
    folders = {name: folder / name for name in ("unwatched", "watched", "ranks")}
    for made in folders.values():
        made.mkdir(parents=True)
    plain = ranks.start(str(program), str(folders["unwatched"]), *words, ranks=count)
    assert plain.returncode == 0, plain.stderr
    variables = {"LD_PRELOAD": str(library), "SLOWPATH_WATCH": str(folders["ranks"])}
    watched = ranks.start(str(program), str(folders["watched"]), *words, ranks=count, of_ranks=variables)
    assert watched.returncode == 0, watched.stderr
    assert written(folders["watched"]) == written(folders["unwatched"])
    records = [read_rank(path) for path in record_files(folders["ranks"].parent)]
    assert len(records) == count
    return sorted(records, key=lambda record: record.rank)


def test_collectives_between_groups(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """The root is who says MPI_ROOT; arrays are as long as the group that they are about; bytes go to the others."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_intercommunicators.c", blankless / "between", ranks.environ())
    records = both_ways(ranks, program, watch_library, tmp_path, "all", count=3)
    for rank, record in enumerate(records):
        assert record.calls["calls"].sum() == record.lanes["calls"].sum()
        for call, units in BETWEEN.items():
            events = record.events[record.events["call"] == record.call_names.index(call)]
            given = [int(event["bytes"]) * (-1 if event["kind"] & RECEIVE else 1) for event in events]
            assert given == [unit * ITEM_BYTES for unit in units[rank]], (call, rank)
        scatters = record.events[record.events["call"] == record.call_names.index("MPI_Scatter")]
        assert scatters["peer"].tolist() == [0, NO_RANK if rank == 2 else 1]


def test_insignificant_arguments(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """In place, off the root, at the edge of a grid, of MPI_NO_OP, of no request; and waits that fail."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_insignificant.c", blankless / "insignificant", ranks.environ())
    records = both_ways(ranks, program, watch_library, tmp_path, "all", count=2)
    for record in records:  # one int, to the one neighbour in the grid
        events = record.events[record.events["call"] == record.call_names.index("MPI_Neighbor_alltoallw")]
        assert events["bytes"].tolist() == [4]


def test_what_mpi_refuses(ranks: Ranks, watch_library: Path, tmp_path: Path, blankless: Path) -> None:
    """Null pointers have the library's own error class, and the error handler is called as often as unwatched."""
    assert ranks.mpi.mpicxx is not None
    wrapper = ranks.mpi.mpicxx.with_name("mpicc")
    program = compiled(wrapper, "test_insignificant.c", blankless / "refused", ranks.environ())
    both_ways(ranks, program, watch_library, tmp_path, "refused", count=1)
