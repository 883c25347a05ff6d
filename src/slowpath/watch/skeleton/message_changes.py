# SPDX-License-Identifier: Apache-2.0
"""Changes of messages: many become one, a receive and a send go at once, receives come early, memory again. Pure."""

from __future__ import annotations

import dataclasses
import itertools
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
from slowpath.watch.skeleton.script import COLLECTIVES, FRESH, LARGEST_BYTES, Message, Operation, Script

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
    check = (
        "nothing that is sent in a row may depend on an answer to its beginning; copying into one buffer is not played"
    )
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
    check = "their buffers may not be read or written before the place where they are received now"
    return Change(edited(script, edits), f"{moved:,} receives are posted before the computing ahead of them", check)


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
    check = "what is sent may not be made of what was received just before"
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
    check = "what is in the buffer may not be needed any more when it is used again"
    text = f"{count:,} sides of messages use memory again in place of new memory"
    return Change(dataclasses.replace(script, ranks=tuple(ranks)), text, check)


def _known(
    message: Message | None, first: int, numbers: dict[tuple[bool, int], int], is_received: bool
) -> Message | None:  # fmt: skip
    if message is None or message.buffer != FRESH:
        return message
    number = numbers.setdefault((is_received, message.bytes), first + len(numbers))
    return dataclasses.replace(message, buffer=number)
