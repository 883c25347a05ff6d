# SPDX-License-Identifier: Apache-2.0
"""Counted messages are those of the schedule that was followed, and name it."""

from __future__ import annotations

import math

import pytest

from moved import HEADER_BYTES, logs_of
from slowpath.mpi import algorithms as s
from slowpath.mpi.algorithms import (
    ALGORITHMS,
    BEGIN,
    SENT,
    Algorithm,
    Entry,
    Graph,
    GraphMessage,
    NotCounted,
    RankLog,
    counted,
    graph_of,
    recognise,
)

KNOWN = 8
ALL = [(name, one) for name, algorithms in ALGORITHMS.items() for one in algorithms]


def recovered(algorithm: Algorithm, ranks: int, block_bytes: int = 720720) -> Graph:
    """Through the sockets and back, headers off. 720720 can be divided by each number of ranks up to 16."""
    graph = counted(logs_of(algorithm.schedule(ranks), ranks, block_bytes, KNOWN), KNOWN).graph
    bare = tuple(GraphMessage(one.source, one.target, one.size - HEADER_BYTES) for one in graph.messages)
    return Graph(ranks, bare, graph.after)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_what_was_followed_is_recognised(ranks: int) -> None:
    for collective, algorithm in ALL:
        if not algorithm.schedule(ranks):
            continue
        graph = recovered(algorithm, ranks)
        known = graph_of(algorithm.schedule(ranks), ranks)
        assert (graph.chain, graph.sent, graph.received) == (known.chain, known.sent, known.received), algorithm.name
        found = recognise(collective, graph, 720720)
        assert found.exact
        assert algorithm.name in found.names, (collective, ranks)


@pytest.mark.parametrize("ranks", range(4, 17))
def test_growth_as_said_is_that_of_the_schedule(ranks: int) -> None:
    for collective, algorithm in ALL:
        graph = graph_of(algorithm.schedule(ranks), ranks)
        if not graph.messages:
            continue
        logarithm = math.ceil(math.log2(ranks))
        if algorithm.growth == "p":
            assert graph.rounds >= ranks - 1 or "exchange" in algorithm.name, (collective, algorithm.name)
        else:
            assert graph.rounds <= 4 * logarithm, (collective, algorithm.name, graph.rounds)
        assert graph.rounds >= max(graph.chain, *graph.sent, *graph.received)


def test_a_chain_of_rendezvous_is_told_from_a_tree_of_as_many_messages() -> None:
    chain, tree = s.down(16, s.before), s.down(16, s.lowest_bit_cleared)
    found = [counted(logs_of(one, 16, 8, KNOWN), KNOWN).graph for one in (chain, tree)]
    assert [len(one.messages) for one in found] == [15, 15]
    assert [one.chain for one in found] == [15, 4]
    assert [one.rounds for one in found] == [15, 4]
    by_peers, by_xor = graph_of(s.by_peer_order(16), 16), graph_of(s.pairwise_xor(16), 16)
    assert len(by_peers.messages) == len(by_xor.messages)
    assert (by_peers.chain, by_xor.chain) == (29, 15)


def test_other_lengths_or_partners_are_no_exact_fit() -> None:
    gather = graph_of(s.up(8, s.lowest_bit_cleared, subtree=True), 8)
    wrong = Graph(8, tuple(GraphMessage(one.source, one.target, 1) for one in gather.messages), gather.after)
    assert not recognise("gather", wrong, 1).exact
    assert recognise("gather", gather, 1).exact
    turned = [
        [GraphMessage((one.source + 3) % 8, (one.target + 3) % 8, 1) for one in stage] for stage in s.down(8, s.before)
    ]
    by_number = recognise("scan", graph_of(turned, 8), 1)
    assert by_number.names == ("linear chain",)
    assert not by_number.exact


def test_logs_that_do_not_tell_are_refused() -> None:
    logs = logs_of(s.down(4, s.before), 4, 8, KNOWN)
    with pytest.raises(NotCounted, match="no call was marked"):
        counted(logs, 1000)
    without = [logs[0], RankLog(logs[1].sockets, ()), *logs[2:]]
    with pytest.raises(NotCounted, match="are not in the log of rank 1"):
        counted(without, KNOWN)
    changing = [[Entry(BEGIN, -1, n, 0), Entry(SENT, 1, 100 * n, 22 + n)] for n in range(4)]
    sender = RankLog(logs[0].sockets, [one for call in changing for one in call])
    with pytest.raises(NotCounted):
        counted([sender, *logs[1:]], 0)
