# SPDX-License-Identifier: Apache-2.0
"""The experiment put under a real MPI: its blocks, its counts of instructions, its refusals, its page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ranks import Event, Ranks, events_in, finished

from slowpath.mpi.mpi import Mpi
from slowpath.record.blocks import BlockIndex, read, scan
from slowpath.record.events import read_events
from slowpath.run.engine.cache import Engine

QUICK = "samples=16 warmup_s=0.001 time_limit_s=0.01"
Recorded = Callable[..., tuple[BlockIndex, list[Event]]]


@pytest.fixture
def recorded(ranks: Ranks, tmp_path: Path) -> Recorded:
    """Runs cells of put on two ranks and reads what they left."""

    def run(*cells: str) -> tuple[BlockIndex, list[Event]]:
        done = ranks.run_plan(tmp_path, [f"put {cell}" for cell in cells])
        assert done.returncode == 0, done.stderr
        return scan(tmp_path / "samples.blk"), events_in(tmp_path)

    return run


def of(events: list[Event], name: str, cell: int = 0) -> list[Event]:
    return [event for event in events if event["event"] == name and event.get("cell") == cell]


def counts(events: list[Event], region: str, cell: int = 0) -> Event:
    [event] = [event for event in of(events, "instructions", cell) if event["region"] == region]
    if event["reason"] is not None:
        pytest.skip(event["reason"])
    return event


@pytest.mark.parametrize("synchronise", ["flush_all", "fence", "pscw", "lock"])
def test_the_origin_stores_whole_bursts_and_their_parts(recorded: Recorded, synchronise: str) -> None:
    index, events = recorded(f"synchronise={synchronise} puts=100 instructions=0 {QUICK}")
    assert of(events, "cell_end")[0]["status"] == "ok"
    assert set(index.headers["rank"]) == {0}
    [first] = index.select(phase="first")
    assert len(read(index, int(first)).duration_ns) == 1
    assert int(index.headers["batch"][first]) == 1
    parts = {int(index.headers["allocation"][i]): int(i) for i in index.select(phase="steady")}
    assert sorted(parts) == [0, 1, 2]
    assert [int(index.headers["batch"][parts[part]]) for part in (1, 2)] == [1, 1]
    puts, closing = (read(index, parts[part]).duration_ns for part in (1, 2))
    assert len(puts) == len(closing) > 0
    assert (puts > 0).all()
    assert (closing > 0).all()
    assert int(index.headers["batch"][parts[0]]) == of(events, "cell_end")[0]["batch"]
    assert set(index.headers["allocation"][index.select(phase="warmup")]) == {0}


def test_short_bursts_are_batched_to_ten_microseconds_and_no_further(recorded: Recorded, tmp_path: Path) -> None:
    """Judged by the recorded warm-up, as the engine judges it."""
    index, _ = recorded(f"design=small_args puts=100 instructions=0 {QUICK}", f"puts=20000 instructions=0 {QUICK}")
    lean, long = (
        next(int(i) for i in index.select(cell=cell, phase="steady") if index.headers["allocation"][i] == 0)
        for cell in (0, 1)
    )
    assert int(index.headers["batch"][long]) == 1
    clocks = [rank.clock for rank in read_events(tmp_path / "events.jsonl").ranks]
    wanted_ns = max(10_000, 100 * max(c.quantum_ns for c in clocks), 50 * max(c.overhead_ns for c in clocks))
    single = next(int(i) for i in index.select(cell=0, phase="warmup") if index.headers["batch"][i] == 1)
    times_ns = read(index, single).duration_ns
    burst_ns = max(1.0, float(np.quantile(times_ns[len(times_ns) // 2 :], 0.25)))
    assert int(index.headers["batch"][lean]) == pytest.approx(max(1, wanted_ns / burst_ns), abs=1.01)


def test_puts_and_their_synchronisation_are_counted_apart(recorded: Recorded) -> None:
    _, events = recorded(f"instructions=5 {QUICK}")
    put, flush = counts(events, "put"), counts(events, "synchronisation")
    assert put["calls"] == len(put["stepped"]) == len(put["retired"]) == 5
    assert all(retired <= stepped for stepped, retired in zip(put["stepped"], put["retired"], strict=True))
    assert put["region_instructions"] > sum(put["stepped"]) > 5 * 50
    assert sum(share["instructions"] for share in put["shares"]) == sum(put["stepped"])
    assert any(share["function"] in ("MPI_Put", "PMPI_Put") for share in put["shares"])
    assert flush["calls"] == len(flush["stepped"]) == 1
    assert flush["stepped"][0] > 5


def test_layers_do_less_and_less(recorded: Recorded) -> None:
    designs = ["mpi", "complex", "simple", "small_args", "empty_call_5"]
    _, events = recorded(*(f"design={design} instructions=4 {QUICK}" for design in designs))
    each = [np.mean(counts(events, "put", cell)["stepped"]) for cell in range(len(designs))]
    assert each == sorted(each, reverse=True)
    assert len(set(each)) == len(each)


def test_what_the_library_keeps_of_an_info_key_is_noted(recorded: Recorded, mpi: Mpi) -> None:
    _, events = recorded(f"window_info=latency instructions=0 {QUICK}", f"design=simple instructions=0 {QUICK}")
    [note] = of(events, "note")
    assert note["text"].startswith("window info asked: perf_preference=lat")
    assert isinstance(note["window_info"], dict)
    if mpi.name == "mpich":
        assert note["window_info"]["perf_preference"] == "lat"
    assert of(events, "note", 1) == []


def test_every_byte_is_compared_on_both_ranks_twice(recorded: Recorded) -> None:
    _, events = recorded(f"instructions=0 {QUICK}", f"operation=accumulate instructions=0 {QUICK}")
    ends = [of(events, "cell_end", cell)[0] for cell in (0, 1)]
    # 512 slots of 8 bytes and 64 bytes behind them; sums are compared after the fresh burst only, with the results.
    assert [end["validated_bytes"] for end in ends] == [4 * 4160, 3 * 4160]
    assert [end["wrong_bytes"] for end in ends] == [0, 0]


def test_two_datatypes_move_the_same_bytes(recorded: Recorded) -> None:
    """Every byte of the window is compared, the gaps of the target's datatype included.

    Equal datatypes have one handle, so that the layer keeps its shorter path for them.
    """
    pairs = [("vector", "indexed"), ("indexed", "vector"), ("vector", "same"), ("vector", "vector")]
    cells = [
        f"design={design} datatype={origin} target_datatype={target} message_bytes=24 puts=10 instructions=4 {QUICK}"
        for design in ("mpi", "complex")
        for origin, target in pairs
    ]
    _, events = recorded(*cells)
    assert [of(events, "cell_end", cell)[0]["status"] for cell in range(len(cells))] == ["ok"] * len(cells)
    across, same, named = (counts(events, "put", cell) for cell in (4, 6, 7))
    assert min(across["stepped"]) > max(same["stepped"])
    assert same["stepped"] == named["stepped"]


def test_a_busy_target_ends_with_its_origin(recorded: Recorded) -> None:
    """It answers between its computations, whatever the window needs of it."""
    cells = [f"window={window} target_busy_s=1e-4 puts=10 instructions=0 {QUICK}" for window in ("allocate", "create")]
    cells.append(f"design=complex target_busy_s=1e-4 puts=10 instructions=0 {QUICK}")
    _, events = recorded(*cells)
    for cell in range(len(cells)):
        [end] = of(events, "cell_end", cell)
        assert end["status"] == "ok" or "MPI_Win_create" in end["reason"]


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--operation rput --synchronise pscw", "needs a passive target"),
        ("--operation accumulate --datatype contiguous", "one basic type only"),
        ("--operation fetch_and_op --datatype vector", "predefined datatypes only"),
        ("--operation compare_and_swap --message-bytes 16", "take message_bytes=8"),
        ("--window-info no_locks", "no lock is taken"),
        ("--call inlined", "are for the layers"),
        ("--design complex --window create", "leave window out"),
        ("--design complex --operation get", "other operations than put"),
        ("--design complex --synchronise fence", "leave synchronise out"),
        ("--design small_args --datatype vector", "knows no datatypes"),
        ("--design memcpy --call inlined", "it has: "),
        ("--design openshmem_put --datatype vector", "doubles only"),
        ("--message-bytes 12", "no multiple of 8"),
        ("--message-bytes 32GiB", "take datatype=large_count"),
        ("--datatype predefined --target-datatype vector", "needs a datatype of 2 floats"),
        ("--operation get --datatype vector --target-datatype indexed", "target_datatype is for operation=put"),
        ("--synchronise fence --target-busy-s 1e-4", "target_busy_s is for a passive target"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(engine: Engine, mpi: Mpi, words: str, said: str) -> None:
    done = finished([engine.program, "put", *words.split()], mpi.environ(os.environ))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
