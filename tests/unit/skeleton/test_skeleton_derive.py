# SPDX-License-Identifier: Apache-2.0
"""A script is what the record says: calls, lengths, partners and the computing between; or there is none, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.watch.attributed import attributed
from slowpath.watch.record.job import read_job
from slowpath.watch.record.layout import EventKind, Peer, RecordState
from slowpath.watch.skeleton.derive import Skeleton, skeleton_of
from slowpath.watch.skeleton.script import FRESH, Operation, Refused, text_of
from support.watch_record import Job


def derived(job: Job, tmp_path: Path) -> Skeleton | Refused:
    job.write(tmp_path / "ranks")
    return skeleton_of(attributed(read_job(tmp_path)))


def played(job: Job, tmp_path: Path) -> Skeleton:
    found = derived(job, tmp_path)
    assert isinstance(found, Skeleton), found
    return found


def calls(operations: tuple[Operation, ...]) -> list[str]:
    return [operation.kind for operation in operations if operation.kind != "compute"]


def exchange() -> Job:
    """Rank 1 computes 5 ms before it sends; both wait for both sides, and reduce."""
    job = Job(2)
    for rank, late_s in ((0, 0.0), (1, 0.005)):
        me, other = job.ranks[rank], 1 - rank
        received = me.irecv(other, tag=7, start_s=0.010 + late_s, end_s=0.011 + late_s, message_bytes=1000)
        sent = me.isend(other, tag=7, start_s=0.012 + late_s, end_s=0.013 + late_s, message_bytes=1000)
        me.wait(received, sent, start_s=0.014 + late_s, end_s=0.0195)
        me.collective("MPI_Allreduce", start_s=0.020, end_s=0.021, message_bytes=8)
    return job


def cancelled(kind: EventKind) -> Job:
    """Rank 0 starts one more message, which is cancelled; the next exchange has the same tag."""
    job = Job(2)
    me = job.ranks[0]
    start = me.irecv if kind & EventKind.RECEIVE else me.isend
    request = start(1, tag=9, start_s=0.001, end_s=0.002, message_bytes=64)
    me.event("MPI_Cancel", 0.003, 0.0031, EventKind(0))
    me.event("MPI_Wait", 0.004, 0.005, EventKind.WAIT, requests=1)
    fields = {"request": request, "peer": Peer.ANY, "tag": -1, "bytes": 0}
    me.event("MPI_Wait", 0.004, 0.005, EventKind.DONE | EventKind.CANCELLED | kind, **fields)
    for rank in range(2):
        job.ranks[rank].collective("MPI_Barrier", start_s=0.010, end_s=0.011)
    return job


def test_a_receive_that_was_cancelled_is_not_played(tmp_path: Path) -> None:
    found = played(cancelled(EventKind.RECEIVE), tmp_path)
    assert calls(found.script.ranks[0]) == calls(found.script.ranks[1]) == ["barrier"]
    assert "1 receives that were cancelled, and got no message, are not replayed" in found.statements


def test_a_send_that_was_cancelled_is_refused(tmp_path: Path) -> None:
    found = derived(cancelled(EventKind.SEND), tmp_path)
    assert isinstance(found, Refused)
    assert found.reason == "a send was cancelled"


def test_calls_keep_their_order_lengths_partners_and_the_computing_between(tmp_path: Path) -> None:
    found = played(exchange(), tmp_path)
    first, second = found.script.ranks
    assert calls(first) == calls(second) == ["irecv", "isend", "wait", "allreduce"]
    assert second[0].kind == "compute"
    assert second[0].seconds == pytest.approx(0.005)
    irecv = next(operation for operation in first if operation.kind == "irecv")
    assert irecv.message is not None
    assert (irecv.message.peer, irecv.message.tag, irecv.message.bytes) == (1, 7, 1000)
    waited = next(operation for operation in first if operation.kind == "wait")
    assert len(waited.requests) == 2
    assert found.recorded.span_s == pytest.approx(0.011)
    assert found.recorded.kinds[0]["wait"] == (1, pytest.approx(0.0055))
    computed = sum(operation.seconds for operation in first)
    assert computed == pytest.approx(0.011 - 0.001 - 0.001 - 0.0055 - 0.001)
    assert text_of(found.script, 0).splitlines()[:3] == ["slowpath-skeleton 1", "rank 0 of 2", "requests 2"]


def test_what_the_watch_takes_between_calls_is_neither_played_nor_the_programs(tmp_path: Path) -> None:
    """250 ns between the sends of a loop; rank 1 has none, and computes what it is given the time of the watch in."""
    job = Job(2)
    at_s = 0.001
    for _ in range(200):
        job.ranks[0].send(1, tag=1, start_s=at_s, end_s=at_s + 1e-6)
        job.ranks[1].receive(0, tag=1, start_s=at_s, end_s=at_s + 1.1e-6)
        at_s += 1.25e-6
    job.ranks[0].collective("MPI_Barrier", start_s=at_s + 0.001, end_s=at_s + 0.0011)
    job.ranks[1].collective("MPI_Barrier", start_s=at_s + 0.001, end_s=at_s + 0.0011)
    found = played(job, tmp_path)
    computed = [operation.seconds for operation in found.script.ranks[0] if operation.kind == "compute"]
    assert max(computed) == pytest.approx(0.001, rel=1e-3)
    assert sum(computed) == pytest.approx(0.001, abs=3e-6)
    assert found.recorded.span_s == pytest.approx(200 * 1e-6 + 0.0011, rel=0.01)
    assert any("the watch's own" in statement for statement in found.statements)


def test_a_receive_for_any_source_is_played_from_the_one_that_came_and_says_so(tmp_path: Path) -> None:
    job = Job(3)
    zero = job.ranks[0]
    posted = [zero.irecv(source, is_any=True, start_s=0.001, end_s=0.0011) for source in (2, 1)]
    zero.wait(*posted, start_s=0.002, end_s=0.004)
    for rank in (1, 2):
        job.ranks[rank].send(0, start_s=0.001, end_s=0.0011)
    found = played(job, tmp_path)
    receives = [one.message for one in found.script.ranks[0] if one.kind == "irecv"]
    assert [message.peer for message in receives if message is not None] == [2, 1]
    assert "any source" in found.statements[0]


def test_new_memory_is_new_memory_and_a_communicator_has_its_own_ranks(tmp_path: Path) -> None:
    job = Job(3)
    members = (2, 0)
    for rank in members:
        row = job.ranks[rank].communicator(99, size=2, rank=members.index(rank), members=members)
        if rank == 2:
            new = job.ranks[2].allocation(1 << 20)
            job.ranks[2].send(
                0, start_s=0.001, end_s=0.002, message_bytes=1 << 20, communicator=row, allocation=new,
                kind=EventKind.SEND | EventKind.FIRST,
            )  # fmt: skip
        else:
            job.ranks[0].receive(2, start_s=0.001, end_s=0.002, message_bytes=1 << 20, communicator=row)
    job.ranks[1].collective("MPI_Barrier", start_s=0.001, end_s=0.002)
    for rank in members:
        job.ranks[rank].collective("MPI_Barrier", start_s=0.003, end_s=0.004)
    found = played(job, tmp_path)
    sent = next(one for one in found.script.ranks[2] if one.kind == "send")
    assert found.script.communicators[sent.communicator] == members
    assert sent.message is not None
    assert (sent.message.peer, sent.message.buffer) == (1, FRESH)


def test_a_side_at_an_edge_is_none_and_a_scan_has_a_stand_in(tmp_path: Path) -> None:
    job, null = Job(3), int(Peer.PROC_NULL)
    for rank, (to, source) in enumerate(((1, null), (2, 0), (null, 1))):
        job.ranks[rank].sendrecv(to, source, tag=1, start_s=0.001, end_s=0.002, message_bytes=64)
        job.ranks[rank].sendrecv(null, null, tag=1, start_s=0.002, end_s=0.0021)
        job.ranks[rank].collective("MPI_Scan", start_s=0.003, end_s=0.004, message_bytes=8)
    found = played(job, tmp_path)
    assert [calls(operations) for operations in found.script.ranks] == [
        ["send", "allreduce"],
        ["sendrecv", "allreduce"],
        ["recv", "allreduce"],
    ]
    assert any("MPI_Allreduce" in statement for statement in found.statements)


def wildcard(job: Job) -> None:
    job.ranks[0].receive(-2, start_s=0.002, end_s=0.003, kind=EventKind.RECEIVE | EventKind.ANY)
    job.ranks[1].send(0, start_s=0.001, end_s=0.0011)


def one_sided(job: Job) -> None:
    job.ranks[0].event("MPI_Put", 0.001, 0.002, EventKind.ONE_SIDED, peer=1, bytes=8)


def unanswered(job: Job) -> None:
    job.ranks[0].send(1, start_s=0.001, end_s=0.002)


def thinned(job: Job) -> None:
    for rank in job.ranks:
        rank.level = 1
    unanswered(job)


def killed(job: Job) -> None:
    job.ranks[1].state = RecordState.RUNNING
    unanswered(job)


def of_two_threads(job: Job) -> None:
    job.ranks[0].send(1, start_s=0.001, end_s=0.002)
    job.ranks[0].send(1, start_s=0.001, end_s=0.002, lane=1)


def unknown_call(job: Job) -> None:
    job.ranks[0].collective("MPI_Neighbor_alltoall", start_s=0.001, end_s=0.002, message_bytes=8)


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (wildcard, "does not state what it received"),
        (one_sided, "MPI_Put is not played"),
        (unanswered, "1 messages from rank 0 to rank 1 with tag 0 are sent, and 0 are received"),
        (thinned, "more calls than a record holds"),
        (killed, "rank 1 did not come to its end"),
        (of_two_threads, "several threads"),
        (unknown_call, "MPI_Neighbor_alltoall: this collective is not played"),
    ],
)
def test_what_cannot_be_played_is_refused_with_its_reason(
    plant: Callable[[Job], None], reason: str, tmp_path: Path
) -> None:
    job = Job(2)
    plant(job)
    found = derived(job, tmp_path)
    assert isinstance(found, Refused)
    assert reason in found.reason
