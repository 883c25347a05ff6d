# SPDX-License-Identifier: Apache-2.0
"""From what each rank's sockets moved, in order, to the messages inside one call and who waited for whom. Pure.

A socket is a stream: byte k that one side sent is byte k that the other received, however both cut it. So no message
format is read. A message is one call that put bytes into a socket to another rank: whether that is one MPI message is
known from calls of a known kind, counted alike.

What a message depends on: it was sent after its sender had received another, **in every call**. A rank that comes late
has received messages that it need not wait for; calls whose ranks come in many orders take such chances away.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.mpi.message_graph import Graph, Message

SENT, RECEIVED, BEGIN, END = range(4)


@dataclass(frozen=True)
class Entry:
    """what: SENT ... END.  socket: number in RankLog.sockets; -1 of a mark.  begin: bytes before it the same way; of a
    mark its call's number.  size: bytes.
    """

    what: int
    socket: int
    begin: int
    size: int


@dataclass(frozen=True)
class RankLog:
    """sockets: (own, other) address of each; entries in the order in which they happened in this rank."""

    sockets: Sequence[tuple[str, str]]
    entries: Sequence[Entry]


class NotCounted(Exception):
    """The logs don't tell; the message says why."""


MOST_MESSAGES = 20_000  # of one call
ALIKE_RATIO = 0.75  # of the calls have to move the same messages

Key = tuple[int, int, int, int]  # source, target, socket of the source, how many went that way in the call before


@dataclass
class _Call:
    """sent: message -> (place in the sender's log, bytes).  received: message -> place in the receiver's log."""

    sent: dict[Key, tuple[int, int]] = field(default_factory=dict)
    received: dict[Key, int] = field(default_factory=dict)
    to_self: int = 0

    @property
    def signature(self) -> frozenset[tuple[Key, int]]:
        return frozenset((key, size) for key, (_, size) in self.sent.items())


@dataclass(frozen=True)
class Counted:
    """What calls have in common. graph: sizes in bytes on the socket.  calls: that moved just these messages, of `of`.

    settled: half of these calls give the same chain.  to_self: messages of ranks to themselves, not in the graph.
    """

    graph: Graph
    calls: int
    of: int
    settled: bool
    to_self: int


def counted(logs: Sequence[RankLog], first: int, last: int | None = None) -> Counted:
    """Calls number `first` to before `last` of each rank's log; None: to the end.  Raises: NotCounted."""
    calls = _calls(logs)
    found = [calls[number] for number in sorted(calls) if first <= number and (last is None or number < last)]
    if not found:
        raise NotCounted("no call was marked")
    usual = Counter(call.signature for call in found).most_common(1)[0][0]
    alike = [call for call in found if call.signature == usual]
    if len(alike) < ALIKE_RATIO * len(found):
        raise NotCounted(f"calls moved different messages: at most {len(alike)} of {len(found)} the same ones")
    if len(usual) > MOST_MESSAGES:
        raise NotCounted(f"a call moved {len(usual)} messages; more than {MOST_MESSAGES} are not looked at")
    graph = _graph(alike, len(logs))
    half = _graph(alike[: (len(alike) + 1) // 2], len(logs))
    return Counted(graph, len(alike), len(found), half.chain == graph.chain, alike[0].to_self)


def _graph(calls: Sequence[_Call], ranks: int) -> Graph:
    first = calls[0]
    keys = sorted(first.sent, key=lambda key: (key[0], first.sent[key][0]))
    number = {key: place for place, key in enumerate(keys)}
    to: dict[int, list[Key]] = {}
    for key in keys:
        to.setdefault(key[1], []).append(key)
    after = [
        frozenset(
            number[other]
            for other in to.get(key[0], ())
            if all(call.received[other] < call.sent[key][0] for call in calls)
        )
        for key in keys
    ]
    return Graph(ranks, tuple(Message(key[0], key[1], first.sent[key][1]) for key in keys), tuple(after))


def _calls(logs: Sequence[RankLog]) -> dict[int, _Call]:
    ends = _ends(logs)
    arrivals = [_arrivals(log) for log in logs]
    calls = {entry.begin: _Call() for log in logs for entry in log.entries if entry.what == BEGIN}
    for rank, log in enumerate(logs):
        ways: Counter[tuple[int, int]] = Counter()
        for number, place, entry in _sent(log):
            if (rank, entry.socket) not in ends:
                continue  # to the launcher, or to a process that is no rank of this call
            target, socket = ends[rank, entry.socket]
            if target == rank:
                calls[number].to_self += 1
                continue
            key = (rank, target, entry.socket, ways[number, entry.socket])
            ways[number, entry.socket] += 1
            arrived = _arrival(arrivals[target].get(socket), entry.begin + entry.size, rank, target)
            calls[number].sent[key] = (place, entry.size)
            calls[number].received[key] = arrived
    return calls


def _sent(log: RankLog) -> Iterator[tuple[int, int, Entry]]:
    """(call, place in the log, entry) of what was sent inside of marks."""
    call: int | None = None
    for place, entry in enumerate(log.entries):
        if entry.what == BEGIN:
            call = entry.begin
        elif entry.what == END:
            call = None
        elif entry.what == SENT and call is not None:
            yield call, place, entry


def _ends(logs: Sequence[RankLog]) -> dict[tuple[int, int], tuple[int, int]]:
    """(rank, socket) -> (rank, socket) of the other side."""
    by_address = {
        tuple(pair): (rank, socket) for rank, log in enumerate(logs) for socket, pair in enumerate(log.sockets)
    }
    return {here: by_address[other, own] for (own, other), here in by_address.items() if (other, own) in by_address}


def _arrivals(log: RankLog) -> Mapping[int, tuple[list[int], list[int]]]:
    """Of each socket: how far the stream had been received, ascending, and the places in the log."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for place, entry in enumerate(log.entries):
        if entry.what == RECEIVED:
            reached, places = found.setdefault(entry.socket, ([], []))
            reached.append(entry.begin + entry.size)
            places.append(place)
    return found


def _arrival(stream: tuple[list[int], list[int]] | None, stop: int, source: int, target: int) -> int:
    """Where in the receiver's log the stream was received up to `stop`."""
    if stream is not None:
        place = bisect_left(stream[0], stop)
        if place < len(stream[0]):
            return stream[1][place]
    raise NotCounted(f"what rank {source} sent to rank {target} is not in the log of rank {target}")
