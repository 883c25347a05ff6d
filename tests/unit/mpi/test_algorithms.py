# SPDX-License-Identifier: Apache-2.0
"""Counted messages are those of the schedule that was followed, and name it."""

from __future__ import annotations

import math

import pytest

from moved import HEADER_BYTES, Wires, logs_of
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
    without_acknowledgements,
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


def test_ambiguity_is_said_and_what_is_unknown_is_no_algorithm() -> None:
    two = recognise("bcast", graph_of(s.down(2, s.before), 2), None)
    assert {"linear", "chain", "binomial tree"} <= set(two.names)
    assert " or " in two.words
    odd = graph_of([[GraphMessage(0, 1, 1)], [GraphMessage(1, 0, 1)], [GraphMessage(0, 2, 1)]], 3)
    assert recognise("bcast", odd, None).names == ()
    assert "none of the known" in recognise("bcast", odd, None).words
    assert recognise("alltoallw", odd, None).names == ()


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


def test_what_only_chance_ordered_is_no_dependence() -> None:
    """With no rank ever late, dissemination looks as if ranks waited for more than they do; late ranks show it."""
    graph = graph_of(s.dissemination(8), 8)
    wires = Wires(8)
    for number in range(8):
        wires.call(number, graph, 8, late=0)
    assert counted(wires.logs, 0).graph.chain > 3
    assert counted(logs_of(s.dissemination(8), 8, 8, KNOWN), KNOWN).graph.chain == 3


def test_acknowledgements_of_synchronous_sends_are_no_messages() -> None:
    asked = [[GraphMessage(1, 0, 40)], [GraphMessage(0, 1, 48), GraphMessage(0, 2, 22)]]
    bare = without_acknowledgements(graph_of(asked, 3), 18, 48)
    assert bare.messages == (GraphMessage(1, 0, 22), GraphMessage(0, 2, 22))
    assert bare.after == (frozenset(), frozenset({0}))
    plain = graph_of(s.dissemination(4), 4)
    assert without_acknowledgements(plain, 18, 1) == plain


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


def test_messages_to_others_than_ranks_and_to_oneself_do_not_count() -> None:
    logs = logs_of(s.down(4, s.before), 4, 8, KNOWN)
    first = logs[0]
    sockets = [*first.sockets, ("192.0.2.1:7", "192.0.2.9:7"), ("192.0.2.1:8", "192.0.2.1:8")]
    entries = []
    for entry in first.entries:
        entries.append(entry)
        if entry.what == BEGIN:
            entries += [Entry(SENT, 4, 0, 9), Entry(SENT, 5, entry.begin * 9, 9)]
    found = counted([RankLog(sockets, entries), *logs[1:]], KNOWN)
    assert (found.graph.sent, found.to_self) == ((1, 1, 1, 0), 1)
