# SPDX-License-Identifier: Apache-2.0
"""p2p: order of buffers, direction, two lengths by turns, idle time, caches: what library and record see of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ranks import Event, Ranks, ends_of_cells, events_in
from told import shim, told

from slowpath.record.blocks import BlockIndex, read, scan

LIVE, MESSAGES, IDLE_S = 5, 4, 0.003
MANY = 100  # that some of them are disturbed by nothing else on the machine
PAIRS = 5  # of cold and warm messages, by turns: a shared machine is faster in some of them
ONE_WAY = f"p2p pattern=one_way messages={MESSAGES}"
CELLS = (
    f"{ONE_WAY} message_bytes=4096 live_buffers={LIVE}",
    f"{ONE_WAY} message_bytes=4096 live_buffers={LIVE} order=reverse",
    f"{ONE_WAY} message_bytes=4096 live_buffers={LIVE} order=shuffled",
    f"{ONE_WAY} message_bytes=4096 other_bytes=65536 live_buffers=2 offset_bytes=1:64 overalloc_bytes=64",
    f"{ONE_WAY} message_bytes=65536 other_bytes=8 direction=reverse",
    f"{ONE_WAY} message_bytes=8 idle_s={IDLE_S} idle=sleep",
    f"{ONE_WAY} message_bytes=8 idle_s={IDLE_S} direction=reverse",
    f"{ONE_WAY} message_bytes=1048576 cache=cold:warm",
)

BY_TURNS = tuple(
    f"p2p pattern=one_way messages={MANY} message_bytes=1024 cache={cache}"
    for _ in range(PAIRS)
    for cache in ("cold", "warm", "warm")
)


@pytest.fixture(scope="module")
def launch(ranks: Ranks, blankless_of_session: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cells in one launch; told-0 and told-1 beside its folder: what each rank's library was told."""
    folder = tmp_path_factory.mktemp("between")
    done = ranks.run_plan(folder / "launch", CELLS, of_ranks=shim(ranks, blankless_of_session, folder))
    assert done.returncode == 0, done.stderr
    return folder / "launch"


def addresses(folder: Path, rank: int, cell: int) -> list[int]:
    allocations: list[Event] = [event for event in events_in(folder) if event["event"] == "allocation"]
    here = [event for event in allocations if event["rank"] == rank and event["cell"] == cell]
    return [event["address"] for event in sorted(here, key=lambda event: event["index"])]


def printed(folder: Path, rank: int) -> list[tuple[str, int, int]]:
    """Calls of all cells in the order in which they ran: call, length, address."""
    every = told(folder.parent, rank, "call", "count", "address")
    return [(call, int(length), int(address)) for call, length, address in every if call in ("send", "receive")]


def calls_of(folder: Path, rank: int, cell: int) -> list[tuple[str, int, int]]:
    """Of one cell, without the exchange before anything counts; each cell makes a number of calls that is known."""
    events = events_in(folder)
    order = [event["cell"] for event in events if event["event"] == "cell_begin"]
    first = 0
    for number in order:
        live = LIVE if number < 3 else 2 if number == 3 else 1
        count = 2 + live * (MESSAGES * (2 if number in (3, 4) else 1) + 1)
        if number == cell:
            return printed(folder, rank)[first + 2 : first + count]
        first += count
    raise LookupError(cell)


def test_all_cells_run_and_every_byte_is_right(launch: Path) -> None:
    ends = ends_of_cells(events_in(launch))
    assert [end["status"] for end in ends] == ["ok"] * len(CELLS)
    assert all(end["validated_bytes"] > 0 and end["wrong_bytes"] == 0 for end in ends)


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_buffers_are_used_in_the_order_asked_for(launch: Path, cell: int) -> None:
    orders = []
    for rank in (0, 1):
        there = addresses(launch, rank, cell)
        used = [there.index(address) for _, _, address in calls_of(launch, rank, cell)]
        turns = [used[i : i + LIVE] for i in range(0, MESSAGES * LIVE, LIVE)]
        assert turns == [turns[0]] * MESSAGES, "each turn is the same, first messages included"
        orders.append(turns[0])
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == list(range(LIVE))
    if cell < 2:
        assert orders[0] == (list(range(LIVE)) if cell == 0 else list(range(LIVE))[::-1])


def blocks(folder: Path, cell: int, rank: int, part: int) -> tuple[BlockIndex, list[int]]:
    index = scan(folder / "samples.blk")
    numbers = [int(i) for i in index.select(cell=cell, rank=rank, phase="steady")]
    return index, [i for i in numbers if index.headers["part"][i] == part]


def test_two_lengths_by_turns_from_one_buffer_are_timed_apart(launch: Path) -> None:
    calls = calls_of(launch, 0, 3)[: 2 * 2 * MESSAGES]
    assert [length for _, length, _ in calls] == [4096, 65536] * 2 * MESSAGES
    there = [address for _, _, address in calls]
    assert there[0::2] == there[1::2], "both lengths stand in the same buffer"
    assert len(set(there)) == 2
    assert {address % 4096 for address in there} == {1}
    assert {address % 4096 for _, _, address in calls_of(launch, 1, 3)} == {64}
    for part in (0, 1):
        index, numbers = blocks(launch, 3, 0, part)
        assert [len(read(index, i).duration_ns) for i in numbers] == [2 * (MESSAGES - 1)]


def test_the_direction_swaps_who_sends(launch: Path) -> None:
    for cell in (4, 6):
        assert {call for call, _, _ in calls_of(launch, 0, cell)} == {"receive"}
        assert {call for call, _, _ in calls_of(launch, 1, cell)} == {"send"}


def test_messages_are_apart_by_the_idle_time(launch: Path) -> None:
    for cell, rank in ((5, 0), (6, 1)):
        index, numbers = blocks(launch, cell, rank, 0)
        begins = read(index, numbers[0]).start_ns
        assert begins is not None
        assert np.diff(begins).min() >= IDLE_S * 1e9


def test_bytes_that_are_thrown_out_of_the_caches_take_longer_to_send(ranks: Ranks, tmp_path: Path) -> None:
    """By turns; warm over warm is the control. 1 KiB goes eagerly from a cache that no other core shares: 2.1 times."""
    done = ranks.run_plan(tmp_path / "launch", BY_TURNS)
    assert done.returncode == 0, done.stderr
    by_cell = np.array([_quartile_ns(tmp_path / "launch", cell) for cell in range(len(BY_TURNS))])
    cold_ns, warm_ns, again_ns = by_cell.reshape(PAIRS, 3).T
    cold_ratio, control_ratio = np.median(cold_ns / warm_ns), np.median(again_ns / warm_ns)
    assert cold_ratio - 1 > max(0.2, 2 * abs(control_ratio - 1)), (cold_ratio, control_ratio)


def _quartile_ns(folder: Path, cell: int) -> float:
    """What other programs add to the least: the lower quartile of a cell's messages."""
    index, numbers = blocks(folder, cell, 0, 0)
    return float(np.quantile(np.concatenate([read(index, i).duration_ns for i in numbers]), 0.25))
