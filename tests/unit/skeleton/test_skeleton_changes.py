# SPDX-License-Identifier: Apache-2.0
"""Each change of a script on a planted one: what it must become, what it must leave, and that all can be played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from slowpath.watch.skeleton.changes import balanced, changes_of
from slowpath.watch.skeleton.edit import Change
from slowpath.watch.skeleton.rewrites import (
    aggregated,
    early_receives,
    fused,
    own_broadcasts,
    reused,
    shifted,
    without_barriers,
)
from slowpath.watch.skeleton.script import FRESH, Message, Operation, Refused, Script, why_inconsistent

Row = list[Operation]


def compute(seconds: float) -> Operation:
    return Operation("compute", seconds=seconds)


def send(to: int, length: int = 8, buffer: int = 0, **more: object) -> Operation:
    return Operation("send", message=Message(to, 1, length, buffer), **more)  # type: ignore[arg-type]


def receive(source: int, length: int = 8, buffer: int = 0) -> Operation:
    return Operation("recv", message=Message(source, 1, length, buffer))


def started(kind: str, peer: int, number: int, length: int = 8) -> Operation:
    return Operation(kind, message=Message(peer, 1, length, number), requests=(number,))  # type: ignore[arg-type]


def wait(*numbers: int) -> Operation:
    return Operation("wait", requests=numbers)


def allreduce(length: int = 8) -> Operation:
    return Operation("allreduce", bytes=length)


BARRIER = Operation("barrier")


def script(*ranks: Row) -> Script:
    return Script(tuple(map(tuple, ranks)), (tuple(range(len(ranks))),))


def changed(change: Callable[[Script], Change | Refused | None], of: Script) -> Script:
    assert why_inconsistent(of) is None
    found = change(of)
    assert isinstance(found, Change), found
    assert why_inconsistent(found.script) is None
    return found.script


def calls(of: Script) -> list[Counter[str]]:
    return [Counter(one.kind for one in operations if one.kind != "compute") for operations in of.ranks]


def test_many_small_messages_become_one_which_leaves_with_the_last_and_comes_with_the_first() -> None:
    row = [operation for _ in range(20) for operation in (send(1), compute(1e-7), compute(2e-6))]
    taken = [operation for _ in range(20) for operation in (receive(0), compute(1e-7))]
    found = changed(aggregated, script([compute(0.001), *row, allreduce()], [*taken, allreduce()]))
    sent = next(one for one in found.ranks[0] if one.kind == "send")
    assert calls(found) == [Counter(send=1, allreduce=1), Counter(recv=1, allreduce=1)]
    assert sent.message is not None
    assert sent.message.bytes == 160
    before = found.ranks[0][: found.ranks[0].index(sent)]
    assert sum(one.seconds for one in before) == pytest.approx(0.001 + 19 * 2e-6)  # without the loop's own time


def test_requests_of_one_row_become_one_pair() -> None:
    def of(other: int) -> Row:
        posts = [
            one
            for number in range(10)
            for one in (started("irecv", other, 2 * number), started("isend", other, 2 * number + 1))
        ]
        return [*posts, wait(*range(20)), *posts, wait(*range(20))]

    found = changed(aggregated, script(of(1), of(0)))
    assert calls(found) == [Counter(irecv=2, isend=2, wait=2)] * 2
    assert [len(one.requests) for one in found.ranks[0] if one.kind == "wait"] == [2, 2]


@pytest.mark.parametrize("length", [1025, 8])
def test_long_messages_and_ones_with_an_answer_between_stay(length: int) -> None:
    if length > 1024:
        of = script([send(1, length)] * 20, [receive(0, length)] * 20)
    else:
        of = script([send(1), receive(1)] * 20, [receive(0), send(0)] * 20)
    assert aggregated(of) is None


def test_reductions_in_a_row_become_one_unless_there_is_work_between() -> None:
    row: Row = [allreduce() for _ in range(16)]
    found = changed(fused, script([*row, compute(0.01), allreduce()], [*row, compute(0.01), allreduce()]))
    assert [one.bytes for one in found.ranks[0] if one.kind == "allreduce"] == [128, 8]
    apart = [operation for one in row for operation in (one, compute(1e-3))]
    assert fused(script(apart, apart)) is None
    assert fused(script([allreduce(), send(1), allreduce()], [allreduce(), receive(0), allreduce()])) is None


def test_a_barrier_next_to_a_collective_goes_and_one_alone_stays() -> None:
    row = [BARRIER, allreduce(), BARRIER, compute(0.01), BARRIER, compute(0.01)]
    found = changed(without_barriers, script(row, row))
    assert [one.kind for one in found.ranks[1] if one.kind != "compute"] == ["allreduce", "barrier"]


def test_a_loop_of_sends_becomes_a_broadcast_and_one_of_parts_does_not() -> None:
    def of(buffers: list[int]) -> Script:
        root = [send(rank, 4096, buffer) for rank, buffer in zip((1, 2, 3), buffers, strict=True)]
        return script([compute(0.1), *root, allreduce()], *([receive(0, 4096), allreduce()] for _ in range(3)))

    found = changed(own_broadcasts, of([0, 0, 0]))
    assert calls(found) == [Counter(bcast=1, allreduce=1)] * 4
    assert own_broadcasts(of([0, 1, 2])) is None


def test_a_broadcast_that_ranks_would_reach_in_another_order_is_refused() -> None:
    root = [send(1, 64), send(2, 64), allreduce()]
    of = script(root, [receive(0, 64), allreduce()], [allreduce(), receive(0, 64)])
    assert isinstance(own_broadcasts(of), Refused)


def test_receives_are_posted_before_the_computing_ahead_and_complete_where_they_were() -> None:
    of = script([compute(0.01), BARRIER, receive(1), receive(1)], [send(0), send(0), BARRIER])
    found = changed(early_receives, of)
    assert [one.kind for one in found.ranks[0]] == ["irecv", "irecv", "compute", "barrier", "wait", "wait"]
    answered = script([send(1), receive(1)], [receive(0), send(0)])
    assert early_receives(answered) is None


def test_a_chain_becomes_a_shift() -> None:
    of = script([send(1), receive(2)], [receive(0), send(2)], [receive(1), send(0)])
    assert calls(changed(shifted, of)) == [Counter(sendrecv=1)] * 3


def test_balanced_ranks_compute_the_mean_of_each_part() -> None:
    of = script([compute(0.3), allreduce(), compute(0.1)], [compute(0.1), allreduce(), compute(0.3)])
    found = changed(balanced, of)
    assert [[one.seconds for one in row if one.kind == "compute"] for row in found.ranks] == [
        [pytest.approx(0.2), pytest.approx(0.2)]
    ] * 2
    assert balanced(script([compute(0.1), allreduce()], [compute(0.1), allreduce()])) is None


def test_new_memory_becomes_memory_that_is_known() -> None:
    of = script([send(1, 70000, FRESH)] * 3, [receive(0, 70000)] * 3)
    found = changed(reused, of)
    assert {one.message.buffer for one in found.ranks[0] if one.message} == {0}


def test_no_change_touches_a_clean_program_and_each_names_what_to_check() -> None:
    clean = script([compute(0.1), send(1, 4096), allreduce(512)], [compute(0.1), receive(0, 4096), allreduce(512)])
    assert set(changes_of(clean, {})) <= {"receive early"}  # any blocking receive behind computing can come earlier
    faulty = script([send(1)] * 20, [receive(0)] * 20)
    found = changes_of(faulty, {"aggregate": ("SPX",)})
    assert isinstance(found["aggregate"], Change)
    assert found["aggregate"].check
    assert not isinstance(found["aggregate"], Refused)
    assert found["aggregate"].rules == ("SPX",)


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        (([allreduce()], [allreduce(16)]), "allreduce of 8 bytes on rank 0"),
        (([allreduce()], []), "rank 1 has 0 collectives where rank 0 has 1"),
        (([send(1)], [receive(0, 4)]), "longer than its receive"),
        (([wait(3)], []), "waits for a request that is not open"),
        (([started("isend", 1, 0)], [receive(0)]), "leaves 1 requests open"),
    ],
)
def test_a_script_that_would_hang_is_inconsistent(ranks: tuple[Row, Row], reason: str) -> None:
    assert reason in (why_inconsistent(script(*ranks)) or "")
