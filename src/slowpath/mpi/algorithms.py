# SPDX-License-Identifier: Apache-2.0
"""Algorithms of collectives by the messages that they send, and which of them a counted call was. Pure.

What an algorithm costs is not written down as formulas that could be wrong: each is a schedule, and messages, bytes,
chain and rounds of p ranks follow from it (`message_graph`).
Sources: as `schedules`; names as the settings have them (Open MPI's coll_tuned_*, MPICH's *_INTRA_ALGORITHM).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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


Parents = Callable[[int], int]  # a rank above 0 -> the rank above it in the tree


def lowest_bit_cleared(rank: int) -> int:
    """Return the parent in a binomial tree in which a subtree holds neighbouring ranks."""
    return rank & (rank - 1)


def highest_bit_cleared(rank: int) -> int:
    """Return the parent in a binomial tree that doubles the ranks 0 to k - 1 that are reached."""
    return rank ^ (1 << (rank.bit_length() - 1))


def binary_parent(rank: int) -> int:
    """Return the parent in a tree in which each rank has two others below it."""
    return (rank - 1) // 2


def binary_parent_dealt(rank: int) -> int:
    """The same, with the ranks of each level dealt out to those above by turns, as Open MPI builds it."""
    above = 1 << ((rank + 1).bit_length() - 2)  # ranks of the level above
    return above - 1 + (rank + 1 - 2 * above) % above


def base_4_parent(rank: int) -> int:
    """Return the parent in a tree in which the root sends to three ranks in each quarter: the lowest digit to base 4
    cleared.
    """
    digit = 1
    while rank % (4 * digit) == 0:
        digit *= 4
    return rank - rank % (4 * digit)


def before(rank: int) -> int:
    """Return the parent in a chain."""
    return rank - 1


def always_root(_: int) -> int:
    """Return the parent in a tree in which all ranks are right below the root."""
    return 0


def _depth(rank: int, parent: Parents) -> int:
    depth = 0
    while rank:
        rank, depth = parent(rank), depth + 1
    return depth


def _below(ranks: int, parent: Parents) -> list[int]:
    """Return how many ranks each one's subtree holds, itself included."""
    held = [1] * ranks
    for rank in sorted(range(1, ranks), key=lambda rank: -_depth(rank, parent)):
        held[parent(rank)] += held[rank]
    return held


def down(ranks: int, parent: Parents, *, subtree: bool = False) -> Schedule:
    """Return the stages from the root to all ranks.

    Args: subtree: each message holds a block for each rank below (scatter), else one (broadcast).
    """
    held = _below(ranks, parent)
    order = sorted(range(1, ranks), key=lambda rank: (_depth(rank, parent), -held[rank]))
    deepest = max((_depth(rank, parent) for rank in order), default=0)
    return [
        [
            GraphMessage(parent(rank), rank, held[rank] if subtree else 1)
            for rank in order
            if _depth(rank, parent) == depth
        ]
        for depth in range(1, deepest + 1)
    ]


def up(ranks: int, parent: Parents, *, subtree: bool = False) -> Schedule:
    """Return the stages from all ranks to the root.

    Args: subtree: each message holds a block of each rank below (gather), else one (reduction).
    """
    return [
        [GraphMessage(message.target, message.source, message.size) for message in stage]
        for stage in reversed(down(ranks, parent, subtree=subtree))
    ]


def all_at_once(ranks: int) -> Schedule:
    """Return the schedule in which each rank sends to each other one, and nobody waits."""
    return [[GraphMessage(rank, (rank + step) % ranks, 1) for rank in range(ranks) for step in range(1, ranks)]]


def pairwise(ranks: int) -> Schedule:
    """Return the schedule in which each rank sends to each other one in turn: in step k to the rank k further."""
    return [[GraphMessage(rank, (rank + step) % ranks, 1) for rank in range(ranks)] for step in range(1, ranks)]


def pairwise_xor(ranks: int) -> Schedule:
    """The same with partner rank XOR k; powers of two alone."""
    if not is_power(ranks):
        return []
    return [[GraphMessage(rank, rank ^ step, 1) for rank in range(ranks)] for step in range(1, ranks)]


def by_peer_order(ranks: int) -> Schedule:
    """Return the schedule in which each rank exchanges with peers 0, 1, ... and waits for each: pairs queue up behind
    one another.
    """
    left = {(a, b) for a in range(ranks) for b in range(a + 1, ranks)}
    stages: list[list[GraphMessage]] = []
    while left:
        pairs = {
            (a, b)
            for a, b in left
            if (a, b) == min(pair for pair in left if a in pair) == min(x for x in left if b in x)
        }
        left -= pairs
        stages.append([message for a, b in sorted(pairs) for message in (GraphMessage(a, b, 1), GraphMessage(b, a, 1))])
    return stages


def ring(ranks: int, size: float = 1, times: int = 1) -> Schedule:
    """ranks - 1 steps, in each of which every rank hands a block on to the next one."""
    return [[GraphMessage(rank, (rank + 1) % ranks, size) for rank in range(ranks)] for _ in range(times * (ranks - 1))]


def dissemination(ranks: int, *, growing: bool = False, forward: bool = True) -> Schedule:
    """Step k to the rank 2^k further. growing: of all blocks that are there (Bruck's all-gather)."""
    stages, distance = [], 1
    while distance < ranks:
        size = min(distance, ranks - distance) if growing else 1
        sign = 1 if forward else -1
        stages.append([GraphMessage(rank, (rank + sign * distance) % ranks, size) for rank in range(ranks)])
        distance *= 2
    return stages


def bruck_alltoall(ranks: int) -> Schedule:
    """Step k moves the blocks whose distance has bit k set, 2^k ranks on."""
    stages, distance = [], 1
    while distance < ranks:
        size = sum(bool(block & distance) for block in range(ranks))
        stages.append([GraphMessage(rank, (rank + distance) % ranks, size) for rank in range(ranks)])
        distance *= 2
    return stages


def prefix_doubling(ranks: int) -> Schedule:
    """Step k exchanges with the rank whose bit k differs, where there is one (scan)."""
    stages, distance = [], 1
    while distance < ranks:
        stages.append([GraphMessage(rank, rank ^ distance, 1) for rank in range(ranks) if rank ^ distance < ranks])
        distance *= 2
    return stages


def is_power(ranks: int) -> bool:
    return ranks & (ranks - 1) == 0


def power_below(ranks: int) -> int:
    """The largest power of two that is not above."""
    return 1 << (ranks.bit_length() - 1)


def folded(ranks: int, inner: Schedule, size: float = 1, back: float = 1) -> Schedule:
    """`inner` over the largest power of two of ranks: of the first 2 r, even ones send to the odd one behind, which
    stands for both, and get the result (`back` blocks) from it.
    """
    rest = ranks - power_below(ranks)

    def real(virtual: int) -> int:
        return 2 * virtual + 1 if virtual < rest else virtual + rest

    middle = [
        [GraphMessage(real(message.source), real(message.target), message.size) for message in stage] for stage in inner
    ]
    if not rest:
        return middle
    first = [GraphMessage(2 * number, 2 * number + 1, size) for number in range(rest)]
    last = [GraphMessage(2 * number + 1, 2 * number, back) for number in range(rest)]
    return [first, *middle, last] if back else [first, *middle]


def folded_behind(ranks: int, inner: Schedule) -> Schedule:
    """The same with the ranks behind the power of two: each sends to the one that many ranks before it."""
    power = power_below(ranks)
    if power == ranks:
        return inner
    first = [GraphMessage(rank, rank - power, 1) for rank in range(power, ranks)]
    return [first, *inner, [GraphMessage(message.target, message.source, 1) for message in first]]


def doubling(ranks: int, *, growing: bool = False, whole: float = 1) -> Schedule:
    """Step k exchanges with the rank whose bit k differs; powers of two alone. growing: of all blocks that are there,
    1/p of `whole` at first.
    """
    stages, distance = [], 1
    while distance < ranks:
        size = whole * distance / ranks if growing else whole
        stages.append([GraphMessage(rank, rank ^ distance, size) for rank in range(ranks)])
        distance *= 2
    return stages


def halving(ranks: int, whole: float = 1) -> Schedule:
    """Step k exchanges half of what is left, with the farthest first; powers of two alone."""
    return [
        [GraphMessage(message.source, message.target, message.size) for message in stage]
        for stage in reversed(doubling(ranks, growing=True, whole=whole))
    ]


# Reductions cut a vector in elements, so that parts of it differ by some of them; headers may be part of a part.
SIZE_TOLERANCE_RATIO = 0.02


@dataclass(frozen=True)
class Algorithm:
    """schedule: of p ranks with root 0; empty: it does not exist for so many.

    growth: of rounds with p, as people say it.  without_sizes: messages' lengths depend on segments, so none is
    compared.
    """

    name: str
    growth: str
    schedule: Callable[[int], Schedule]
    without_sizes: bool = False


def _power(make: Callable[[int], Schedule]) -> Callable[[int], Schedule]:
    return lambda p: make(p) if is_power(p) else []


def _then(*parts: Callable[[int], Schedule]) -> Callable[[int], Schedule]:
    return lambda p: [stage for part in parts for stage in part(p)]


def _scaled(schedule: Schedule, factor: float) -> Schedule:
    return [
        [GraphMessage(message.source, message.target, message.size * factor) for message in stage] for stage in schedule
    ]


def _tree(way: Callable[..., Schedule], parent: Parents, *, subtree: bool = False) -> Callable[[int], Schedule]:
    return lambda p: way(p, parent, subtree=subtree)


def _ring_parts(p: int) -> Schedule:
    return ring(p, 1 / p)


def _fold(inner: Callable[[int], Schedule], back: float = 1) -> Callable[[int], Schedule]:
    return lambda p: folded(p, inner(power_below(p)), back=back)


def _halve(p: int) -> Schedule:
    return halving(p)


def _grow(p: int) -> Schedule:
    return doubling(p, growing=True)


def _halve_blocks(p: int) -> Schedule:
    """Recursive halving of p blocks, of which each rank keeps one; among p ranks alone."""
    return halving(p, p)


def _neighbour_exchange(p: int) -> Schedule:
    """p/2 steps between neighbours, now on one side, now on the other; two blocks from the second on. Even p alone."""
    if p % 2:
        return []
    stages = []
    for step in range(p // 2):
        pairs = [(rank, (rank + 1) % p) for rank in range(step % 2, p, 2)]
        size = 1 if step == 0 else 2
        stages.append([m for a, b in pairs for m in (GraphMessage(a, b, size), GraphMessage(b, a, size))])
    return stages


def _double_ring(p: int) -> Schedule:
    """A message goes round twice: the barrier of a token."""
    return [[GraphMessage(step % p, (step + 1) % p, 1)] for step in range(2 * p)]


_BINOMIAL = (lowest_bit_cleared, highest_bit_cleared)
_BINARY = (binary_parent, binary_parent_dealt)


def _trees(name: str, growth: str, way: Callable[..., Schedule], parents: Sequence[Parents]) -> list[Algorithm]:
    return [Algorithm(name, growth, _tree(way, parent)) for parent in parents]


def _block_trees(way: Callable[..., Schedule]) -> list[Algorithm]:
    return [
        Algorithm("linear", "p", _tree(way, always_root, subtree=True)),
        *(Algorithm("binomial tree", "log p", _tree(way, parent, subtree=True)) for parent in _BINOMIAL),
    ]


def _vector_trees(way: Callable[..., Schedule]) -> list[Algorithm]:
    return [
        *_trees("linear", "p", way, [always_root]),
        *_trees("chain", "p", way, [before]),
        *_trees("binomial tree", "log p", way, _BINOMIAL),
        *_trees("binary tree", "log p", way, _BINARY),
        *_trees("4-nomial tree", "log p", way, [base_4_parent]),
    ]


_UP_DOWN = [
    Algorithm(f"{name} up and down", growth, _then(_tree(up, parent), _tree(down, parent)))
    for name, growth, parents in (
        ("linear", "p", [always_root]),
        ("chain", "p", [before]),
        ("binomial tree", "log p", _BINOMIAL),
        ("binary tree", "log p", _BINARY),
    )
    for parent in parents
]

_RECURSIVE_DOUBLING = Algorithm("recursive doubling", "log p", _fold(doubling))
_DOUBLING_BEHIND = Algorithm("recursive doubling", "log p", lambda p: folded_behind(p, doubling(power_below(p))))
_PREFIX = [
    Algorithm("linear chain", "p", _tree(down, before)),
    Algorithm("recursive doubling", "log p", prefix_doubling),
]

ALGORITHMS: Mapping[str, Sequence[Algorithm]] = {
    "barrier": [
        *_UP_DOWN,
        Algorithm("double ring", "p", _double_ring),
        _RECURSIVE_DOUBLING,
        _DOUBLING_BEHIND,
        Algorithm("dissemination", "log p", dissemination),
        Algorithm("dissemination", "log p", lambda p: dissemination(p, forward=False)),
    ],
    "bcast": [
        *_vector_trees(down),
        Algorithm(
            "scatter and ring all-gather",
            "p",
            _then(lambda p: _scaled(down(p, lowest_bit_cleared, subtree=True), 1 / p), _ring_parts),
        ),
        Algorithm(
            "scatter and recursive doubling all-gather",
            "log p",
            _power(_then(lambda p: _scaled(down(p, lowest_bit_cleared, subtree=True), 1 / p), _grow)),
        ),
    ],
    "gather": _block_trees(up),
    "scatter": _block_trees(down),
    "gatherv": _block_trees(up)[:1],
    "scatterv": _block_trees(down)[:1],
    "allgather": [
        Algorithm("linear", "p", all_at_once),
        Algorithm("ring", "p", ring),
        Algorithm("neighbour exchange", "p", _neighbour_exchange),
        Algorithm("recursive doubling", "log p", _power(lambda p: doubling(p, growing=True, whole=p))),
        Algorithm("Bruck", "log p", lambda p: dissemination(p, growing=True)),
        Algorithm("Bruck", "log p", lambda p: dissemination(p, growing=True, forward=False)),
    ],
    "alltoall": [
        Algorithm("linear", "p", all_at_once),
        Algorithm("pairwise", "p", pairwise),
        Algorithm("pairwise", "p", pairwise_xor),
        Algorithm("by order of peers", "p", by_peer_order),
        Algorithm("Bruck", "log p", bruck_alltoall),
    ],
    "reduce": [
        *_vector_trees(up),
        Algorithm(
            "Rabenseifner",
            "log p",
            _power(_then(_halve, lambda p: _scaled(up(p, lowest_bit_cleared, subtree=True), 1 / p))),
        ),
    ],
    "allreduce": [
        _RECURSIVE_DOUBLING,
        _DOUBLING_BEHIND,
        *_UP_DOWN,
        Algorithm("ring", "p", _then(_ring_parts, _ring_parts)),
        Algorithm("Rabenseifner", "log p", _fold(_then(_halve, _grow))),
    ],
    "reduce_scatter_block": [
        Algorithm("pairwise", "p", pairwise),
        Algorithm("recursive halving", "log p", _power(_halve_blocks)),
        Algorithm("recursive doubling", "log p", _power(lambda p: doubling(p, whole=p))),
    ],
    "scan": _PREFIX,
    "exscan": _PREFIX,
}
ALGORITHMS = {**ALGORITHMS, "allgatherv": ALGORITHMS["allgather"], "alltoallv": ALGORITHMS["alltoall"]}


@dataclass(frozen=True)
class Recognised:
    """names: of all algorithms that fit, each once; empty: none of the known.  growths: theirs.

    exact: the same messages between the same ranks; False: each rank sends and receives as many, chain and rounds are
    as long, partners differ.
    """

    names: tuple[str, ...]
    growths: tuple[str, ...]
    exact: bool

    @property
    def words(self) -> str:
        """Return the algorithms for a sentence."""
        if not self.names:
            return "none of the known algorithms"
        names = " or ".join(self.names)
        return names if self.exact else f"{names} by the number of messages alone"


def recognise(collective: str, counted: Graph, block_bytes: float | None) -> Recognised:
    """Return which algorithms send just these messages.

    Args: counted: with sizes in bytes of the user's data.  block_bytes: of one block; None or 0: sizes aren't compared.
    """
    known = [
        (algorithm, graph_of(algorithm.schedule(counted.ranks), counted.ranks))
        for algorithm in ALGORITHMS.get(collective, ())
    ]
    known = [(algorithm, graph) for algorithm, graph in known if graph.messages or counted.ranks == 1]
    same = [
        algorithm
        for algorithm, graph in known
        if _same_graph(counted, graph, None if algorithm.without_sizes else block_bytes)
    ]
    if same:
        return _of(same, exact=True)
    return _of([algorithm for algorithm, graph in known if _same_numbers(counted, graph)], exact=False)


def _of(found: Sequence[Algorithm], *, exact: bool) -> Recognised:
    names = tuple(dict.fromkeys(algorithm.name for algorithm in found))
    return Recognised(names, tuple(dict.fromkeys(algorithm.growth for algorithm in found)), exact)


def _same_graph(counted: Graph, known: Graph, block_bytes: float | None) -> bool:
    if counted.chain != known.chain:
        return False
    here, there = counted.between(), known.between()
    if here.keys() != there.keys() or any(len(here[ends]) != len(there[ends]) for ends in here):
        return False
    if not block_bytes:
        return True
    pairs = ((a, b * block_bytes) for ends in here for a, b in zip(here[ends], there[ends], strict=True))
    return all(abs(a - b) <= SIZE_TOLERANCE_RATIO * b for a, b in pairs)


def _same_numbers(counted: Graph, known: Graph) -> bool:
    return (
        counted.chain == known.chain
        and counted.rounds == known.rounds
        and sorted(zip(counted.sent, counted.received, strict=True))
        == sorted(zip(known.sent, known.received, strict=True))
    )
