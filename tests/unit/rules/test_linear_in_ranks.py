# SPDX-License-Identifier: Apache-2.0
"""From the events of witnessed ranks to a cell's messages, and from cells to laws over the number of ranks."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from collective_plants import SOCKETS, counted, linear, prefix_chain
from planted_results import Planted

from moved import logs_of
from slowpath.analyse.cells import messages
from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.mpi import algorithms
from slowpath.mpi.algorithms import Schedule
from slowpath.record.events import SocketMessages
from slowpath.slowpaths.collectives.scalings import scalings
from slowpath.slowpaths.evaluate import findings

KNOWN = 8


def events(schedule: Schedule, ranks: int, block_bytes: int = 8) -> list[SocketMessages]:
    logs = logs_of(schedule, ranks, block_bytes, KNOWN)
    return [
        SocketMessages(
            t_ns=0,
            cell=0,
            rank=rank,
            known_calls=KNOWN,
            lost=0,
            sockets=tuple(log.sockets),
            log=tuple((one.socket, one.what, one.begin, one.size) for one in log.entries),
        )
        for rank, log in enumerate(logs)
    ]


def asked(collective: str) -> Mapping[str, str]:
    return {"pattern": "messages", "collective": collective, "message_bytes": "8"}


def test_a_call_is_counted_and_its_algorithm_named() -> None:
    found, reason = messages(asked("scan"), [events(prefix_chain(8), 8)] * 2)
    assert reason is None
    assert found is not None
    assert (found.rounds, found.chain, found.launches, found.calls) == (7, 7, 2, 32)
    assert found.sent == [1] * 7 + [0]
    assert found.sent_bytes == [8] * 7 + [0]
    assert (found.algorithms, found.exact, found.header_bytes, found.settled) == (["linear chain"], True, 22, True)
    assert "8 ranks send 7 messages" in found.text


def test_what_was_not_counted_is_missing_with_a_reason() -> None:
    assert messages({"pattern": "calls"}, [[]]) == (None, "only pattern=messages of coll counts messages")
    found, reason = messages(asked("scan"), [[]])
    assert found is None
    assert "witness = true" in str(reason)
    silent = [msgspec.structs.replace(one, sockets=(), log=()) for one in events(prefix_chain(4), 4)]
    assert messages(asked("scan"), [silent])[0] is None
    lost = [msgspec.structs.replace(one, lost=3) for one in events(prefix_chain(4), 4)]
    assert "3 more are lost" in str(messages(asked("scan"), [lost])[1])
    twice = [*events(prefix_chain(4), 4), events(prefix_chain(4), 4)[0]]
    assert "once" in str(messages(asked("scan"), [twice])[1])
    different = [events(prefix_chain(4), 4), events(algorithms.prefix_doubling(4), 4)]
    assert messages(asked("scan"), different) == (None, "launches moved different messages")


def one_finding(run: Planted) -> Finding:
    found = findings(run.results(), ROLES)
    assert [one.rule for one in found] == ["SP039"]
    return found[0]


def test_a_linear_scan_is_named_with_its_law_and_what_it_predicts_and_proven_by_counts() -> None:
    run = Planted()
    linear(run, True)
    found = one_finding(run)
    assert "takes 15 rounds of messages at 16 ranks, but 4 suffice: linear chain" in found.text
    assert "rounds = p - 1, exponent 1.00 exactly" in found.text
    assert "Extrapolated, not measured: 63 at 64 ranks, where 6 suffice; 1023 at 1024 ranks, where 10" in found.text
    assert found.status == "proven"
    assert found.remedies[0].verdict == "proven"
    assert any("15 rounds -> 4" in line for line in found.legs.proven.evidence)


def test_a_stretch_of_another_algorithm_is_a_law_of_its_own() -> None:
    """Linear at 4 to 7 ranks, doubling from 8 on: nothing is predicted from a stretch that has ended."""

    def barrier(ranks: int) -> Schedule:
        if 4 <= ranks < 8:
            return [*algorithms.up(ranks, algorithms.always_root), *algorithms.down(ranks, algorithms.always_root)]
        return algorithms.dissemination(ranks)

    run = Planted()
    run.environment("by sockets", SOCKETS)
    counted(run, "barrier", barrier, (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16), environment="by sockets")
    rounds = [one for one in scalings(run.results().cells) if one.quantity == "rounds"]
    assert [[point.ranks for point in one.points] for one in rounds] == [[2, 3], [4, 5, 6, 7], [8, 10, 12, 14, 16]]
    assert rounds[1].law == "2 p - 2"
    assert rounds[1].predicted == []
    assert "from 8 ranks on" in str(rounds[1].reason)
    assert (rounds[2].law, rounds[2].exponent) == ("ceil(log2 p)", 0.0) or rounds[2].law is not None
    found = one_finding(run)
    assert "12 rounds of messages at 7 ranks, but 3 suffice: linear up and down" in found.text
    assert "Extrapolated" not in found.text
