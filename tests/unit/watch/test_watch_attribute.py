# SPDX-License-Identifier: Apache-2.0
"""Where each call's time goes: planted waits of every kind come out as they were planted, and nothing twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.watch.attributed import Attributed, TimePart, attributed
from slowpath.watch.record.job import read_job
from slowpath.watch.record.layout import EventKind
from support.watch_record import Job

RENDEZVOUS = 1 << 20


def read(tmp_path: Path, job: Job) -> Attributed:
    job.write(tmp_path / "ranks")
    found = attributed(read_job(tmp_path))
    timed = found.events.is_timed
    assert found.split.parts_s.sum(axis=1)[timed] == pytest.approx(found.events.duration_s[timed])
    assert (found.split.parts_s >= -1e-12).all()
    return found


def part(found: Attributed, rank: int, part: TimePart) -> float:
    """Seconds of one rank."""
    return float(found.split.parts_s[found.events.rank == rank, part].sum())


def test_a_receive_waits_for_its_send(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.031)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032)
    found = read(tmp_path, job)
    assert part(found, 1, TimePart.LATE_SENDER) == pytest.approx(0.020)
    assert part(found, 1, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(found, 0, TimePart.TRANSFER) == pytest.approx(0.001)


def test_a_receive_of_a_message_that_is_there_waits_for_nobody(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.001, end_s=0.002)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.012)
    found = read(tmp_path, job)
    assert part(found, 1, TimePart.LATE_SENDER) == 0
    assert part(found, 1, TimePart.TRANSFER) == pytest.approx(0.002)
    assert found.arrived == 1
    assert not found.pulled.any()


def test_a_message_that_the_library_took_before_is_copied(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, tag=1, start_s=0.001, end_s=0.002)
    job.ranks[0].send(1, tag=2, start_s=0.003, end_s=0.004)
    job.ranks[1].receive(0, tag=2, start_s=0.005, end_s=0.006)
    job.ranks[1].receive(0, tag=1, start_s=0.010, end_s=0.012)
    found = read(tmp_path, job)
    assert found.arrived == 2
    assert found.pulled.sum() == 1
    assert part(found, 1, TimePart.UNEXPECTED) == pytest.approx(0.002)


def test_a_send_by_rendezvous_waits_for_its_receive(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.001, end_s=0.012, message_bytes=RENDEZVOUS)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.013, message_bytes=RENDEZVOUS)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_RECEIVER) == pytest.approx(0.009)
    assert part(found, 0, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(found, 1, TimePart.TRANSFER) == pytest.approx(0.003)


def test_an_eager_send_does_not_wait(tmp_path: Path) -> None:
    """The receive is posted while the send copies, by chance; others of its length were over before theirs."""
    job = Job(2)
    for i in range(3):
        job.ranks[0].send(1, start_s=i * 0.1, end_s=i * 0.1 + 0.001, message_bytes=1000)
        job.ranks[1].receive(0, start_s=i * 0.1 + 0.05, end_s=i * 0.1 + 0.051, message_bytes=1000)
    job.ranks[0].send(1, start_s=0.500, end_s=0.501, message_bytes=1000)
    job.ranks[1].receive(0, start_s=0.5005, end_s=0.502, message_bytes=1000)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_RECEIVER) == 0
    assert part(found, 0, TimePart.TRANSFER) == pytest.approx(0.004)


def test_a_send_that_should_not_wait_and_takes_long_is_not_explained(tmp_path: Path) -> None:
    """Full buffers, or a rank that did not run: nothing tells which."""
    job = Job(2)
    for i in range(3):
        job.ranks[0].send(1, start_s=i * 0.1, end_s=i * 0.1 + 0.0001, message_bytes=1000)
        job.ranks[1].receive(0, start_s=i * 0.1 + 0.05, end_s=i * 0.1 + 0.051, message_bytes=1000)
    job.ranks[0].send(1, start_s=0.500, end_s=0.530, message_bytes=1000)
    job.ranks[1].receive(0, start_s=0.520, end_s=0.531, message_bytes=1000)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_RECEIVER) == 0
    assert part(found, 0, TimePart.UNEXPLAINED) == pytest.approx(0.020)


def test_sends_whose_rank_lost_its_core_make_no_rendezvous(tmp_path: Path) -> None:
    """The longest short messages seem to wait, as some shorter ones do; messages of 1 MiB do wait, all of them."""
    job, begin_s = Job(2), 0.0
    for length in [*range(100, 400, 10), 401, 402, *[2**20] * 4]:
        is_slow = length in (120, 200, 401, 402)
        end_s = begin_s + (0.022 if is_slow or length == 2**20 else 0.0001)
        job.ranks[0].send(1, start_s=begin_s, end_s=end_s, message_bytes=length)
        job.ranks[1].receive(0, start_s=begin_s + 0.020, end_s=begin_s + 0.023, message_bytes=length)
        begin_s += 0.1
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_RECEIVER) == pytest.approx(4 * 0.020)


def test_exchanges_that_wait_for_their_receives_are_no_sends_that_lost_their_core(tmp_path: Path) -> None:
    """MPI_Sendrecv of 8 bytes ends when its receive does; that says nothing of how long its send waits."""
    job, begin_s = Job(2), 0.0
    for _ in range(50):
        job.ranks[0].sendrecv(1, 1, start_s=begin_s, end_s=begin_s + 0.011)
        job.ranks[1].sendrecv(0, 0, start_s=begin_s + 0.010, end_s=begin_s + 0.011)
        begin_s += 0.1
    for _ in range(4):
        job.ranks[0].send(1, start_s=begin_s, end_s=begin_s + 0.012, message_bytes=300_000)
        job.ranks[1].receive(0, start_s=begin_s + 0.010, end_s=begin_s + 0.013, message_bytes=300_000)
        begin_s += 0.1
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_RECEIVER) == pytest.approx(4 * 0.010)
    assert part(found, 0, TimePart.UNEXPLAINED) == 0


def test_a_synchronous_send_waits_whatever_its_length(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.1, end_s=0.3, call="MPI_Ssend", kind=EventKind.SEND | EventKind.SYNCHRONOUS)
    job.ranks[1].receive(0, start_s=0.2, end_s=0.3)
    assert part(read(tmp_path, job), 0, TimePart.LATE_RECEIVER) == pytest.approx(0.1)


def test_waitall_waits_for_the_last_of_its_messages(tmp_path: Path) -> None:
    job = Job(3)
    requests = [job.ranks[0].irecv(source, start_s=0.001, end_s=0.0011) for source in (1, 2)]
    job.ranks[0].wait(*requests, start_s=0.010, end_s=0.052)
    job.ranks[1].send(0, start_s=0.030, end_s=0.031)
    job.ranks[2].send(0, start_s=0.050, end_s=0.051)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_SENDER) == pytest.approx(0.040)
    assert part(found, 0, TimePart.TRANSFER) == pytest.approx(0.002)
    wait = int(np.flatnonzero(found.events.has(EventKind.WAIT))[0])
    assert found.reasons.culprit[found.split.reason[wait]] == 2


def test_waitany_waits_for_the_first(tmp_path: Path) -> None:
    job = Job(3)
    first, second = (job.ranks[0].irecv(source, start_s=0.001, end_s=0.0011, is_any=True) for source in (1, 2))
    job.ranks[0].wait(first, start_s=0.010, end_s=0.031, call="MPI_Waitany", given=2)
    job.ranks[0].wait(second, start_s=0.032, end_s=0.052, call="MPI_Waitany", given=1)
    job.ranks[1].send(0, start_s=0.030, end_s=0.031)
    job.ranks[2].send(0, start_s=0.050, end_s=0.051)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_SENDER) == pytest.approx(0.020 + 0.018)


def test_sendrecv_is_one_call(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].sendrecv(1, 1, start_s=0.010, end_s=0.031)
    job.ranks[1].sendrecv(0, 0, start_s=0.030, end_s=0.031)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_SENDER) == pytest.approx(0.020)
    assert part(found, 1, TimePart.LATE_SENDER) == 0
    assert found.matched.send.size == 2


@pytest.mark.parametrize("call", ["MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall", "MPI_Comm_split"])
def test_all_wait_for_the_last_rank(tmp_path: Path, call: str) -> None:
    job = Job(4)
    for rank in job.ranks:
        rank.collective(call, start_s=0.01 * (rank.rank + 1), end_s=0.041, message_bytes=8)
    found = read(tmp_path, job)
    assert [part(found, rank, TimePart.IMBALANCE) for rank in range(4)] == pytest.approx([0.03, 0.02, 0.01, 0])
    assert [part(found, rank, TimePart.TRANSFER) for rank in range(4)] == pytest.approx([0.001] * 4)


def test_a_broadcast_waits_for_its_root_and_perhaps_for_others(tmp_path: Path) -> None:
    job = Job(3)
    for rank, (start, end) in enumerate([(0.020, 0.022), (0.010, 0.032), (0.030, 0.033)]):
        job.ranks[rank].collective("MPI_Bcast", start_s=start, end_s=end, root=0, message_bytes=100)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(found, 1, TimePart.IMBALANCE) == pytest.approx(0.010)
    assert part(found, 1, TimePart.UNEXPLAINED) == pytest.approx(0.010)  # rank 2 may have passed it on
    assert part(found, 1, TimePart.TRANSFER) == pytest.approx(0.002)
    assert part(found, 2, TimePart.TRANSFER) == pytest.approx(0.003)


def test_the_root_of_a_reduction_waits_for_all(tmp_path: Path) -> None:
    job = Job(3)
    for rank, (start, end) in enumerate([(0.010, 0.032), (0.020, 0.021), (0.030, 0.031)]):
        job.ranks[rank].collective("MPI_Reduce", start_s=start, end_s=end, root=0, message_bytes=100)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.IMBALANCE) == pytest.approx(0.020)
    assert part(found, 1, TimePart.TRANSFER) == pytest.approx(0.001)


def test_a_collective_by_a_request_is_waited_for_in_its_wait(tmp_path: Path) -> None:
    job = Job(2)
    for rank, post in enumerate((0.001, 0.020)):
        request = job.ranks[rank].icollective("MPI_Iallreduce", start_s=post, end_s=post + 0.001, message_bytes=8)
        job.ranks[rank].wait(request, start_s=post + 0.005, end_s=0.030, call="MPI_Wait")
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.IMBALANCE) == pytest.approx(0.014)
    assert part(found, 1, TimePart.IMBALANCE) == 0


def test_without_the_other_side_nothing_is_claimed(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032)
    job.ranks[0].collective("MPI_Barrier", start_s=0.05, end_s=0.07)
    found = read(tmp_path, job)
    assert part(found, 1, TimePart.UNEXPLAINED) == pytest.approx(0.022)
    assert part(found, 0, TimePart.UNEXPLAINED) == pytest.approx(0.020)


def test_lengths_that_contradict_each_other_are_no_match(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[0].send(1, start_s=0.030, end_s=0.031, message_bytes=10)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032, message_bytes=12)
    found = read(tmp_path, job)
    assert found.contradictions == 1
    assert part(found, 1, TimePart.UNEXPLAINED) == pytest.approx(0.022)


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
    found = read(tmp_path, job)
    assert part(found, 1, TimePart.SENDER_AWAY) == pytest.approx(5 * 0.058)
    assert part(found, 1, TimePart.TRANSFER) == pytest.approx(5 * 0.002)


def test_a_library_that_does_not_need_the_sender_refutes_it(tmp_path: Path) -> None:
    job = Job(2)
    away(job, returns=False)
    found = read(tmp_path, job)
    assert part(found, 1, TimePart.SENDER_AWAY) == 0
    assert part(found, 1, TimePart.TRANSFER) == pytest.approx(5 * 0.002)


def test_a_probe_waits_for_the_message_that_is_received_next(tmp_path: Path) -> None:
    job = Job(2)
    for i, tag in enumerate((4, 5)):
        job.ranks[0].send(1, tag=tag, start_s=0.1 * i + 0.030, end_s=0.1 * i + 0.031)
        job.ranks[1].event("MPI_Probe", 0.1 * i + 0.010, 0.1 * i + 0.032, EventKind.WAIT, peer=0, tag=tag)
        job.ranks[1].receive(0, tag=tag, start_s=0.1 * i + 0.033, end_s=0.1 * i + 0.034)
    found = read(tmp_path, job)
    assert part(found, 1, TimePart.LATE_SENDER) == pytest.approx(0.040)
    assert part(found, 1, TimePart.CALL) == pytest.approx(0.004)  # a probe moves nothing


def fences(job: Job, end_of_first_s: float) -> None:
    for window in range(2):  # both windows of one communicator are in their first epoch
        for rank in job.ranks:
            start = 0.1 * window + 0.010 * (rank.rank + 1)
            end = end_of_first_s if rank.rank == window == 0 else 0.1 * window + 0.021
            rank.event("MPI_Win_fence", start, end, EventKind.ONE_SIDED | EventKind.WAIT, sequence=0)


def test_a_fence_waits_for_all(tmp_path: Path) -> None:
    job = Job(2)
    fences(job, 0.021)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.IMBALANCE) == pytest.approx(0.020)
    assert part(found, 1, TimePart.IMBALANCE) == 0


def test_a_fence_that_a_rank_left_before_another_came_waits_for_nobody(tmp_path: Path) -> None:
    job = Job(2)
    fences(job, 0.015)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.IMBALANCE) == pytest.approx(0.010)


@pytest.mark.parametrize("needs_target", [True, False])
def test_a_flush_waits_for_its_target_where_the_library_needs_it(tmp_path: Path, needs_target: bool) -> None:
    job = Job(2)
    for i in range(30):
        at = 0.1 * i
        job.ranks[1].collective("MPI_Ibarrier", start_s=at + 0.001, end_s=at + 0.002)
        end = at + 0.051 if needs_target else at + 0.011
        job.ranks[0].event("MPI_Win_flush", at + 0.010, end, EventKind.ONE_SIDED | EventKind.WAIT, peer=1)
        job.ranks[1].collective("MPI_Ibarrier", start_s=at + 0.050, end_s=at + 0.052)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_TARGET) == pytest.approx(30 * 0.040 if needs_target else 0)
    assert part(found, 0, TimePart.TRANSFER) == pytest.approx(30 * 0.001)


def test_a_lock_that_goes_on_long_after_its_target_is_back_may_wait_for_another_origin(tmp_path: Path) -> None:
    job = Job(2)
    for i in range(30):
        at = 0.1 * i
        job.ranks[1].collective("MPI_Ibarrier", start_s=at + 0.001, end_s=at + 0.002)
        end = at + 0.051 if i % 2 else at + 0.095
        job.ranks[0].event("MPI_Win_lock", at + 0.010, end, EventKind.ONE_SIDED | EventKind.WAIT, peer=1)
        job.ranks[1].collective("MPI_Ibarrier", start_s=at + 0.050, end_s=at + 0.052)
    found = read(tmp_path, job)
    assert part(found, 0, TimePart.LATE_TARGET) == pytest.approx(15 * 0.040)
    assert part(found, 0, TimePart.UNEXPLAINED) == pytest.approx(15 * 0.040)


def test_windows_that_one_rank_dropped_are_unexplained_not_wrong(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[1].level = 1
    for i in range(20):
        job.ranks[0].send(1, start_s=i * 0.05 + 0.030, end_s=i * 0.05 + 0.031)
        job.ranks[1].receive(0, start_s=i * 0.05 + 0.010, end_s=i * 0.05 + 0.032)
    found = read(tmp_path, job)
    assert found.matched.send.size == 10
    assert part(found, 1, TimePart.LATE_SENDER) == pytest.approx(10 * 0.020)


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
    found = read(tmp_path, job)
    assert found.clocks.largest_error_s < 30e-6
    assert part(found, 1, TimePart.LATE_SENDER) == pytest.approx(200 * 0.020, rel=1e-3)
    assert part(found, 0, TimePart.LATE_SENDER) == pytest.approx(200 * 0.010, rel=2e-3)


def test_messages_one_way_alone_bound_no_clock(tmp_path: Path) -> None:
    job = Job(2)
    job.ranks[1].host, job.ranks[1].base_ns = "node2", 77_000_000_000_000
    job.ranks[0].send(1, start_s=0.030, end_s=0.031)
    job.ranks[1].receive(0, start_s=0.010, end_s=0.032)
    found = read(tmp_path, job)
    assert np.isinf(found.clocks.largest_error_s)
    assert part(found, 1, TimePart.LATE_SENDER) == 0
    assert part(found, 1, TimePart.UNEXPLAINED) == pytest.approx(0.022)
