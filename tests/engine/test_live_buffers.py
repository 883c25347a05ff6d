# SPDX-License-Identifier: Apache-2.0
"""p2p with live_buffers: how many buffers there are, what is recorded of each, and in which order messages use them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ranks import Event, Ranks, events_in
from told import shim, told

from slowpath.record.blocks import BlockIndex, read, scan

LIVE, SETS, MESSAGES = 3, 2, 4


def allocations(folder: Path) -> list[Event]:
    return [event for event in events_in(folder) if event["event"] == "allocation"]


def blocks(folder: Path, rank: int, phase: str) -> tuple[BlockIndex, list[int]]:
    index = scan(folder / "samples.blk")
    return index, [int(i) for i in index.select(cell=0, rank=rank, phase=phase)]


def words(pattern: str, folder: Path, sets: int = SETS) -> list[str]:
    given = {
        "pattern": pattern,
        "message-bytes": "4096",
        "live-buffers": str(LIVE),
        "allocations": str(sets),
        "messages": str(MESSAGES),
        "in-flight": "2",
        "samples": "10",
        "warmup-s": "0",
        "time-limit-s": "0.01",
    }
    return ["p2p", *(word for name, value in given.items() for word in (f"--{name}", value)), "--out", str(folder)]


@pytest.mark.parametrize("pattern", ["one_way", "ping_pong", "windowed"])
def test_each_buffer_is_its_own_allocation(ranks: Ranks, tmp_path: Path, pattern: str) -> None:
    done = ranks.run_engine(*words(pattern, tmp_path))
    assert done.returncode == 0, done.stderr
    events = allocations(tmp_path)
    roles = {"send", "receive"} if pattern == "ping_pong" else {"send"}
    for rank in (0, 1):
        here = [a for a in events if a["rank"] == rank]
        assert [a["index"] for a in here if a["role"] == here[0]["role"]] == list(range(LIVE * SETS))
        assert len(here) == LIVE * SETS * len(roles)
        for number in range(SETS):
            addresses = [a["address"] for a in here if int(str(a["index"])) // LIVE == number]
            assert len(set(addresses)) == len(addresses), "two buffers that live together share an address"
    index, firsts = blocks(tmp_path, 0, "first")
    assert list(index.headers["allocation"][firsts]) == list(range(LIVE * SETS))
    assert list(index.headers["n"][firsts]) == [1] * LIVE * SETS
    index, steady = blocks(tmp_path, 0, "steady")
    assert list(index.headers["allocation"][steady]) == [LIVE * s for s in range(SETS)]


def test_one_way_sends_every_message_of_every_buffer(ranks: Ranks, tmp_path: Path) -> None:
    assert ranks.run_engine(*words("one_way", tmp_path)).returncode == 0
    for rank in (0, 1):
        index, steady = blocks(tmp_path, rank, "steady")
        assert [len(read(index, i).duration_ns) for i in steady] == [(MESSAGES - 1) * LIVE] * SETS


@pytest.mark.parametrize("pattern", ["one_way", "ping_pong", "windowed"])
def test_messages_take_the_buffers_in_turn(ranks: Ranks, blankless: Path, tmp_path: Path, pattern: str) -> None:
    """Addresses that MPI is given, after the first messages and the one before them: forever 0, 1, 2, 0, 1, 2."""
    out = tmp_path / "out"
    done = ranks.run_engine(*words(pattern, out, sets=1), of_ranks=shim(ranks, blankless, tmp_path))
    assert done.returncode == 0, done.stderr
    for rank, call in ((0, "send"), (1, "receive")):
        if pattern == "windowed" and call == "receive":
            continue
        here = [a for a in allocations(out) if a["rank"] == rank and a["role"] == call]
        order = [a["address"] for a in sorted(here, key=lambda a: int(str(a["index"])))]
        calls = ("send", "start") if call == "send" else (call,)
        used = [int(address) for name, address in told(tmp_path, rank, "call", "address")
                if name in calls and int(address) in order]  # fmt: skip
        each = 2 if pattern == "windowed" else 1
        positions = np.array([order.index(address) for address in used])[::each]
        firsts, later = positions[:LIVE], positions[LIVE:-LIVE]
        assert list(firsts) == list(range(LIVE))
        assert len(later) >= 2 * LIVE
        assert list(later) == [i % LIVE for i in range(len(later))]
        assert list(positions[-LIVE:]) == list(range(LIVE)), "one more message from each, with new content"
