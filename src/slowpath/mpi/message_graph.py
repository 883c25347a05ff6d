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
from dataclasses import dataclass, field, replace
from functools import cached_property

# Messages inside one collective, who waits for whom, and what follows: chain and rounds.
#
# A schedule is a list of stages; a stage is a list of messages that need nothing of each other. A message depends on
# all that its sender received in earlier stages.


@dataclass(frozen=True, order=True)
class GraphMessage:
    """A message from one rank of the communicator to another. size: in bytes, or in blocks of a schedule."""

    source: int
    target: int
    size: float


Stage = Sequence[GraphMessage]
Schedule = Sequence[Stage]


@dataclass(frozen=True)
class Graph:
    """One call. messages: those of one sender in the order in which it sends them.  after: of each message the numbers
    of the messages that its sender had to receive before.
    """

    ranks: int
    messages: tuple[GraphMessage, ...]
    after: tuple[frozenset[int], ...]

    @cached_property
    def sent(self) -> tuple[int, ...]:
        """Messages that each rank sends."""
        counts = Counter(message.source for message in self.messages)
        return tuple(counts[rank] for rank in range(self.ranks))

    @cached_property
    def received(self) -> tuple[int, ...]:
        """Messages that each rank receives."""
        counts = Counter(message.target for message in self.messages)
        return tuple(counts[rank] for rank in range(self.ranks))

    @cached_property
    def sent_sizes(self) -> tuple[float, ...]:
        """Return what each rank sends, together."""
        sums = [0.0] * self.ranks
        for message in self.messages:
            sums[message.source] += message.size
        return tuple(sums)

    @cached_property
    def chain(self) -> int:
        """Messages in the longest chain in which each had to be received before the next was sent."""
        return max(self._depths, default=0)

    @cached_property
    def _depths(self) -> tuple[int, ...]:
        depths = [0] * len(self.messages)
        for number in self.order:
            depths[number] = 1 + max((depths[before] for before in self.after[number]), default=0)
        return tuple(depths)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Numbers of the messages, none before one that it depends on.  Raises: ValueError: they depend in a circle."""
        done: dict[int, None] = {}
        left = list(range(len(self.messages)))
        while left:
            ready = [number for number in left if self.after[number] <= done.keys()]
            if not ready:
                raise ValueError("messages depend on each other in a circle")
            done.update(dict.fromkeys(ready))
            left = [number for number in left if number not in done]
        return tuple(done)

    @cached_property
    def _heights(self) -> tuple[int, ...]:
        """Return, for each message, the length of the longest chain that begins with it."""
        heights = [1] * len(self.messages)
        for number in reversed(self.order):
            for before in self.after[number]:
                heights[before] = max(heights[before], 1 + heights[number])
        return tuple(heights)

    @cached_property
    def rounds(self) -> int:
        """Rounds in which all is done if a rank sends at most one message and receives at most one in each: what the
        call takes in units of one message between two ranks. Whatever most others wait for goes first.
        """
        left = sorted(range(len(self.messages)), key=lambda number: (-self._heights[number], number))
        done: set[int] = set()
        rounds = 0
        while left:
            rounds += 1
            moved = self._one_round(left, done)
            done.update(moved)
            left = [number for number in left if number not in done]
        return rounds

    def _one_round(self, left: Sequence[int], done: set[int]) -> list[int]:
        sending: set[int] = set()
        receiving: set[int] = set()
        moved = []
        for number in left:
            message = self.messages[number]
            if message.source in sending or message.target in receiving or not self.after[number] <= done:
                continue
            sending.add(message.source)
            receiving.add(message.target)
            moved.append(number)
        return moved

    def between(self) -> Mapping[tuple[int, int], tuple[float, ...]]:
        """(source, target) -> sizes of the messages, ascending."""
        found: dict[tuple[int, int], list[float]] = {}
        for message in self.messages:
            found.setdefault((message.source, message.target), []).append(message.size)
        return {ends: tuple(sorted(sizes)) for ends, sizes in found.items()}


def graph_of(schedule: Schedule, ranks: int) -> Graph:
    """Return what a schedule makes of `ranks` ranks."""
    messages: list[GraphMessage] = []
    after: list[frozenset[int]] = []
    received: list[set[int]] = [set() for _ in range(ranks)]
    for stage in schedule:
        first = len(messages)
        for message in stage:
            messages.append(message)
            after.append(frozenset(received[message.source]))
        for number in range(first, len(messages)):
            received[messages[number].target].add(number)
    return Graph(ranks, tuple(messages), tuple(after))


def without_acknowledgements(graph: Graph, extra: float, acknowledgement: float) -> Graph:
    """Without the answers to synchronous sends: by what such a message is longer, and how long its answer is.

    An answer is a message of just this length, back to where a message came from that is long enough to be synchronous,
    once for each of them. Whoever waited for an answer waits for what the answer waited for.
    """
    shortest = min((message.size for message in graph.messages), default=0)
    open_requests: dict[tuple[int, int], list[int]] = {}
    requests: set[int] = set()
    answers: set[int] = set()
    for number in graph.order:
        message = graph.messages[number]
        asked = open_requests.get((message.target, message.source))
        if message.size == acknowledgement and asked:
            requests.add(asked.pop(0))
            answers.add(number)
        elif message.size >= shortest + extra:
            open_requests.setdefault((message.source, message.target), []).append(number)
    waits: dict[int, frozenset[int]] = {}
    for number in graph.order:
        through = [waits[before] for before in graph.after[number] & answers]
        waits[number] = (graph.after[number] - answers).union(*through)
    kept = [number for number in range(len(graph.messages)) if number not in answers]
    place = {number: index for index, number in enumerate(kept)}
    bare = (
        replace(graph.messages[number], size=graph.messages[number].size - extra * (number in requests))
        for number in kept
    )
    return Graph(graph.ranks, tuple(bare), tuple(frozenset(place[b] for b in waits[number]) for number in kept))


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
class CountedMessages:
    """What calls have in common. graph: sizes in bytes on the socket.  calls: that moved just these messages, of `of`.

    settled: half of these calls give the same chain.  to_self: messages of ranks to themselves, not in the graph.
    """

    graph: Graph
    calls: int
    of: int
    settled: bool
    to_self: int


def counted(logs: Sequence[RankLog], first: int, last: int | None = None) -> CountedMessages:
    """Calls number `first` to before `last` of each rank's log; None: to the end.  Raises: NotCounted."""
    calls = _calls(logs)
    found = [calls[number] for number in sorted(calls) if first <= number and (last is None or number < last)]
    if not found:
        raise NotCounted("no call was marked")
    usual = Counter(call.signature for call in found).most_common(1)[0][0]
    alike = [call for call in found if call.signature == usual]
    if len(alike) < ALIKE_RATIO * len(found):
        raise NotCounted(f"calls moved different messages: at most {len(alike)} of {len(found)} are identical")
    if len(usual) > MOST_MESSAGES:
        raise NotCounted(f"a call moved {len(usual)} messages; the limit for analysis is {MOST_MESSAGES}")
    graph = _graph(alike, len(logs))
    half = _graph(alike[: (len(alike) + 1) // 2], len(logs))
    return CountedMessages(graph, len(alike), len(found), half.chain == graph.chain, alike[0].to_self)


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
    return Graph(ranks, tuple(GraphMessage(key[0], key[1], first.sent[key][1]) for key in keys), tuple(after))


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
    """Return, for each socket, how far the stream had been received, ascending, and the places in the log."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for place, entry in enumerate(log.entries):
        if entry.what == RECEIVED:
            reached, places = found.setdefault(entry.socket, ([], []))
            reached.append(entry.begin + entry.size)
            places.append(place)
    return found


def _arrival(stream: tuple[list[int], list[int]] | None, stop: int, source: int, target: int) -> int:
    """Return where in the receiver's log the stream was received up to `stop`."""
    if stream is not None:
        place = bisect_left(stream[0], stop)
        if place < len(stream[0]):
            return stream[1][place]
    raise NotCounted(f"the messages from rank {source} to rank {target} are not in the log of rank {target}")
