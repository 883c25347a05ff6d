# SPDX-License-Identifier: Apache-2.0
"""The script of a watched program, from the calls that were recorded; or why there is none. Pure.

What a rank did between two calls becomes computing of that length. What was not recorded is played as something else,
and each such thing is a statement that goes with every number that the script yields.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from slowpath.watch.attributed import Attributed
from slowpath.watch.events import Events, Ints, World
from slowpath.watch.match import NO_EVENT
from slowpath.watch.record.layout import EventKind, Peer, RecordState, watch_layout
from slowpath.watch.skeleton.approximate import levelled, numbered_buffers, statements
from slowpath.watch.skeleton.script import (
    COLLECTIVES,
    LARGEST_BYTES,
    Kind,
    Message,
    Operation,
    Refused,
    Script,
    why_inconsistent,
)

MOST_OWN_S: Final = 1e-6  # between two calls: more is the program's
LEAST_SHORT: Final = 100  # times between calls, to say what the watch takes of them
MOST_COMMUNICATORS: Final = 64  # more are those of the same ranks, made anew: they are played as one
# Collectives with a result of all that came before, or a part of one of all.
STAND_INS: Final[tuple[str, ...]] = ("MPI_Scan", "MPI_Exscan", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block")
_PLAYED: Final[Mapping[str, Kind]] = {
    **{f"MPI_{name}": "send" for name in ("Send", "Bsend", "Rsend")},
    **{f"MPI_{name}": "isend" for name in ("Isend", "Ibsend", "Irsend", "Send_init", "Bsend_init", "Rsend_init")},
    "MPI_Ssend": "ssend",
    "MPI_Issend": "issend",
    "MPI_Ssend_init": "issend",
    **{f"MPI_{name}": "recv" for name in ("Recv", "Mrecv")},
    **{f"MPI_{name}": "irecv" for name in ("Irecv", "Imrecv", "Recv_init")},
    **{f"MPI_{name}": "sendrecv" for name in ("Sendrecv", "Sendrecv_replace")},
    **{f"MPI_{name}": "probe" for name in ("Probe", "Mprobe", "Iprobe", "Improbe")},
    "MPI_Barrier": "barrier",
    "MPI_Bcast": "bcast",
    "MPI_Reduce": "reduce",
    "MPI_Allreduce": "allreduce",
    **dict.fromkeys(STAND_INS, "allreduce"),
    **{f"MPI_{name}": "gather" for name in ("Gather", "Gatherv")},
    **{f"MPI_{name}": "scatter" for name in ("Scatter", "Scatterv")},
    **{f"MPI_{name}": "allgather" for name in ("Allgather", "Allgatherv")},
    **{f"MPI_{name}": "alltoall" for name in ("Alltoall", "Alltoallv", "Alltoallw")},
    **{
        f"MPI_{name}": "dup"
        for name in (
            *("Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create"),
            *("Cart_create", "Cart_sub", "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent"),
        )
    },
}
_REFUSED_FAMILIES: Final = {
    "one-sided": "one-sided calls are not played",
    "files": "MPI-IO is not played",
    "collective": "this collective is not played",
}


@dataclass(frozen=True)
class Recorded:
    """What the program took. kinds: by rank, kind -> (calls, seconds).  span_s: from the first call to the last, less
    what the watch itself took between the calls of the rank that it held up most.
    """

    kinds: tuple[Mapping[Kind, tuple[int, float]], ...]
    span_s: float


@dataclass(frozen=True)
class Skeleton:
    """A program's script. statements: what it is not, a sentence each."""

    script: Script
    recorded: Recorded
    statements: tuple[str, ...]


def skeleton_of(found: Attributed) -> Skeleton | Refused:
    """The script that plays all recorded calls."""
    world, events = found.world, found.events
    if (why := _why_not_whole(world, events)) is not None:
        return Refused(why)
    numbers, merged = _communicators(world, events)
    if isinstance(numbers, Refused):
        return numbers
    seen = Counter[str](merged)
    halves = _halves(events, found.parents)
    begin_s = float(events.start_s.min())
    own_s = own_time_s(events, len(world.records))
    ranks, kinds = [], []
    for record in range(len(world.records)):
        reader = _RankReader(world, events, numbers, seen, halves, own_s[record])
        reason = reader.read(record, begin_s)
        if reason is not None:
            return Refused(f"rank {world.records[record].rank}: {reason}")
        ranks.append(tuple(reader.operations))
        kinds.append({kind: (calls, seconds) for kind, (calls, seconds) in reader.times.items()})
    members: dict[int, tuple[int, ...]] = dict(numbers.values())
    script = Script(tuple(ranks), tuple(members[number] for number in range(len(members))))
    script = levelled(script, seen)
    if (why := why_inconsistent(script)) is not None:
        return Refused(why)
    calls = [sum(count for count, _ in of_rank.values()) for of_rank in kinds]
    watching_s = max(each_s * count for each_s, count in zip(own_s, calls, strict=True))
    span_s = float(events.end_s.max()) - begin_s - watching_s
    seen["watching"] = round(1e9 * max(own_s))
    return Skeleton(script, Recorded(tuple(kinds), span_s), statements(seen))


def _why_not_whole(world: World, events: Events) -> str | None:
    if len(world.records) != world.job.size:
        return f"{len(world.records)} of {world.job.size} ranks left a record"
    if not len(events):
        return "no calls were recorded"
    for record in world.records:
        if record.state not in (RecordState.FINALIZED, RecordState.NO_FINALIZE):
            return f"rank {record.rank} did not come to its end"
        if int(record.lanes["level"].max(initial=0)) > 0 or record.lost.get("events", 0) > 0:
            return f"rank {record.rank} made more calls than a record holds, so some are missing"
    for number, record in enumerate(world.records):
        if len(set(events.lane[events.record == number].tolist())) > 1:
            return f"rank {record.rank} called MPI from several threads"
    if (events.has(EventKind.CANCELLED) & ~events.has(EventKind.RECEIVE)).any():
        return "a send was cancelled"
    return None


def own_time_s(events: Events, records: int) -> list[float]:
    """Of each rank what the watch itself took between two calls; 0 where no rank makes calls in a row.

    A loop of nothing but calls takes a few ns between them, and the watch some hundred. The lower quarter of such short
    times is it: of the rank's own where it has some, else of all.
    """
    is_part = events.has(EventKind.DONE) | (events.has(EventKind.PART) & ~events.has(EventKind.POST))
    short = []
    for record in range(records):
        rows = np.flatnonzero((events.record == record) & ~is_part)
        between_s = events.start_s[rows][1:] - events.end_s[rows][:-1]
        short.append(between_s[(between_s > 0) & (between_s < MOST_OWN_S)])
    every = np.concatenate(short)
    usual_s = float(np.percentile(every, 25)) if every.size >= LEAST_SHORT else 0.0
    return [float(np.percentile(one, 25)) if one.size >= LEAST_SHORT else usual_s for one in short]


def _halves(events: Events, parents: Ints) -> dict[int, list[int]]:
    """Of each call the events that lie in its time: requests that it completed, the receive of a Sendrecv."""
    found: dict[int, list[int]] = defaultdict(list)
    is_half = events.has(EventKind.DONE) | (events.has(EventKind.PART) & ~events.has(EventKind.POST))
    for row in is_half.nonzero()[0].tolist():
        if parents[row] != NO_EVENT:
            found[int(parents[row])].append(row)
    return found


Numbered = dict[int, tuple[int, tuple[int, ...]]]  # identity -> number and members


def _communicators(world: World, events: Events) -> tuple[Numbered | Refused, dict[str, int]]:
    """Those that events name; of the same ranks as one, where there are too many."""
    names = [name.removesuffix("_c") for name in world.calls]
    played = [name in _PLAYED for name in names]
    is_played = [played[call] for call in events.call.tolist()]
    used = sorted({int(one) for one, is_one in zip(events.communicator.tolist(), is_played, strict=True) if is_one})
    rows: dict[int, tuple[int, ...]] = {}
    inter = {int(row["identity"]) for record in world.records for row in record.communicators if row["is_inter"]}
    for identity in used:
        members = tuple(int(member) for member in world.members.get(identity, ()))
        if not members or min(members) < 0 or identity in inter:
            return Refused("a communicator's members are unknown, or it is an intercommunicator"), {}
        rows[identity] = members
    is_merged = len(rows) > MOST_COMMUNICATORS
    number_of: dict[object, int] = {}
    for identity, members in rows.items():
        number_of.setdefault(members if is_merged else identity, len(number_of))
    numbered = {
        identity: (number_of[members if is_merged else identity], members) for identity, members in rows.items()
    }
    return numbered, {"merged": len(rows)} if is_merged else {}


@dataclass
class _RankReader:
    """One rank. seen: what is played as something else, by key of STATEMENTS.  halves: of calls, as `_halves`.
    own_s: of the watch, between two calls.
    """

    world: World
    events: Events
    numbers: Numbered
    seen: Counter[str]
    halves: Mapping[int, Sequence[int]]
    own_s: float = 0.0
    operations: list[Operation] = field(default_factory=list)
    times: dict[Kind, tuple[int, float]] = field(default_factory=dict)
    _posts: dict[int, int] = field(default_factory=dict)  # request -> operation that started it
    _open: dict[int, int] = field(default_factory=dict)  # request -> number in the script

    def read(self, record: int, begin_s: float) -> str | None:
        """Fill operations and times.  Returns: why it can't be played; None: it can."""
        events, rows = self.events, [int(row) for row in (self.events.record == record).nonzero()[0]]
        self._names = [name.removesuffix("_c") for name in self.world.calls]
        self._families = [watch_layout().families.get(family, "other") for family in self.world.families]
        self._buffers = numbered_buffers(events, rows, self.seen)
        self._cancelled = {int(events.request[row]) for row in rows if int(events.kind[row]) & EventKind.CANCELLED}
        last_s, polling_s = begin_s, None
        for row in rows:
            kind = int(events.kind[row])
            if kind & EventKind.DONE or (kind & EventKind.PART and not kind & EventKind.POST):
                continue  # with its call
            if kind & EventKind.NOTHING:
                polling_s = float(events.start_s[row]) if polling_s is None else polling_s
                continue
            operation = self._call(row)
            if isinstance(operation, str):
                return operation
            if operation is None:
                continue
            start_s, end_s = float(events.start_s[row]), float(events.end_s[row])
            if polling_s is not None and operation.kind in ("wait", "probe"):
                start_s = min(start_s, max(polling_s, last_s))
                self.seen["polls"] += 1
            polling_s = None
            self._add(operation, row, start_s - last_s - self.own_s, end_s - start_s)
            last_s = max(end_s, last_s)
        if self._open:
            self.seen["left open"] += len(self._open)
            self.operations.append(Operation("wait", requests=tuple(self._open.values())))
        return None

    def _call(self, row: int) -> Operation | str | None:
        """Operation of a call with what lies in its time; None: it is played as computing; a text: why it can't be."""
        kind, name = int(self.events.kind[row]), self._names[int(self.events.call[row])]
        if kind & EventKind.ONE_SIDED or (kind & EventKind.COLLECTIVE and kind & EventKind.POST):
            return f"{name} is not played"
        done: list[int] = []
        for half in self.halves.get(row, ()):
            if (reason := self._complete(half, done)) is not None:
                return reason
        return self._operation(row, name, self._families[int(self.events.call[row])], done)

    def _add(self, operation: Operation, row: int, before_s: float, length_s: float) -> None:
        self._compute(before_s)
        if operation.requests and operation.kind != "wait":
            request = int(self.events.request[row])
            self._posts[request], self._open[request] = len(self.operations), operation.requests[0]
        self.operations.append(operation)
        self._count(operation.kind, length_s)

    def _compute(self, seconds: float) -> None:
        if seconds > 0:
            self.operations.append(Operation("compute", seconds=seconds))

    def _count(self, kind: Kind, seconds: float) -> None:
        calls, before = self.times.get(kind, (0, 0.0))
        self.times[kind] = calls + 1, before + seconds

    def _complete(self, row: int, done: list[int]) -> str | None:
        """A request is over: what its message turned out to be belongs to the operation that started it."""
        request = int(self.events.request[row])
        at = self._posts.pop(request, None)
        if at is None:
            return None  # the second DONE of one request, or of a call that starts nothing
        started = self.operations[at]
        message = self._message(row, started.communicator)
        if isinstance(message, str):
            return message
        if message is not None and started.message is not None and started.kind == "irecv":
            known = dataclasses.replace(message, buffer=started.message.buffer)
            self.operations[at] = dataclasses.replace(started, message=known)
        done.append(self._open.pop(request))
        return None

    def _exchange(self, row: int, number: int) -> Operation | str | None:
        """A Sendrecv: what it received is an event of its own; a side that is MPI_PROC_NULL is none."""
        parts = [half for half in self.halves.get(row, ()) if int(self.events.kind[half]) & EventKind.PART]
        found: list[Message | None] = []
        for half in (row, *parts[:1]):
            is_none = int(self.events.peer[half]) == Peer.PROC_NULL
            message = None if is_none else self._message(half, number)
            if isinstance(message, str):
                return message
            found.append(message)
        sent, received = found if len(found) == 2 else (found[0], None)
        if sent is not None and received is not None:
            return Operation("sendrecv", communicator=number, message=sent, received=received)
        if sent is None and received is None:
            return None
        return Operation("recv" if sent is None else "send", communicator=number, message=sent or received)

    def _operation(self, row: int, name: str, family: str, done: Sequence[int]) -> Operation | str | None:
        """Operation of a call; None: it is played as computing; a text: it can't be played."""
        events, kind = self.events, _PLAYED.get(name)
        bits = int(events.kind[row])
        if bits & EventKind.WAIT:
            done = [*done, *self._unnamed(row, name, len(done))]
            return Operation("wait", requests=tuple(done)) if done else None
        if bits & EventKind.POST and kind is None:
            kind = self._started(bits)  # MPI_Start
        if kind is None:
            return f"{name}: {_REFUSED_FAMILIES[family]}" if family in _REFUSED_FAMILIES else None
        identity = int(events.communicator[row])
        number, members = self.numbers[identity]
        if kind in COLLECTIVES:
            return self._collective(row, name, kind, number, members)
        if kind == "sendrecv":
            return self._exchange(row, number)
        if int(events.peer[row]) == Peer.PROC_NULL:
            return None
        if name.endswith("_init") and not bits & EventKind.POST:
            return None
        if bits & EventKind.POST and int(events.request[row]) in self._cancelled:
            self.seen["cancelled"] += 1
            return None
        return self._of_message(row, kind, number)

    def _unnamed(self, row: int, name: str, known: int) -> list[int]:
        """Requests that the call must have completed as well: short sends of MPICH share a handle, which hides some.

        An MPI_Waitall that completed more than is known takes the oldest open sends.
        """
        count = int(self.events.requests[row]) - known if name in ("MPI_Wait", "MPI_Waitall") else 0
        sends = [request for request, at in self._posts.items() if self.operations[at].kind != "irecv"]
        for request in sends[: max(count, 0)]:
            del self._posts[request]
        return [self._open.pop(request) for request in sends[: max(count, 0)]]

    def _started(self, bits: int) -> Kind:
        if bits & EventKind.RECEIVE:
            return "irecv"
        return "issend" if bits & EventKind.SYNCHRONOUS else "isend"

    def _collective(
        self, row: int, name: str, kind: Kind, number: int, members: tuple[int, ...]
    ) -> Operation | str:  # fmt: skip
        events, rank = self.events, int(self.events.rank[row])
        length = 0 if kind in ("barrier", "dup") else int(events.bytes[row])
        root = int(events.peer[row])
        if root >= 0 and root not in members:
            return f"{name}: its root is not known"
        if kind == "alltoall" or (kind == "scatter" and root == rank):
            length = round(length / len(members))
        if length * len(members) > LARGEST_BYTES:
            return f"{name} of {length} bytes for each rank is longer than the player supports"
        if kind == "dup" and name != "MPI_Comm_dup":
            self.seen["dup"] += 1
        if kind in ("reduce", "allreduce"):
            self.seen["reductions"] += 1
            self.seen["stand-ins"] += name in STAND_INS
        return Operation(kind, communicator=number, root=members.index(root) if root >= 0 else 0, bytes=length)

    def _of_message(self, row: int, kind: Kind, number: int) -> Operation | str | None:
        is_receive = bool(int(self.events.kind[row]) & EventKind.RECEIVE) and kind in ("irecv", "recv", "probe")
        message = self._message(row, number, is_posted=kind == "irecv")  # what arrives is known when it is complete
        if isinstance(message, str):
            return message
        if is_receive and int(self.events.kind[row]) & EventKind.ANY:
            self.seen["any"] += 1
        requests = (len(self.operations),) if kind in ("isend", "issend", "irecv") else ()
        return Operation(kind, communicator=number, message=message, requests=requests)

    def _message(self, row: int, number: int, is_posted: bool = False) -> Message | str | None:
        """Args: is_posted: source and tag may still be any."""
        events = self.events
        peer, tag, length = int(events.peer[row]), int(events.tag[row]), int(events.bytes[row])
        if length > LARGEST_BYTES:
            return f"a message of {length} bytes is longer than the player supports"
        members = next(members for at, members in self.numbers.values() if at == number)
        if (peer < 0 or tag < 0) and not is_posted:
            return "a receive for any source or tag does not state what it received"
        if peer >= 0 and peer not in members:
            return f"rank {peer} is not in the communicator of its message"
        if int(events.datatype[row]) >= 0:
            self.seen["datatypes"] += 1
        buffer = self._buffers.get(row, 0)
        return Message(members.index(peer) if peer >= 0 else 0, max(tag, 0), length, buffer)
