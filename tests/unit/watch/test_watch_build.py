# SPDX-License-Identifier: Apache-2.0
"""From records to results: totals, coverage, classes, waits, slices and sites of planted programs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowpath.watch.analysis import AttributedWatch, watched
from slowpath.watch.classes import median_of
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.record import job as job_reader
from slowpath.watch.record.layout import RecordState
from slowpath.watch.results import WatchResults
from support.watch_record import Job


def watch(tmp_path: Path, job: Job, end_s: float | None = None) -> AttributedWatch:
    job.write(tmp_path / "ranks", end_s)
    write_watch(
        tmp_path,
        WatchInfo(
            slowpath="1",
            command=("mpiexec", "./app"),
            started="2026-01-01T00:00:00Z",
            working_folder="/",
            host="node1",
            library="/l.so",
            wall_s=2.0,
            exit_code=0,
        ),
    )
    found = watched(tmp_path)
    msgspec.json.decode(msgspec.json.encode(found.results), type=WatchResults)
    for rank in found.results.ranks:
        parts = (
            rank.late_sender_s + rank.late_receiver_s + rank.imbalance_s + rank.unexpected_s + rank.transfer_s
            + rank.call_s + rank.unexplained_s
        )  # fmt: skip
        assert parts == pytest.approx(rank.mpi_s)
    return found


def late_rank(job: Job, rounds: int = 40, late: int = 3) -> None:
    """Every round a ring in which one rank computes longer."""
    size = job.size
    for i in range(rounds):
        at = i * 0.02
        entries = [at + (0.010 if rank == late else 0.002) for rank in range(size)]
        for rank in range(size):
            left = (rank - 1) % size
            end = max(entries[rank], entries[left]) + 0.001
            job.ranks[rank].sendrecv(
                (rank + 1) % size, left, start_s=entries[rank], end_s=end, message_bytes=100, site=1, allocation=0
            )


def planted(size: int = 4) -> Job:
    job = Job(size)
    for rank in job.ranks:
        rank.site(0x1234)
        rank.allocation(1_000_000)
    return job


def test_a_late_rank_is_named(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    results = watch(tmp_path, job).results
    assert results.program.ranks == results.program.recorded_ranks == 4
    (wait,) = results.waits
    assert (wait.kind, wait.culprit, wait.culprit_share) == ("late sender", 3, pytest.approx(1.0))
    assert wait.seconds == pytest.approx(40 * 0.008 / 4)
    assert "rank 3, which is outside MPI" in wait.text
    assert (wait.longest_rank, wait.longest_s) == (0, pytest.approx(40 * 0.008))
    assert "rank 0 waits longest, 320 ms; the mean of 4 ranks is 80.0 ms" in wait.text
    assert [rank.late_sender_s for rank in results.ranks] == pytest.approx([0.32, 0, 0, 0])
    assert results.coverage.matched_share == 1.0
    assert results.coverage.messages == results.coverage.recorded_messages == 160
    assert results.coverage.kept_share == pytest.approx(1.0)
    assert results.coverage.own_cost_s == pytest.approx(80 * 50e-9)  # of each MPI_Sendrecv two events
    assert {(pair.source, pair.destination, pair.messages) for pair in results.pairs} == {
        (rank, (rank + 1) % 4, 40) for rank in range(4)
    }


def test_waits_of_threads_do_not_add_up(tmp_path: Path) -> None:
    """Three threads of rank 1 wait at once for rank 0: that is one wait of the rank."""
    job = planted(2)
    for lane in range(3):
        job.ranks[0].send(1, tag=lane, start_s=0.010, end_s=0.011, message_bytes=100, lane=lane)
        job.ranks[1].receive(0, tag=lane, start_s=0.0, end_s=0.012 + lane / 1000, message_bytes=100, lane=lane)
    results = watch(tmp_path, job).results
    (wait,) = (one for one in results.waits if one.kind == "late sender")
    assert wait.seconds == pytest.approx(0.010 / 2)
    assert wait.seconds == pytest.approx(sum(one.late_sender_s for one in results.ranks) / 2)


@pytest.mark.parametrize("first_communicates", [True, False])
def test_a_thread_that_receives_for_others_is_not_the_rank(first_communicates: bool, tmp_path: Path) -> None:
    """Rank 1's second thread waits for 0.3 s, while its first one computes and sends; or does not call MPI."""
    job = planted(2)
    for number in range(3):
        job.ranks[0].send(1, start_s=0.1 * number + 0.099, end_s=0.1 * number + 0.0991)
        job.ranks[1].receive(0, start_s=0.1 * number, end_s=0.1 * number + 0.0992, lane=1)
        if first_communicates:
            job.ranks[1].send(0, start_s=0.1 * number + 0.05, end_s=0.1 * number + 0.051)
            job.ranks[0].receive(1, start_s=0.1 * number + 0.0995, end_s=0.1 * number + 0.0996)
    results = watch(tmp_path, job).results
    noted = [note for note in results.coverage.notes if "other threads were longer in MPI, that of rank 1" in note]
    if first_communicates:
        assert results.ranks[1].mpi_s == pytest.approx(0.003, rel=0.01)
        assert results.ranks[1].late_sender_s == 0.0
        assert len(noted) == 1
    else:
        assert results.ranks[1].late_sender_s == pytest.approx(0.297, rel=0.01)
        assert not noted


def test_a_rank_that_waits_itself_is_not_where_the_delay_begins(tmp_path: Path) -> None:
    """Rank 1 is late since it waits for rank 0."""
    job = planted(3)
    for i in range(20):
        at = i * 0.05
        job.ranks[0].send(1, start_s=at + 0.030, end_s=at + 0.0301)
        job.ranks[1].receive(0, start_s=at + 0.001, end_s=at + 0.0302)
        job.ranks[1].send(2, start_s=at + 0.0303, end_s=at + 0.0304)
        job.ranks[2].receive(1, start_s=at + 0.001, end_s=at + 0.0305)
    (wait,) = watch(tmp_path, job).results.waits
    assert wait.culprit is None  # half of it for each


def test_thinned_ranks_stand_for_the_whole_run(tmp_path: Path) -> None:
    """One window in four is kept: times are scaled, counts are exact, and the stretches without events are said so."""
    whole = planted()
    late_rank(whole, rounds=400)
    thin = planted()
    late_rank(thin, rounds=400)
    for rank in thin.ranks:
        rank.level, rank.window_ns = 2, 400_000_000
    exact = watch(tmp_path / "whole", whole).results
    found = watch(tmp_path / "thin", thin).results
    assert found.coverage.kept_share < 0.3
    assert found.coverage.messages == exact.coverage.messages
    assert found.ranks[0].late_sender_s == pytest.approx(exact.ranks[0].late_sender_s, rel=0.15)
    assert found.ranks[0].mpi_s == pytest.approx(exact.ranks[0].mpi_s)
    assert found.coverage.matched_share == 1.0
    assert {entry.is_kept for entry in found.slices} == {True, False}
    assert {entry.is_kept for entry in exact.slices} == {True}


def test_more_events_than_are_read_are_thinned_alike_on_all_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted_job = planted()
    late_rank(planted_job, rounds=400)
    for rank in planted_job.ranks:
        rank.window_ns = 400_000_000
    exact = watch(tmp_path / "whole", planted_job).results
    monkeypatch.setattr(job_reader, "MOST_EVENTS", 1000)
    found = watch(tmp_path / "thin", planted_job)
    assert len(found.attributed.events) <= 1000
    assert {int(record.lanes["level"][0]) for record in found.attributed.world.records} == {2}
    assert found.results.coverage.messages == exact.coverage.messages
    assert found.results.coverage.matched_share == 1.0
    assert found.results.ranks[0].late_sender_s == pytest.approx(exact.ranks[0].late_sender_s, rel=0.15)


def test_classes_hold_counts_waits_and_transfer(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    classes = watch(tmp_path, job).results.classes
    send = next(entry for entry in classes if entry.side == "send")
    receive = next(entry for entry in classes if entry.side == "receive")
    assert (send.call, send.count, send.bytes, send.peers, send.ranks) == ("MPI_Sendrecv", 160, 16000, 4, 4)
    assert (send.bytes_low, send.bytes_high) == (64, 127)
    assert (send.memory, send.page_bytes, send.is_odd) == ("mapping", 4096, False)
    assert receive.wait_s == pytest.approx(40 * 0.008 / 4)
    assert (send.transfer_s or 0) + (receive.transfer_s or 0) == pytest.approx(40 * 0.001)
    assert send.median_s == pytest.approx(0.001, rel=0.3)


@pytest.mark.parametrize(("shape", "is_uneven"), [(2, False), (3, True)])
def test_classes_say_whether_blocks_lie_at_one_stride(tmp_path: Path, shape: int, is_uneven: bool) -> None:
    job = Job(2)
    sender, receiver = job.ranks
    row = sender.datatype(800, 1600, blocks=100, shape=shape)
    for number in range(20):
        start_s = 0.01 + 0.01 * number
        sender.send(1, start_s=start_s, end_s=start_s + 0.001, message_bytes=800, datatype=row)
        receiver.receive(0, start_s=start_s, end_s=start_s + 0.001, message_bytes=800)
    sent, received = sorted(watch(tmp_path, job).results.classes, key=lambda entry: entry.side != "send")
    assert (sent.block_bytes, sent.is_uneven) == (8, is_uneven)
    assert (received.block_bytes, received.is_uneven) == (None, False)


def test_a_killed_rank_and_a_missing_one_are_said(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    job.ranks[2].state = RecordState.RUNNING
    job.ranks.pop(1)
    results = watch(tmp_path, job).results
    assert results.program.recorded_ranks == 3
    assert [rank.ended for rank in results.ranks] == ["finalized", "killed", "finalized"]
    notes = " ".join(results.coverage.notes)
    assert "1 of 4 ranks left no readable record" in notes
    assert "did not end with MPI_Finalize: 2" in notes


def test_two_programs_of_one_command_are_not_mixed(tmp_path: Path) -> None:
    first, second = planted(), planted(2)
    late_rank(first)
    late_rank(second, rounds=2, late=1)
    second.write(tmp_path / "ranks")
    for path in (tmp_path / "ranks").iterdir():
        path.rename(path.with_name(f"second-{path.name}"))
    results = watch(tmp_path, first).results
    assert results.program.ranks == 4
    assert any("2 further processes called MPI" in note for note in results.coverage.notes)


def test_a_watch_without_records_is_no_error(tmp_path: Path) -> None:
    results = watch(tmp_path, Job(0)).results
    assert (results.program.ranks, results.program.span_s, results.coverage.matched_share) == (0, None, None)


def test_calls_without_events_are_overhead(tmp_path: Path) -> None:
    job = planted(2)
    late_rank(job, late=1)
    job.ranks[0].profile_row("MPI_Comm_rank", 100, count=1_000_000)
    results = watch(tmp_path, job).results
    assert results.ranks[0].call_s == pytest.approx(0.1)
    assert next(call for call in results.calls if call.name == "MPI_Comm_rank").family == "management"


def test_slices_add_up_to_the_time_in_mpi(tmp_path: Path) -> None:
    job = planted()
    late_rank(job)
    results = watch(tmp_path, job).results
    for rank in results.ranks:
        own = [entry for entry in results.slices if entry.rank == rank.rank]
        inside = sum((1 - entry.computing) * (entry.end_s - entry.start_s) for entry in own)
        assert inside == pytest.approx(rank.mpi_s, rel=1e-6)
        waiting = sum(entry.waiting * (entry.end_s - entry.start_s) for entry in own)
        assert waiting == pytest.approx(rank.late_sender_s, abs=1e-9)


@pytest.mark.parametrize(("bucket", "low_ns", "high_ns"), [(0, 0, 64), (1, 64, 91), (2, 90, 128), (9, 1024, 1449)])
def test_the_median_lies_in_its_bucket(bucket: int, low_ns: float, high_ns: float) -> None:
    histogram = [0.0] * 48
    histogram[bucket] = 10
    assert low_ns * 1e-9 <= median_of(histogram, 0.0, 1.0) <= high_ns * 1e-9
