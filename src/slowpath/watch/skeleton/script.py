# SPDX-License-Identifier: Apache-2.0
"""A script: what each rank did, one operation after the other, as slowpath-skeleton plays it. Pure.

A script that some rank could not play to its end, because a message or a collective has no other side, is refused
before it is started: `why_inconsistent`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal[
    "compute", "send", "ssend", "isend", "issend", "recv", "irecv", "sendrecv", "probe", "wait", "barrier", "bcast",
    "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "dup",
]  # fmt: skip

STARTS_RECEIVE: Final = ("recv", "irecv")
WITH_REQUEST: Final = ("isend", "issend", "irecv")
COLLECTIVES: Final = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "dup",
)  # fmt: skip
ROOTED: Final = ("bcast", "reduce", "gather", "scatter")
# After these a rank knows that all others have come as far: their results need all.
NEED_ALL: Final = ("barrier", "allreduce", "allgather", "alltoall", "dup")
FRESH: Final = -1  # buffer of a message whose memory MPI has not seen before
LARGEST_BYTES: Final = 2**31 - 1  # of one message: the count of MPI's calls is an int


@dataclass(frozen=True, slots=True)
class Message:
    """One side of a message. peer: rank in its communicator.  buffer: number of the rank's memory, or FRESH."""

    peer: int
    tag: int
    bytes: int
    buffer: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One call, or computing.

    seconds      of computing
    communicator index in the script's
    message      of a send, a receive, a probe (without bytes), or of both sides of a sendrecv: the sent one
    received     what a sendrecv receives
    requests     that it starts, or waits for
    root, bytes  of a collective: rank in its communicator; what it gives, one block of it where ranks have their own
    """

    kind: Kind
    seconds: float = 0.0
    communicator: int = 0
    message: Message | None = None
    received: Message | None = None
    requests: tuple[int, ...] = ()
    root: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Script:
    """ranks: operations by world rank.  communicators: world ranks of each, in their order in it."""

    ranks: tuple[tuple[Operation, ...], ...]
    communicators: tuple[tuple[int, ...], ...]

    @property
    def operations(self) -> int:
        """Calls of all ranks, computing left out."""
        return sum(operation.kind != "compute" for operations in self.ranks for operation in operations)

    def place(self, rank: int, communicator: int) -> int:
        """The rank of a world rank in a communicator."""
        return self.communicators[communicator].index(rank)


@dataclass(frozen=True)
class Refused:
    """Why there is no script."""

    reason: str


def why_inconsistent(script: Script) -> str | None:
    """What would keep some rank waiting for ever; None: nothing that can be seen without timing."""
    return _collectives(script) or _messages(script) or _requests(script)


def _collectives(script: Script) -> str | None:
    for number, members in enumerate(script.communicators):
        rows = [
            [
                (one.kind, one.root, one.bytes)
                for one in script.ranks[rank]
                if one.kind in COLLECTIVES and one.communicator == number
            ]
            for rank in members
        ]
        for rank, row in zip(members[1:], rows[1:], strict=True):
            if len(row) != len(rows[0]):
                return f"rank {rank} has {len(row)} collectives where rank {members[0]} has {len(rows[0])}"
            at = next((i for i, pair in enumerate(zip(rows[0], row, strict=True)) if pair[0] != pair[1]), None)
            if at is not None:
                one, other = rows[0][at], row[at]
                return (
                    f"collective {at + 1} of one communicator is {one[0]} of {one[2]} bytes on rank {members[0]}, and "
                    f"{other[0]} of {other[2]} bytes on rank {rank}"
                )
    return None


def sides(operation: Operation) -> Iterator[tuple[Message, bool]]:
    """Messages that an operation sends (True) or receives (False)."""
    if operation.message is not None and operation.kind != "probe":
        yield operation.message, operation.kind not in STARTS_RECEIVE
    if operation.received is not None:
        yield operation.received, False


Stream = tuple[int, int, int, int]  # communicator, world ranks of source and destination, tag


def stream_of(script: Script, rank: int, operation: Operation, message: Message, is_send: bool) -> Stream:
    """To which messages of which pair it belongs."""
    other = script.communicators[operation.communicator][message.peer]
    source, destination = (rank, other) if is_send else (other, rank)
    return operation.communicator, source, destination, message.tag


def _messages(script: Script) -> str | None:
    sent: dict[Stream, list[int]] = defaultdict(list)
    received: dict[Stream, list[int]] = defaultdict(list)
    for rank, operations in enumerate(script.ranks):
        for operation in operations:
            for message, is_send in sides(operation):
                stream = stream_of(script, rank, operation, message, is_send)
                (sent if is_send else received)[stream].append(message.bytes)
    for stream in sorted(sent.keys() | received.keys()):
        ours, theirs = sent.get(stream, []), received.get(stream, [])
        words = f"from rank {stream[1]} to rank {stream[2]} with tag {stream[3]}"
        if len(ours) != len(theirs):
            return f"{len(ours)} messages {words} are sent, and {len(theirs)} are received"
        if any(there < here for here, there in zip(ours, theirs, strict=True)):
            return f"a message {words} is longer than its receive"
    return None


def _requests(script: Script) -> str | None:
    for rank, operations in enumerate(script.ranks):
        is_open: set[int] = set()
        for operation in operations:
            if operation.kind == "wait":
                if not is_open.issuperset(operation.requests):
                    return f"rank {rank} waits for a request that is not open"
                is_open.difference_update(operation.requests)
            elif operation.requests:
                if is_open.intersection(operation.requests):
                    return f"rank {rank} starts a request that is open"
                is_open.update(operation.requests)
        if is_open:
            return f"rank {rank} leaves {len(is_open)} requests open"
    return None


def text_of(script: Script, rank: int) -> str:
    """rank-N.txt, as engine/skeleton/script.cpp reads it."""
    operations = script.ranks[rank]
    lengths = _buffers(operations)
    requests = 1 + max((number for one in operations for number in one.requests), default=-1)
    lines = ["slowpath-skeleton 1", f"rank {rank} of {len(script.ranks)}", f"requests {requests}"]
    for members in script.communicators:
        lines.append(" ".join(["communicator", *map(str, members if rank in members else ())]))
    lines += [f"buffer {length}" for length in lengths]
    lines += [_line(operation) for operation in operations]
    return "\n".join(lines) + "\n"


def _buffers(operations: Sequence[Operation]) -> list[int]:
    """Bytes of each buffer: what its longest message needs."""
    longest: dict[int, int] = {}
    for operation in operations:
        for message in (operation.message, operation.received):
            if message is not None and message.buffer != FRESH:
                longest[message.buffer] = max(longest.get(message.buffer, 0), message.bytes)
    return [longest.get(number, 0) for number in range(1 + max(longest, default=-1))]


def _line(operation: Operation) -> str:
    kind = operation.kind
    if kind == "compute":
        return f"compute {round(operation.seconds * 1e9)}"
    words: list[object] = [kind] if kind == "wait" else [kind, operation.communicator]
    if kind == "probe" and operation.message is not None:
        words += [operation.message.peer, operation.message.tag]
    else:
        for message in (operation.message, operation.received):
            words += [] if message is None else [message.peer, message.tag, message.bytes, message.buffer]
    words += [*([operation.root] if kind in ROOTED else []), *operation.requests]
    words += [operation.bytes] if kind in COLLECTIVES and kind not in ("barrier", "dup") else []
    return " ".join(map(str, words))
