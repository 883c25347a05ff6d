# SPDX-License-Identifier: Apache-2.0
"""Logs of sockets as ranks that follow a schedule would leave them: what is counted in them is known."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.mpi.algorithms import BEGIN, END, RECEIVED, SENT, Entry, Graph, GraphMessage, RankLog, graph_of

HEADER_BYTES = 22


class Wires:
    """A socket for each pair of ranks. Calls one after the other; in each one rank comes late."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.sockets = [[self._pair(rank, other) for other in range(ranks)] for rank in range(ranks)]
        self.entries: list[list[Entry]] = [[] for _ in range(ranks)]
        self._sent: dict[tuple[int, int], int] = {}
        self._received: dict[tuple[int, int], int] = {}

    @staticmethod
    def _pair(rank: int, other: int) -> tuple[str, str]:
        low, high = min(rank, other), max(rank, other)
        one, two = f"192.0.2.1:{1000 + low * 100 + high}", f"192.0.2.1:{20000 + low * 100 + high}"
        return (one, two) if rank < other else (two, one)

    def call(self, number: int, graph: Graph, block_bytes: int, late: int) -> None:
        """All that can go without the late rank goes first; the late one has then received all that waits for it."""
        done: set[int] = set()
        begun = [rank != late for rank in range(self.ranks)]
        for rank in range(self.ranks):
            if begun[rank]:
                self.entries[rank].append(Entry(BEGIN, -1, number, 0))
        while True:
            ready = [
                number_
                for number_, one in enumerate(graph.messages)
                if number_ not in done and begun[one.source] and graph.after[number_] <= done
            ]
            if not ready and all(begun):
                break
            if not ready:
                begun[late] = True
                self.entries[late].append(Entry(BEGIN, -1, number, 0))
                continue
            for one in ready:
                self._send(graph.messages[one], block_bytes)
            for one in ready:
                self._receive(graph.messages[one])
            done.update(ready)
        assert len(done) == len(graph.messages)
        for entries in self.entries:
            entries.append(Entry(END, -1, number, 0))

    def _send(self, one: GraphMessage, block_bytes: int) -> None:
        size = HEADER_BYTES + round(one.size * block_bytes)
        way = (one.source, one.target)
        self.entries[one.source].append(Entry(SENT, one.target, self._sent.get(way, 0), size))
        self._sent[way] = self._sent.get(way, 0) + size

    def _receive(self, one: GraphMessage) -> None:
        """All that lies in the socket at once, however many messages it is."""
        way = (one.source, one.target)
        there = self._received.get(way, 0)
        if self._sent[way] > there:
            self.entries[one.target].append(Entry(RECEIVED, one.source, there, self._sent[way] - there))
            self._received[way] = self._sent[way]

    @property
    def logs(self) -> list[RankLog]:
        return [RankLog(self.sockets[rank], self.entries[rank]) for rank in range(self.ranks)]


PING = [[GraphMessage(0, 1, 1)]]


def logs_of(schedule: Sequence[Sequence[GraphMessage]], ranks: int, block_bytes: int, known: int = 8) -> list[RankLog]:
    """`known` messages from rank 0 to rank 1, then 2 calls a rank of the schedule, each with another late rank."""
    wires = Wires(ranks)
    for number in range(known):
        wires.call(number, graph_of(PING, ranks), block_bytes, late=0)
    for number in range(2 * ranks):
        wires.call(known + number, graph_of(schedule, ranks), block_bytes, late=number % ranks)
    return wires.logs
