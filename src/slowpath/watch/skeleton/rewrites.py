# SPDX-License-Identifier: Apache-2.0
"""Each change of a script, of collectives and of messages. Pure.

Collectives: small ones become one, barriers go, a loop of sends becomes a broadcast. Messages: many become one, a
receive and a send go at once, receives come early, memory is used again.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from slowpath.watch.skeleton.edit import (
    MOST_PAUSE_S,
    MOST_SMALL_BYTES,
    Change,
    Edit,
    End,
    computing_between,
    edited,
    peer_of,
    streams,
)
from slowpath.watch.skeleton.script import (
    COLLECTIVES,
    FRESH,
    LARGEST_BYTES,
    NEED_ALL,
    Message,
    Operation,
    Refused,
    Script,
    why_inconsistent,
)

LEAST_ROW: Final = 8  # messages that become one
LEAST_AHEAD_S: Final = 1e-6  # of computing, before which a post comes earlier at all


def aggregated(script: Script) -> Change | None:
    """Many small messages of one stream, in a row on both sides, become one."""
    edits: dict[int, Edit] = defaultdict(Edit)
    before = after = 0
    for sends, receives in streams(script).values():
        for low, high in _rows(sends, receives):
            length = sum(end.message.bytes for end in sends[low:high])
            if high - low < LEAST_ROW or length > LARGEST_BYTES:
                continue
            _merge(script, edits, sends[low:high], length, keep=-1)
            _merge(script, edits, receives[low:high], length, keep=0)
            before, after = before + high - low, after + 1
    if not edits:
        return None
    text = f"{before:,} messages of at most {MOST_SMALL_BYTES} bytes become {after:,}"
    check = "no message of a row may depend on an answer to an earlier one; copying into one buffer is not replayed"
    return Change(edited(script, edits), text, check)


def _rows(sends: Sequence[End], receives: Sequence[End]) -> list[tuple[int, int]]:
    """Where rows of small messages begin and end."""
    found, low = [], 0
    for at in range(1, len(sends) + 1):
        if at < len(sends) and _is_one_row(sends[at - 1], sends[at]) and _is_one_row(receives[at - 1], receives[at]):
            continue
        found.append((low, at))
        low = at
    return found


def _is_one_row(one: End, other: End) -> bool:
    small = max(one.message.bytes, other.message.bytes) <= MOST_SMALL_BYTES
    plain = one.operation.kind == other.operation.kind != "sendrecv"
    return small and plain and one.phases == other.phases


def _merge(script: Script, edits: dict[int, Edit], row: Sequence[End], length: int, keep: int) -> None:
    """One side of a row: the last send takes all, the first receive gets all."""
    rank, kept = row[0].rank, row[keep]
    message = dataclasses.replace(kept.message, bytes=length)
    edits[rank].replaced[kept.at] = dataclasses.replace(kept.operation, message=message)
    gone = [end.at for end in row if end is not kept]
    edits[rank].drop(script.ranks[rank], row[0].at, row[-1].at, gone)


def early_receives(script: Script) -> Change | None:
    """Receives are posted before the computing and the collectives that stand before them."""
    edits: dict[int, Edit] = defaultdict(Edit)
    moved = 0
    for rank, operations in enumerate(script.ranks):
        fresh = 1 + max((number for one in operations for number in one.requests), default=-1)
        free = 0  # from here on to the operation at hand there are only computing and collectives
        at = 0
        while at < len(operations):
            if operations[at].kind not in ("recv", "irecv"):
                free = free if operations[at].kind in ("compute", *COLLECTIVES) else at + 1
                at += 1
                continue
            row = _receives_from(operations, at)
            if any(one.kind in COLLECTIVES or one.seconds > LEAST_AHEAD_S for one in operations[free:at]):
                for place in row:
                    one = operations[place]
                    number = one.requests[0] if one.requests else fresh
                    fresh += not one.requests
                    posted = dataclasses.replace(one, kind="irecv", requests=(number,))
                    edits[rank].before[free].append(posted)
                    if one.requests:
                        edits[rank].gone.add(place)
                    else:
                        edits[rank].replaced[place] = Operation("wait", requests=(number,))
                moved += len(row)
            at = free = row[-1] + 1
    if not edits:
        return None
    check = "nothing may read or write their buffers before the place where they are received now"
    return Change(edited(script, edits), f"{moved:,} receives are posted before the computation ahead of them", check)


def _receives_from(operations: Sequence[Operation], at: int) -> list[int]:
    """Receives in a row, with only computing between."""
    row = [at]
    for place in range(at + 1, len(operations)):
        if operations[place].kind == operations[at].kind:
            row.append(place)
        elif operations[place].kind != "compute":
            break
    return row


def shifted(script: Script) -> Change | None:
    """Receive, then send: both at once."""
    edits: dict[int, Edit] = defaultdict(Edit)
    count = 0
    for rank, operations in enumerate(script.ranks):
        calls = [at for at, one in enumerate(operations) if one.kind != "compute"]
        skip = -1
        for here, there in itertools.pairwise(calls):
            one, other = operations[here], operations[there]
            if here == skip or {one.kind, other.kind} != {"send", "recv"} or one.communicator != other.communicator:
                continue
            between = computing_between(operations, here, there)
            answers = peer_of(one) == peer_of(other) and len(script.ranks) > 2
            if between is None or between > MOST_PAUSE_S or answers:
                continue
            send, receive = (one, other) if one.kind == "send" else (other, one)
            both = dataclasses.replace(send, kind="sendrecv", received=receive.message)
            edits[rank].replaced[there] = both
            edits[rank].gone.add(here)
            skip = there
            count += 1
    if not edits:
        return None
    check = "the message sent must not depend on the message just received"
    return Change(edited(script, edits), f"{count:,} pairs of a receive and a send become MPI_Sendrecv", check)


def reused(script: Script) -> Change | None:
    """Memory that MPI had not seen before is memory that it knows."""
    count = 0
    ranks = []
    for operations in script.ranks:
        first = 1 + max((one.buffer for op in operations for one in (op.message, op.received) if one), default=-1)
        numbers: dict[tuple[bool, int], int] = {}
        found = []
        for one in operations:
            ours, theirs = (
                _known(message, first, numbers, is_second)
                for is_second, message in ((one.kind in ("recv", "irecv"), one.message), (True, one.received))
            )
            count += (ours is not one.message) + (theirs is not one.received)
            found.append(one if ours is one.message and theirs is one.received else
                         dataclasses.replace(one, message=ours, received=theirs))  # fmt: skip
        ranks.append(tuple(found))
    if not count:
        return None
    check = "the buffer's content must not be needed when it is reused"
    text = f"{count:,} sides of messages reuse memory instead of new memory"
    return Change(dataclasses.replace(script, ranks=tuple(ranks)), text, check)


def _known(
    message: Message | None, first: int, numbers: dict[tuple[bool, int], int], is_received: bool
) -> Message | None:  # fmt: skip
    if message is None or message.buffer != FRESH:
        return message
    number = numbers.setdefault((is_received, message.bytes), first + len(numbers))
    return dataclasses.replace(message, buffer=number)


LEAST_RANKS: Final = 3  # of a broadcast by hand


Places = list[tuple[int, list[int]]]  # of each member of a communicator: rank, and where its collectives are


def _collectives(script: Script) -> list[Places]:
    """By communicator. The n-th of each member are one collective."""
    return [
        [
            (
                rank,
                [
                    at
                    for at, one in enumerate(script.ranks[rank])
                    if one.kind in COLLECTIVES and one.communicator == number
                ],
            )
            for rank in members
        ]
        for number, members in enumerate(script.communicators)
    ]


def _pause_s(script: Script, places: Places, n: int) -> float | None:
    """What the ranks compute between two collectives of one communicator, median; None: some do more than that."""
    found = []
    for rank, where in places:
        between = computing_between(script.ranks[rank], where[n], where[n + 1])
        if between is None:
            return None
        found.append(between)
    return statistics.median(found)


def fused(script: Script) -> Change | None:
    """Small reductions or broadcasts that follow each other become one."""
    edits: dict[int, Edit] = defaultdict(Edit)
    before = after = 0
    for places in _collectives(script):
        count = len(places[0][1]) if places else 0
        low = 0
        for n in range(1, count + 1):
            if n < count and _can_fuse(script, places, n - 1):
                continue
            if n - low > 1:
                _fuse(script, edits, places, low, n)
                before, after = before + n - low, after + 1
            low = n
    if not edits:
        return None
    text = f"{before:,} collectives of at most {MOST_SMALL_BYTES} bytes become {after:,}"
    check = "no result of a row may be used before its last call, and all calls must have the same operation"
    return Change(edited(script, edits), text, check)


def _can_fuse(script: Script, places: Places, n: int) -> bool:
    rank, where = places[0]
    one, other = script.ranks[rank][where[n]], script.ranks[rank][where[n + 1]]
    alike = one.kind == other.kind and one.root == other.root and one.kind in ("allreduce", "reduce", "bcast")
    if not alike or max(one.bytes, other.bytes) > MOST_SMALL_BYTES:
        return False
    pause_s = _pause_s(script, places, n)
    return pause_s is not None and pause_s <= MOST_PAUSE_S


def _fuse(script: Script, edits: dict[int, Edit], places: Places, low: int, high: int) -> None:
    for rank, where in places:
        operations, row = script.ranks[rank], where[low:high]
        length = sum(operations[at].bytes for at in row)
        edits[rank].replaced[row[-1]] = dataclasses.replace(operations[row[-1]], bytes=length)
        edits[rank].drop(operations, row[0], row[-1], row[:-1])


def without_barriers(script: Script) -> Change | None:
    """Barriers go that stand next to a collective of the same ranks, which needs none."""
    edits: dict[int, Edit] = defaultdict(Edit)
    count = 0
    for places in _collectives(script):
        kinds = [script.ranks[places[0][0]][at].kind for at in places[0][1]] if places else []
        last_kept = -1  # barriers in a row need one that stays
        for n, kind in enumerate(kinds):
            if kind != "barrier":
                last_kept = n
                continue
            behind = n > 0 and last_kept == n - 1 and kinds[n - 1] in NEED_ALL and _is_next(script, places, n - 1)
            ahead = n + 1 < len(kinds) and kinds[n + 1] != "barrier" and _is_next(script, places, n)
            if not (behind or ahead):
                last_kept = n
                continue
            count += 1
            for rank, where in places:
                edits[rank].gone.add(where[n])
    if not edits:
        return None
    check = "the barriers must not separate what MPI can't see: timings, files, output, shared memory"
    return Change(edited(script, edits), f"{count:,} barriers next to a collective of all ranks are removed", check)


def _is_next(script: Script, places: Places, n: int) -> bool:
    pause_s = _pause_s(script, places, n)
    return pause_s is not None and pause_s <= MOST_PAUSE_S


def own_broadcasts(script: Script) -> Change | Refused | None:
    """A loop of sends of one buffer to all others becomes MPI_Bcast."""
    edits: dict[int, Edit] = defaultdict(Edit)
    partner: dict[tuple[int, int], End] = {}
    for sends, receives in streams(script).values():
        partner |= {(send.rank, send.at): receive for send, receive in zip(sends, receives, strict=True)}
    count = 0
    for rank, operations in enumerate(script.ranks):
        for row in _loops(script, operations):
            receives = [partner[rank, at] for at in row]
            if any(one.operation.kind != "recv" for one in receives):
                continue
            first = operations[row[0]]
            number, length = first.communicator, (first.message.bytes if first.message else 0)
            call = Operation("bcast", communicator=number, root=script.place(rank, number), bytes=length)
            edits[rank].replaced[row[-1]] = call
            edits[rank].drop(operations, row[0], row[-1], row[:-1])
            for one in receives:
                edits[one.rank].replaced[one.at] = call
            count += 1
    if not count:
        return None
    changed = edited(script, edits)
    if why_inconsistent(changed) is not None:
        return Refused("the ranks call the broadcasts and their other collectives in different orders")
    check = "all ranks of the communicator must call it, in the same order with its other collectives"
    return Change(changed, f"{count:,} loops of sends become MPI_Bcast", check)


def _loops(script: Script, operations: Sequence[Operation]) -> list[list[int]]:
    """Rows of sends of one buffer to each other rank of a communicator."""
    found: list[list[int]] = []
    row: list[int] = []
    for at, one in enumerate(operations):
        if one.kind == "compute":
            continue
        if one.kind != "send" or one.message is None:
            row = []
            continue
        if row and not _alike(operations[row[0]], one):
            row = []
        row.append(at)
        members = script.communicators[one.communicator]
        peers = {peer_of(operations[place]) for place in row}
        if len(row) == len(members) - 1 and len(members) >= LEAST_RANKS and len(peers) == len(row):
            found.append(row)
            row = []
    return found


def _alike(one: Operation, other: Operation) -> bool:
    first, second = one.message, other.message
    if first is None or second is None:
        return False
    same = (first.bytes, first.buffer) == (second.bytes, second.buffer)
    return same and one.communicator == other.communicator
