# SPDX-License-Identifier: Apache-2.0
"""Messages inside one collective, who waits for whom, and what follows: chain and rounds. Pure.

A schedule is a list of stages; a stage is a list of messages that need nothing of each other. A message depends on all
that its sender received in earlier stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property


@dataclass(frozen=True, order=True)
class Message:
    """From one rank of the communicator to another; size: in bytes, or in blocks of a schedule."""

    source: int
    target: int
    size: float


Stage = Sequence[Message]
Schedule = Sequence[Stage]


@dataclass(frozen=True)
class Graph:
    """One call. messages: those of one sender in the order in which it sends them.  after: of each message the numbers
    of the messages that its sender had to receive before.
    """

    ranks: int
    messages: tuple[Message, ...]
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
        """What each rank sends, together."""
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
        """Of each message the longest chain that begins with it."""
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
    """What a schedule makes of `ranks` ranks."""
    messages: list[Message] = []
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
