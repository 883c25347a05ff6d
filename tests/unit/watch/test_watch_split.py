# SPDX-License-Identifier: Apache-2.0
"""Where each call's time goes: planted waits of every kind come out as they were planted, and nothing twice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowpath.watch.attributed import Attributed, TimePart, attributed
from slowpath.watch.record.job import read_job
from slowpath.watch.record.layout import EventKind
from slowpath.watch.totals import call_seconds, rank_times
from support.watch_record import Job, Rank

RENDEZVOUS = 1 << 20


def read(tmp_path: Path, job: Job) -> Attributed:
    job.write(tmp_path / "ranks")
    run = attributed(read_job(tmp_path))
    timed = run.events.is_timed
    assert run.split.parts_s.sum(axis=1)[timed] == pytest.approx(run.events.duration_s[timed])
    assert (run.split.parts_s >= -1e-12).all()
    return run


def part(run: Attributed, rank: int, part: TimePart) -> float:
    """Seconds of one rank."""
    return float(run.split.parts_s[run.events.rank == rank, part].sum())


def test_a_receive_waits_for_its_send(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.031)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032)
    run = read(tmp_path, job)
    assert part(run, 1, TimePart.LATE_SENDER) == pytest.approx(0.020)
    assert part(run, 1, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(run, 0, TimePart.TRANSFER) == pytest.approx(0.001)


def test_a_receive_of_a_message_that_is_there_waits_for_nobody(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.001, end_s=0.002)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.012)
    run = read(tmp_path, job)
    assert part(run, 1, TimePart.LATE_SENDER) == 0
    assert part(run, 1, TimePart.TRANSFER) == pytest.approx(0.002)
    assert run.eager.arrived.sum() == 1
    assert not run.pulled.any()


def test_a_message_that_the_library_took_before_is_copied(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, tag=1, start_s=0.001, end_s=0.002)
    job.ranks[0].send(1, tag=2, start_s=0.003, end_s=0.004)
    job.ranks[1].receive(0, tag=2, start_s=0.005, end_s=0.006)
    job.ranks[1].receive(0, tag=1, start_s=0.010, end_s=0.012)
    run = read(tmp_path, job)
    assert run.eager.arrived.sum() == 2
    assert run.pulled.sum() == 1
    assert part(run, 1, TimePart.UNEXPECTED) == pytest.approx(0.002)


def test_a_send_by_rendezvous_waits_for_its_receive(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.001, end_s=0.012, message_bytes=RENDEZVOUS)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.013, message_bytes=RENDEZVOUS)
    run = read(tmp_path, job)
    assert part(run, 0, TimePart.LATE_RECEIVER) == pytest.approx(0.009)
    assert part(run, 0, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(run, 1, TimePart.TRANSFER) == pytest.approx(0.003)


def test_an_eager_send_does_not_wait(tmp_path: Path) -> None:
    """The receive is posted while the send copies, by chance; others of its length were over before theirs."""
    job = Job(2)
    for i in range(3):
        job.ranks[0].send(1, start_s=i * 0.1, end_s=i * 0.1 + 0.001, message_bytes=1000)
        job.ranks[1].receive(0, start_s=i * 0.1 + 0.05, end_s=i * 0.1 + 0.051, message_bytes=1000)
    job.ranks[0].send(1, start_s=0.500, end_s=0.501, message_bytes=1000)
    job.ranks[1].receive(0, start_s=0.5005, end_s=0.502, message_bytes=1000)
    run = read(tmp_path, job)
    assert part(run, 0, TimePart.LATE_RECEIVER) == 0
    assert part(run, 0, TimePart.TRANSFER) == pytest.approx(0.004)


def test_waitall_waits_for_the_last_of_its_messages(tmp_path: Path) -> None:
    job = Job(3)
    requests = [job.ranks[0].irecv(source, start_s=0.001, end_s=0.0011) for source in (1, 2)]
    job.ranks[0].wait(*requests, start_s=0.010, end_s=0.052)
    job.ranks[1].send(0, start_s=0.030, end_s=0.031)
    job.ranks[2].send(0, start_s=0.050, end_s=0.051)
    run = read(tmp_path, job)
    assert part(run, 0, TimePart.LATE_SENDER) == pytest.approx(0.040)
    assert part(run, 0, TimePart.TRANSFER) == pytest.approx(0.002)
    wait = int(np.flatnonzero(run.events.has(EventKind.WAIT))[0])
    assert run.reasons.culprit[run.split.reason[wait]] == 2


@pytest.mark.parametrize("call", ["MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall", "MPI_Comm_split"])
def test_all_wait_for_the_last_rank(tmp_path: Path, call: str) -> None:
    job = Job(4)
    for rank in job.ranks:
        rank.collective(call, start_s=0.01 * (rank.rank + 1), end_s=0.041, message_bytes=8)
    run = read(tmp_path, job)
    assert [part(run, rank, TimePart.IMBALANCE) for rank in range(4)] == pytest.approx([0.03, 0.02, 0.01, 0])
    assert [part(run, rank, TimePart.TRANSFER) for rank in range(4)] == pytest.approx([0.001] * 4)


def test_a_broadcast_waits_for_its_root_and_perhaps_for_others(tmp_path: Path) -> None:
    job = Job(3)
    for rank, (start, end) in enumerate([(0.020, 0.022), (0.010, 0.032), (0.030, 0.033)]):
        job.ranks[rank].collective("MPI_Bcast", start_s=start, end_s=end, root=0, message_bytes=100)
    run = read(tmp_path, job)
    assert part(run, 0, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(run, 1, TimePart.IMBALANCE) == pytest.approx(0.010)
    assert part(run, 1, TimePart.UNEXPLAINED) == pytest.approx(0.010)  # rank 2 may have passed it on
    assert part(run, 1, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(run, 2, TimePart.TRANSFER) == pytest.approx(0.003)


def test_without_the_other_side_nothing_is_claimed(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032)
    job.ranks[0].collective("MPI_Barrier", start_s=0.05, end_s=0.07)
    run = read(tmp_path, job)
    assert part(run, 1, TimePart.UNEXPLAINED) == pytest.approx(0.022)
    assert part(run, 0, TimePart.UNEXPLAINED) == pytest.approx(0.020)


def away(job: Job, returns: bool) -> None:
    """Rank 0 starts a long send and computes; rank 1 waits. returns: the message arrives only when rank 0 is back."""
    for i in range(5):
        at = 0.1 * i
        request = job.ranks[0].isend(1, start_s=at + 0.001, end_s=at + 0.0011, message_bytes=RENDEZVOUS)
        job.ranks[0].wait(request, start_s=at + 0.060, end_s=at + 0.062, call="MPI_Wait")
        end = 0.062 if returns else 0.004
        job.ranks[1].receive(0, start_s=at + 0.002, end_s=at + end, message_bytes=RENDEZVOUS)


def test_a_sender_that_computes_is_waited_for(tmp_path: Path) -> None:
    job = Job(2)
    away(job, returns=True)
    run = read(tmp_path, job)
    assert part(run, 1, TimePart.SENDER_AWAY) == pytest.approx(5 * 0.058)
    assert part(run, 1, TimePart.TRANSFER) == pytest.approx(5 * 0.002)


def test_a_probe_waits_for_the_message_that_is_received_next(tmp_path: Path) -> None:
    job = Job(2)
    for i, tag in enumerate((4, 5)):
        job.ranks[0].send(1, tag=tag, start_s=0.1 * i + 0.030, end_s=0.1 * i + 0.031)
        job.ranks[1].event("MPI_Probe", 0.1 * i + 0.010, 0.1 * i + 0.032, EventKind.WAIT, peer=0, tag=tag)
        job.ranks[1].receive(0, tag=tag, start_s=0.1 * i + 0.033, end_s=0.1 * i + 0.034)
    run = read(tmp_path, job)
    assert part(run, 1, TimePart.LATE_SENDER) == pytest.approx(0.040)
    assert part(run, 1, TimePart.CALL) == pytest.approx(0.004)  # a probe moves nothing


def fences(job: Job, end_of_first_s: float) -> None:
    for window in range(2):  # both windows of one communicator are in their first epoch
        for rank in job.ranks:
            start = 0.1 * window + 0.010 * (rank.rank + 1)
            end = end_of_first_s if rank.rank == window == 0 else 0.1 * window + 0.021
            rank.event("MPI_Win_fence", start, end, EventKind.ONE_SIDED | EventKind.WAIT, sequence=0)


def test_a_fence_waits_for_all(tmp_path: Path) -> None:
    job = Job(2)
    fences(job, 0.021)
    run = read(tmp_path, job)
    assert part(run, 0, TimePart.IMBALANCE) == pytest.approx(0.020)
    assert part(run, 1, TimePart.IMBALANCE) == 0


@pytest.mark.parametrize("needs_target", [True, False])
def test_a_flush_waits_for_its_target_where_the_library_needs_it(tmp_path: Path, needs_target: bool) -> None:
    job = Job(2)
    for i in range(30):
        at = 0.1 * i
        job.ranks[1].collective("MPI_Ibarrier", start_s=at + 0.001, end_s=at + 0.002)
        end = at + 0.051 if needs_target else at + 0.011
        job.ranks[0].event("MPI_Win_flush", at + 0.010, end, EventKind.ONE_SIDED | EventKind.WAIT, peer=1)
        job.ranks[1].collective("MPI_Ibarrier", start_s=at + 0.050, end_s=at + 0.052)
    run = read(tmp_path, job)
    assert part(run, 0, TimePart.LATE_TARGET) == pytest.approx(30 * 0.040 if needs_target else 0)
    assert part(run, 0, TimePart.TRANSFER) == pytest.approx(30 * 0.001)


def test_two_hosts_get_one_clock(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[1].host, job.ranks[1].base_ns = "node2", 77_000_000_000_000
    drift = 1 + 3e-6
    for i in range(200):
        at = i * 0.1
        job.ranks[0].send(1, start_s=at + 0.030, end_s=at + 0.031)
        job.ranks[1].receive(0, start_s=(at + 0.010) * drift, end_s=(at + 0.03001) * drift)
        job.ranks[1].send(0, start_s=(at + 0.060) * drift, end_s=(at + 0.061) * drift, tag=3)
        job.ranks[0].receive(1, start_s=at + 0.050, end_s=at + 0.06001, tag=3)
    run = read(tmp_path, job)
    assert run.clocks.largest_error_s < 30e-6
    assert part(run, 1, TimePart.LATE_SENDER) == pytest.approx(200 * 0.020, rel=1e-3)
    assert part(run, 0, TimePart.LATE_SENDER) == pytest.approx(200 * 0.010, rel=2e-3)


RANKS = 3
SYNTHETIC = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MESSAGE = st.tuples(
    st.integers(0, RANKS - 1),
    st.integers(1, RANKS - 1),
    st.integers(0, 2),
    st.booleans(),
    st.integers(0, 5),
    st.integers(0, 5),
)


@dataclass
class Simulated:
    """A program of blocking calls, one message after the other. late_s: what each receive truly waited for its send."""

    job: Job
    late_s: list[float]
    tags: list[int]


def simulated(messages: list[tuple[int, int, int, bool, int, int]]) -> Simulated:
    """Ranks compute before each call; short sends return at once, long ones once their receive has begun."""
    job, clock = Job(RANKS), [0.001] * RANKS
    late, tags = [], []
    for source, shift, tag, is_long, before_send, before_receive in messages:
        target = (source + shift) % RANKS
        send_at = clock[source] + 0.001 * before_send + 1e-5
        receive_at = clock[target] + 0.001 * before_receive + 2e-5
        length = 1 << 20 if is_long else 100
        send_end = max(send_at, receive_at if is_long else send_at) + 1e-5
        receive_end = max(receive_at, send_at) + 2e-5
        job.ranks[source].send(target, tag=tag, start_s=send_at, end_s=send_end, message_bytes=length)
        job.ranks[target].receive(source, tag=tag, start_s=receive_at, end_s=receive_end, message_bytes=length)
        clock[source], clock[target] = send_end, receive_end
        late.append(max(send_at - receive_at, 0.0))
        tags.append(tag)
    return Simulated(job, late, tags)


@SYNTHETIC
@given(st.lists(MESSAGE, min_size=1, max_size=30))
def test_what_is_planted_is_found(tmp_path: Path, messages: list[tuple[int, int, int, bool, int, int]]) -> None:
    planted = simulated(messages)
    folder = tmp_path / "ranks"
    for path in folder.glob("*"):
        path.unlink()
    planted.job.write(folder)
    run = attributed(read_job(tmp_path))
    assert run.matched.send.size == len(messages)
    assert run.contradictions == run.matched.repeated == 0
    timed = run.events.is_timed
    assert run.split.parts_s.sum(axis=1)[timed] == pytest.approx(run.events.duration_s[timed])
    assert run.split.parts_s[:, TimePart.LATE_SENDER].sum() == pytest.approx(sum(planted.late_s), abs=1e-7)


LOOP, TESTED_S = 50e-6, 0.1e-6  # of polls without a pause, which are one event, and of one of many that one may be


def read_loops(tmp_path: Path, job: Job, each_s: float = 0.0) -> Attributed:
    """Args: each_s: of many tests that each event in vain is, with what lies between them; 0: it is one."""
    job.write(tmp_path / "ranks")
    read = read_job(tmp_path)
    for record in read.records[1:] if each_s else ():
        tests = record.profile["call"] == record.call_names.index("MPI_Test")
        record.profile["count"][tests] = record.profile["ticks"][tests] * 1e-9 / each_s
        record.profile["ticks"][tests] = record.profile["ticks"][tests] * (TESTED_S / each_s)
    return attributed(read)


def polls(rank: Rank, begin_s: float, end_s: float, gap_s: float, poll_s: float = LOOP, site: int = 0) -> float:
    """Polls in vain up to a time; returns when the last one ended."""
    at_s = begin_s
    while at_s + poll_s + gap_s < end_s:
        rank.event("MPI_Test", at_s, at_s + poll_s, EventKind.NOTHING | EventKind.WAIT, requests=1, site=site)
        at_s += poll_s + gap_s
    return at_s


def late(gap_s: float, poll_s: float = LOOP, away_s: float = 0.0) -> Job:
    """Rank 1 polls from 10 ms on for a message that is sent at 30 ms, and finds it at 31 ms.  Args: away_s: between."""
    job = Job(2)
    sender, receiver = job.ranks
    sender.send(1, start_s=0.030, end_s=0.0305)
    request = receiver.irecv(0, start_s=0.0099, end_s=0.010)
    at_s = polls(receiver, polls(receiver, 0.010, 0.016, gap_s, poll_s) + away_s, 0.031, gap_s, poll_s)
    receiver.wait(request, start_s=at_s, end_s=at_s + 1e-6, call="MPI_Test")
    return job


def waited(run: Attributed) -> float:
    mine = run.events.rank == 1
    return float(run.split.parts_s[mine, TimePart.LATE_SENDER].sum())


def test_polls_without_a_pause_are_one_call_that_waits(tmp_path: Path) -> None:
    run = read_loops(tmp_path, late(gap_s=3e-6))
    assert waited(run) == pytest.approx(0.020, rel=1e-3)
    assert run.world.polls[0] == 0
    assert run.world.polls[1] > 300


@pytest.mark.parametrize(
    ("gap_s", "poll_s", "each_s", "level"),
    [(10e-6, 0.2e-6, 0.0, 0), (1e-3, 100e-6, 0.0, 0), (30e-6, LOOP, 0.0, 0), (3e-6, LOOP, 0.3e-6, 0),
     (3e-6, LOOP, 0.3e-6, 1)],
)  # fmt: skip
def test_polls_between_computing_stay_calls_of_their_own(
    tmp_path: Path, gap_s: float, poll_s: float, each_s: float, level: int
) -> None:
    job = late(gap_s, poll_s)
    for rank in job.ranks:
        rank.level, rank.window_ns = level, 1_000_000
    run = read_loops(tmp_path, job, each_s)
    assert waited(run) < 1e-3
    assert not any(run.world.polls)


def test_a_rank_that_lost_its_processor_while_it_polled_still_waits(tmp_path: Path) -> None:
    assert waited(read_loops(tmp_path, late(3e-6, away_s=8e-3))) == pytest.approx(0.020, rel=1e-3)


def test_polls_at_two_places_in_turn_are_one_loop(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.0305)
    receiver = job.ranks[1]
    here, there = receiver.site(0x1000), receiver.site(0x2000)
    request = receiver.irecv(0, start_s=0.0099, end_s=0.010)
    at_s = 0.010
    while at_s < 0.0305:
        receiver.event("MPI_Test", at_s, at_s + 1e-7, EventKind.NOTHING | EventKind.WAIT, requests=1, site=here)
        receiver.event("MPI_Test", at_s + 2e-7, at_s + LOOP, EventKind.NOTHING | EventKind.WAIT, requests=1, site=there)
        at_s += LOOP + 1e-6
    receiver.wait(request, start_s=at_s, end_s=at_s + 1e-6, call="MPI_Test", site=here)
    run = read_loops(tmp_path, job)
    assert waited(run) == pytest.approx(0.020, rel=1e-3)
    time = rank_times(run, call_seconds(run.world))[1]
    assert time.mpi_s == pytest.approx(at_s - 0.0099, rel=0.01)
