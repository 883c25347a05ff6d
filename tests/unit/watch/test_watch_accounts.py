# SPDX-License-Identifier: Apache-2.0
"""Every second in MPI has a name: planted waits, calls and management come out under theirs, and add up."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.watch.analysis import watched
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.results import AccountName
from support.watch_record import BASE_NS, Job


def seconds(tmp_path: Path, job: Job) -> dict[AccountName, tuple[float, ...]]:
    """By name: of each rank."""
    job.write(tmp_path / "ranks")
    info = WatchInfo(
        slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", working_folder="/", host="node1",
        library="/l.so", wall_s=1.0, exit_code=0,
    )  # fmt: skip
    write_watch(tmp_path, info)
    results = watched(tmp_path).results
    assert results.accounts
    for i, rank in enumerate(results.ranks):
        assert sum(one.by_rank[i] for one in results.accounts) == pytest.approx(rank.mpi_s)
    assert sum(one.share for one in results.accounts) == pytest.approx(1.0)
    return {one.name: one.by_rank for one in results.accounts}


@pytest.mark.parametrize(
    ("call", "root", "name", "who"),
    [
        ("MPI_Barrier", -1, "wait at barrier", 1),
        ("MPI_Allreduce", -1, "wait at N x N", 1),
        ("MPI_Bcast", 0, "late broadcast", 1),
        ("MPI_Reduce", 1, "early reduce", 1),
        ("MPI_Comm_dup", -1, "wait at management", 1),
        ("MPI_Win_create", -1, "wait at management", 1),
    ],
)
def test_waiting_for_a_late_rank_has_the_name_of_what_is_waited_in(
    tmp_path: Path, call: str, root: int, name: AccountName, who: int
) -> None:
    job = Job(2)
    job.ranks[0].collective(call, start_s=0.050, end_s=0.051, root=root)
    job.ranks[1].collective(call, start_s=0.010, end_s=0.051, root=root)
    assert seconds(tmp_path, job)[name][who] == pytest.approx(0.040)


def test_waiting_for_messages_has_its_names(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.031)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032)
    job.ranks[0].send(1, start_s=0.040, end_s=0.062, message_bytes=2**20)
    job.ranks[1].receive(0, start_s=0.060, end_s=0.063, message_bytes=2**20)
    found = seconds(tmp_path, job)
    assert found["late sender"] == pytest.approx((0.0, 0.020))
    assert found["late receiver"] == pytest.approx((0.020, 0.0))


def test_short_messages_cost_their_calls_and_what_goes_beyond_the_fastest_is_excess(tmp_path: Path) -> None:
    job = Job(2)
    for i in range(100):
        at, slow = 0.001 * i, 10e-6 if i < 10 else 0.0
        job.ranks[0].send(1, start_s=at, end_s=at + 1e-6 + slow)
        job.ranks[1].receive(0, start_s=at + 50e-6, end_s=at + 52e-6)
    found = seconds(tmp_path, job)
    assert found["cost of calls"] == pytest.approx((100e-6, 200e-6))
    assert found["excess"][0] == pytest.approx(100e-6)
    assert found["excess"][1] == pytest.approx(0.0, abs=1e-9)


def test_long_messages_move_bytes(tmp_path: Path) -> None:
    job = Job(2)
    for i in range(40):
        at = 0.001 * i
        job.ranks[0].send(1, start_s=at, end_s=at + 100e-6, message_bytes=2**16)
        job.ranks[1].receive(0, start_s=at, end_s=at + 100e-6, message_bytes=2**16)
    assert seconds(tmp_path, job)["transfer at the floor"] == pytest.approx((4e-3, 4e-3))


def test_calls_that_are_counted_alone_are_managed_or_cost_what_they_cost(tmp_path: Path) -> None:
    job = Job(1)
    job.ranks[0].profile_row("MPI_Type_commit", 1000, 100)
    job.ranks[0].profile_row("MPI_Comm_rank", 50, 1000)
    job.ranks[0].profile_row("MPI_Wtime", 50, 1000)
    found = seconds(tmp_path, job)
    assert found["management"] == pytest.approx((150e-6,))
    assert found["cost of calls"] == pytest.approx((50e-6,))


@pytest.mark.parametrize("in_mpi_s", [-0.010, 0.0, 0.030, 9.0])
def test_what_a_rank_stood_in_the_queue_longer_than_it_computed_and_waited_was_without_a_processor(
    tmp_path: Path, in_mpi_s: float
) -> None:
    """Barriers take 1 us, and one in ten 10 ms for both: excess. One rank comes late by 5 ms for each of ten others."""
    job = Job(2)
    for i in range(100):
        at, slow = 0.020 * i, 0.010 if i % 10 == 0 else 0.0
        late = 0.005 if i % 10 == 5 else 0.0
        job.ranks[0].collective("MPI_Barrier", start_s=at, end_s=at + late + 1e-6 + slow)
        job.ranks[1].collective("MPI_Barrier", start_s=at + late, end_s=at + late + 1e-6 + slow)
    span_s = 0.020 * 99 + 1e-6
    outside_s = [span_s - 100e-6 - 0.100 - 0.050, span_s - 100e-6 - 0.100]
    for rank, other_s in zip(job.ranks, outside_s, strict=True):
        queued_ns = round((other_s + (0.050 if rank.rank == 0 else 0.0) + in_mpi_s) * 1e9)
        rank.say("at", f"begin ns={BASE_NS} processors=0-15 waited_ns=0 ran_ns=0 used_ns=0 online=16")
        rank.say("at", f"end ns={BASE_NS + 2 * 10**9} processors=0-15 waited_ns={queued_ns} ran_ns=1 used_ns=1")
    found = seconds(tmp_path, job)
    expected_s = min(max(in_mpi_s, 0.0), 0.100)
    assert found.get("no processor", (0.0, 0.0)) == pytest.approx((expected_s, expected_s), abs=1e-5)
    assert found.get("excess", (0.0, 0.0)) == pytest.approx((0.100 - expected_s,) * 2, abs=1e-5)
    assert found["wait at barrier"][0] == pytest.approx(0.050, rel=0.01)


def test_a_message_without_its_other_side_has_no_name(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.030)
    job.ranks[0].collective("MPI_Barrier", start_s=0.040, end_s=0.041)
    job.ranks[1].collective("MPI_Barrier", start_s=0.040, end_s=0.041)
    assert seconds(tmp_path, job)["no name"] == pytest.approx((0.0, 0.020))


def test_beyond_the_floor_of_its_kind_a_message_without_its_other_side_waits_or_is_slow(tmp_path: Path) -> None:
    """40 receives whose sends are known take 2 us; 10 whose sends are not take 1 ms: 2 us of that are the call's."""
    job = Job(2)
    for i in range(50):
        at = 0.002 * i
        if i < 40:
            job.ranks[0].send(1, start_s=at, end_s=at + 1e-6)
        job.ranks[1].receive(0, start_s=at + 50e-6, end_s=at + (52e-6 if i < 40 else 1050e-6))
    found = seconds(tmp_path, job)
    assert found["wait or excess"][1] == pytest.approx(10 * 998e-6)
    assert found["cost of calls"][1] == pytest.approx(50 * 2e-6)
    assert "no name" not in found


def test_calls_without_any_kept_event_are_divided_by_their_counts(tmp_path: Path) -> None:
    """Of 100 barriers nothing was kept: by their durations the fastest took 1 us, all of them 20 ms."""
    job = Job(1)
    job.ranks[0].profile_row("MPI_Barrier", 1024, 20)
    job.ranks[0].profile_row("MPI_Barrier", 250_000, 80)
    found = seconds(tmp_path, job)
    assert found["wait or excess"][0] == pytest.approx(0.020, rel=0.02)
    assert 60e-6 < found["cost of calls"][0] <= 103e-6


def test_a_wait_that_completes_long_messages_moves_their_bytes(tmp_path: Path) -> None:
    job = Job(2)
    for i in range(40):
        at = 0.001 * i
        post = {"start_s": at, "end_s": at + 1e-6, "message_bytes": 2**16}
        requests = [job.ranks[rank].isend(1 - rank, **post) for rank in (0, 1)]
        taken = [job.ranks[rank].irecv(1 - rank, **post) for rank in (0, 1)]
        for rank in (0, 1):
            job.ranks[rank].wait(requests[rank], taken[rank], start_s=at + 2e-6, end_s=at + 102e-6)
    assert seconds(tmp_path, job)["transfer at the floor"][0] >= 4e-3
