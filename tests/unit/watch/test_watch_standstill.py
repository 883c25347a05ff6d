# SPDX-License-Identifier: Apache-2.0
"""A program that hangs: who waits for whom in which call, and who has not come, from what each rank does now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slowpath.watch.analysis import watched
from slowpath.watch.attributed import attributed
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.live import live_lines, quiet_for
from slowpath.watch.record.job import read_job
from slowpath.watch.record.layout import NONE_16, Doing, EventKind, RecordState
from slowpath.watch.results import Standstill
from slowpath.watch.standstill import LEAST_QUIET_S, standstill
from slowpath.watch.verdict import brief_of
from support.watch_record import REALTIME_NS, Job, Rank

QUIET_S = 20.0
STOPPED_S = 30.0  # since MPI_Init
BARRIER = {"communicator": 0, "collective_communicator": 0}


def a_job(ranks: int, **fields: Any) -> Job:
    """One collective that went well: what comes next is number 1."""
    job = Job(ranks, **({"state": RecordState.RUNNING} | fields))
    for rank in job.ranks:
        rank.collective("MPI_Allreduce", start_s=1.0, end_s=1.1)
    return job


def now(rank: Rank, call: str, since_s: float, doing: Doing = Doing.IN_CALL, **fields: Any) -> None:
    """What its thread does now, or did last: fields by the names of the schema. Ticks are ns."""
    row = {
        "since_ticks": rank.base_ns + round(since_s * 1e9), "doing": int(doing), "call": rank.call(call), "peer": -1,
        "source": -1, "communicator": NONE_16, "collective_communicator": NONE_16, "ticks_per_s": 10**9,
    }  # fmt: skip
    rank.rows["current"].append(row | fields)


def at_barrier(job: Job, *ranks: int, number: int = 1, call: str = "MPI_Barrier", **fields: Any) -> None:
    for rank in ranks:
        now(job.ranks[rank], call, 10.0, sequence=number, collective_sequence=number, **(BARRIER | fields))


def outside(job: Job, *ranks: int) -> None:
    for rank in ranks:
        now(job.ranks[rank], "MPI_Allreduce", 1.0, Doing.OUTSIDE, collective_communicator=0)


def found(tmp_path: Path, job: Job, until_s: float | None = STOPPED_S) -> Standstill | None:
    job.write(tmp_path / "ranks")
    until = None if until_s is None else REALTIME_NS * 1e-9 + until_s
    return standstill(attributed(read_job(tmp_path)), until)


def must(tmp_path: Path, job: Job) -> Standstill:
    still = found(tmp_path, job)
    assert still is not None
    assert still.quiet_s == pytest.approx(QUIET_S, abs=0.01)
    assert [one.rank for one in still.ranks] == list(range(job.size))
    return still


def test_ranks_that_do_not_come_to_a_barrier_are_named(tmp_path: Path) -> None:
    job = a_job(8)
    at_barrier(job, 0, 1, 2, 4, 5, 6, 7)
    outside(job, 3)
    still = must(tmp_path, job)
    assert (still.cause, still.late) == ("missing", (3,))
    assert still.text.startswith("rank 3 does not come to MPI_Barrier at ")
    assert "where ranks 0-2,4-7 wait: it is outside MPI for 28.9 s, after MPI_Allreduce at " in still.text
    assert [one.waits_for for one in still.ranks if one.rank != 3] == [(3,)] * 7
    assert still.ranks[3].waits_for == ()


def test_a_receive_without_a_send_waits_for_a_rank_that_has_ended(tmp_path: Path) -> None:
    job = a_job(3)
    now(job.ranks[1], "MPI_Recv", 10.0, communicator=0, source=0, tag=77)
    for rank in (0, 2):
        outside(job, rank)
        job.ranks[rank].state = RecordState.FINALIZED
    still = found(tmp_path, job, 40.0)
    assert still is not None
    assert (still.cause, still.late) == ("missing", (0,))
    assert still.text.startswith("rank 1 waits in MPI_Recv from rank 0 (tag 77) at ")
    assert still.text.endswith("but rank 0 is in MPI_Finalize, or past it")


def test_sends_that_wait_for_each_other_are_a_circle(tmp_path: Path) -> None:
    job = a_job(4)
    for rank in range(4):
        now(job.ranks[rank], "MPI_Send", 10.0, communicator=0, peer=(rank + 1) % 4, tag=5)
    still = must(tmp_path, job)
    assert (still.cause, still.late) == ("circle", (0, 1, 2, 3))
    assert "ranks 0-3 wait for each other in a circle, all in MPI_Send at " in still.text
    assert still.text.endswith(": 0 for 1, 1 for 2, 2 for 3, 3 for 0")


def test_the_shortest_circle_is_named_and_who_waits_for_it_is_not_part_of_it(tmp_path: Path) -> None:
    job = a_job(4)
    at_barrier(job, 0, 2, 3)
    now(job.ranks[1], "MPI_Recv", 10.0, communicator=0, source=0, tag=7)
    still = must(tmp_path, job)
    assert (still.cause, still.late) == ("circle", (0, 1))


def test_different_collectives_with_one_number_do_not_fit(tmp_path: Path) -> None:
    job = a_job(4)
    at_barrier(job, 0, 1, 3)
    at_barrier(job, 2, call="MPI_Bcast", peer=0)
    still = must(tmp_path, job)
    assert (still.cause, still.late) == ("mismatch", (2,))
    assert still.text.startswith("rank 2 is in MPI_Bcast at ")


def test_a_rank_that_has_been_there_and_left_is_not_late(tmp_path: Path) -> None:
    """The root of a broadcast returns before the others come."""
    job = a_job(3)
    job.ranks[0].collective("MPI_Bcast", start_s=9.0, end_s=10.0, root=0)
    now(job.ranks[0], "MPI_Bcast", 9.0, Doing.OUTSIDE, collective_communicator=0, collective_sequence=1)
    at_barrier(job, 1, call="MPI_Bcast", peer=0)
    outside(job, 2)
    still = must(tmp_path, job)
    assert still.ranks[1].waits_for == (2,)


def test_of_requests_only_those_whose_other_side_is_missing_are_waited_for(tmp_path: Path) -> None:
    job = a_job(3)
    for source in (1, 2):
        job.ranks[0].irecv(source, start_s=2.0, end_s=2.1, tag=source)
    job.ranks[1].send(0, tag=1, start_s=2.0, end_s=2.1)
    now(job.ranks[0], "MPI_Waitall", 10.0, requests=2)
    outside(job, 1, 2)
    still = must(tmp_path, job)
    assert still.ranks[0].waits_for == (2,)
    assert "MPI_Waitall of 2 requests (MPI_Irecv from rank 2 (tag 2))" in still.ranks[0].text


def test_polls_in_vain_move_nothing(tmp_path: Path) -> None:
    job = a_job(2)
    now(job.ranks[0], "MPI_Iprobe", 10.0, Doing.POLLING, communicator=0, source=1, tag=9)
    job.ranks[0].event(
        "MPI_Iprobe", 29.0, 29.1, EventKind.NOTHING, peer=1
    )  # the record's last call, which found nothing
    outside(job, 1)
    still = must(tmp_path, job)
    assert still.text.startswith("rank 0 polls in MPI_Iprobe from rank 1 (tag 9) at ")


def test_nothing_is_claimed_of_a_program_that_moves_or_waits_in_no_call(tmp_path: Path) -> None:
    moves = a_job(2)
    at_barrier(moves, 0)
    now(moves.ranks[1], "MPI_Send", STOPPED_S - LEAST_QUIET_S + 0.5, Doing.OUTSIDE)
    assert found(tmp_path / "moves", moves) is None
    assert quiet_for(tmp_path / "moves", REALTIME_NS * 1e-9 + STOPPED_S) == pytest.approx(LEAST_QUIET_S - 0.5, abs=0.01)
    computes = a_job(2)
    outside(computes, 0, 1)
    assert found(tmp_path / "computes", computes) is None
    assert quiet_for(tmp_path / "computes", REALTIME_NS * 1e-9 + STOPPED_S) is None
    old = a_job(2)
    assert found(tmp_path / "old", old) is None
    unknown = a_job(2)
    at_barrier(unknown, 0)
    outside(unknown, 1)
    assert found(tmp_path / "unknown", unknown, None) is None


def test_the_first_line_of_the_verdict_names_it_and_a_program_that_ended_well_has_none(tmp_path: Path) -> None:
    job = a_job(4)
    at_barrier(job, 0, 1, 2)
    outside(job, 3)
    job.write(tmp_path / "ranks")
    info = WatchInfo(
        slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", working_folder="/", host="node1",
        library="/l.so", wall_s=30.0, exit_code=9, until=REALTIME_NS * 1e-9 + STOPPED_S, interrupted=True,
    )  # fmt: skip
    write_watch(tmp_path, info)
    first = brief_of(watched(tmp_path).results).lines()[0]
    assert first.startswith("app, 4 ranks, hung for 20.0 s: rank 3 does not come to MPI_Barrier at ")
    failed = WatchInfo(**{**{f: getattr(info, f) for f in info.__struct_fields__}, "interrupted": False})
    write_watch(tmp_path, failed)
    first = brief_of(watched(tmp_path).results).lines()[0]
    assert first.startswith("app, 4 ranks, nothing moved for 20.0 s before it failed: rank 3 does not come to ")
    lines = live_lines(tmp_path, 30.0, REALTIME_NS * 1e-9 + STOPPED_S)
    assert lines[0].startswith("live, 30.0 s: ")
    assert lines[1].startswith("live, nothing moved for 20.0 s: rank 3 does not come to ")
    write_watch(
        tmp_path,
        WatchInfo(**{**{f: getattr(info, f) for f in info.__struct_fields__}, "exit_code": 0, "interrupted": False}),
    )
    assert watched(tmp_path).results.standstill is None


def test_a_made_up_row_ends_nothing(tmp_path: Path) -> None:
    job = a_job(2)
    now(job.ranks[0], "MPI_Recv", 10.0, communicator=999, source=77, tag=3, site=888, request=5)
    row = job.ranks[0].rows["current"][0]
    now(job.ranks[1], "MPI_Barrier", 10.0, collective_communicator=500, sequence=2**32 - 1)
    assert found(tmp_path / "far", job) is not None
    row |= {"call": 60000, "doing": 7, "peer": -5000, "source": -(2**31), "since_ticks": 2**64 - 1}
    found(tmp_path / "wild", job)
