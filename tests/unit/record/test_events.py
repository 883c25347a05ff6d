# SPDX-License-Identifier: Apache-2.0
"""Events of launches: cells, counts, fixed work, nodes, processor time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slowpath.experiments.measured import fixed_work
from slowpath.record.events import (
    CellBegin,
    Clock,
    CountedFunction,
    FixedWork,
    LaunchEvents,
    ProcessorTime,
    Rank,
    read_events,
)

BEGIN = (
    '{"event":"launch_begin","t_ns":1,"launch":42,"seed":7,"engine":"0.1.0","mpi_library":"X","mpi_standard":"5.0",'
    '"size":2,"ranks":[{"rank":0,"host":"n1","pid":5,"cpus_allowed":"0-1","cpu":0,"numa_node":null,'
    '"clock":{"quantum_ns":10,"overhead_ns":22.5,"max_gap_ns":900,"getres_ns":1,"wtick_s":1e-9,"source":"tsc"}}]}'
)
CELLS = [
    '{"event":"cell_begin","t_ns":2,"cell":3}',
    '{"event":"allocation","t_ns":3,"cell":3,"rank":0,"index":0,"role":"send","memory":"host","reused_address":false,'
    '"pages_observed":"huge","huge_bytes":4194304,"device":null,"base":140000}',
    '{"event":"cell_end","t_ns":4,"cell":3,"status":"skipped","reason":"no GPU","batch":null}',
    '{"event":"cell_begin","t_ns":5,"cell":9}',
]


def written(tmp_path: Path, *lines: str, end: str = "\n") -> LaunchEvents:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines) + end)
    return read_events(path)


def test_a_launch_that_died_in_a_cell(tmp_path: Path) -> None:
    events = written(tmp_path, BEGIN, *CELLS)
    assert events.notes == ()
    assert events.begin is not None
    assert (events.begin.launch, events.size) == (42, 2)
    clock = events.ranks[0].clock
    assert clock is not None
    assert (clock.quantum_ns, clock.source) == (10.0, "tsc")
    assert events.allocations(3)[0].huge_bytes == 4194304
    assert events.allocations(9) == []
    assert events.cell_ends[3].reason == "no GPU"
    assert events.open_cell == 9
    assert events.end is None


def test_counts_of_instructions(tmp_path: Path) -> None:
    counted = (
        '{"event":"instructions","t_ns":4,"cell":3,"rank":0,"region":"put","calls":2,"method":"trap flag",'
        '"stepped":[588,949],"retired":[552,913],"region_instructions":1575,'
        '"shares":[{"library":"libmpi.so.12","function":"MPI_Put","instructions":1537}],"reason":null}'
    )
    refused = (
        '{"event":"instructions","t_ns":5,"cell":3,"rank":0,"region":"synchronisation","calls":1,"method":null,'
        '"stepped":[],"retired":[],"region_instructions":null,"shares":[],"reason":"a debugger is attached"}'
    )
    events = written(tmp_path, BEGIN, CELLS[0], counted, refused)
    assert events.notes == ()
    put, synchronisation = events.instructions(3)
    assert (put.counted, put.stepped, put.region_instructions) == (True, (588, 949), 1575)
    assert put.shares == (CountedFunction("libmpi.so.12", "MPI_Put", 1537),)
    assert (synchronisation.counted, synchronisation.reason) == (False, "a debugger is attached")
    assert events.instructions(9) == []


@pytest.mark.parametrize("line", ["{broken", '{"event":"surprise","t_ns":1}', '{"event":"cell_begin"}', "\x00\x00"])
def test_a_damaged_line_in_the_middle(tmp_path: Path, line: str) -> None:
    events = written(tmp_path, line, CELLS[0])
    assert [event.cell for event in events.of(CellBegin)] == [3]
    assert events.notes[0].startswith("events.jsonl: line 1 left out")


def test_of_cells_that_run_in_turns_the_last_to_run_is_where_it_stood(tmp_path: Path) -> None:
    lines = [f'{{"event": "cell_begin", "t_ns": 1, "cell": {cell}}}' for cell in (4, 5, 6)]
    lines += [f'{{"event": "progress", "t_ns": 2, "cell": {cell}}}' for cell in (6, 4, 5)]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert read_events(path).open_cell == 5
    path.write_text("\n".join([*lines, '{"event": "cell_end", "t_ns": 3, "cell": 5, "status": "ok"}']) + "\n")
    assert read_events(path).open_cell == 4


LINE = (
    '{"event": "fixed_work", "t_ns": 9, "rank": %d, "steps": 8192, "t0_ns": 1000, "visits": [2, 0, 1], '
    '"begins_ns": [0, 20, 400], "durations_ns": [11, 12, 90]}\n'
)


def test_every_sample_with_its_begin_and_visit(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(LINE % 1 + LINE % 0)
    first, second = fixed_work(read_events(path).of(FixedWork))
    assert (first.rank, second.rank, first.steps) == (0, 1, 8192)
    assert first.begin_ns.tolist() == [1000, 1020, 1400]
    assert first.duration_ns.tolist() == [11, 12, 90]
    assert first.visit.tolist() == [0, 0, 2]


CLOCK = {"quantum_ns": 10, "overhead_ns": [20, 21.5, 22], "max_gap_ns": None, "wtick_s": 1e-9, "source": "tsc"}
NODES: list[dict[str, Any]] = [
    {"host": "a", "ranks": "0-1,3", "pid": [7, 8, 9], "cpus_allowed": ["0", None, "2-3"], "cpu": [0, 1, 3],
     "numa_node": 0, "clock": CLOCK},
    {"host": "b", "ranks": "2", "pid": [7], "cpus_allowed": "0-63", "cpu": None, "numa_node": [1]},
]  # fmt: skip


def read(tmp_path: Path, nodes: object, size: int = 4) -> LaunchEvents:
    line = {"event": "launch_begin", "t_ns": 1, "launch": 1, "size": size, "nodes": nodes}
    (tmp_path / "events.jsonl").write_text(json.dumps(line) + "\n")
    return read_events(tmp_path / "events.jsonl")


def test_each_rank_has_what_its_node_shares_and_what_is_its_own(tmp_path: Path) -> None:
    split_job = read(tmp_path, NODES)
    assert split_job.notes == ()
    assert split_job.ranks == (
        Rank(0, "a", 7, "0", 0, 0, Clock(10, 20, "tsc")),
        Rank(1, "a", 8, None, 1, 0, Clock(10, 21.5, "tsc")),
        Rank(2, "b", 7, "0-63", None, 1, None),
        Rank(3, "a", 9, "2-3", 3, 0, Clock(10, 22, "tsc")),
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ranks": "0-99999999999999"}, "not the 3 of pid"),
        ({"ranks": "0-1"}, "not the 3 of pid"),
        ({"ranks": "3,1-0"}, "not the 3 of pid"),
        ({"ranks": "0-1,x"}, "not a list such as"),
        ({"ranks": "0-2"}, "nodes name 4 ranks, not each of 4 once"),
        ({"cpu": [0, 1]}, "a list of 2 values for 3 ranks"),
        ({"clock": {"quantum_ns": []}}, "a list of 0 values for 3 ranks"),
        ({"pid": 7}, "pid"),
    ],
)
def test_a_damaged_line_is_left_out_and_noted(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    split_job = read(tmp_path, [NODES[0] | change, NODES[1]])
    assert split_job.begin is None
    assert said in split_job.notes[0]


def differ(user: tuple[int, int], kernel: tuple[int, int]) -> bool:
    """(user_ns, system_ns) of arithmetic alone, and of the kernel's work alone."""
    return ProcessorTime(9, 0, *user, *kernel).is_distinguished


@pytest.mark.parametrize(
    ("user", "kernel", "apart"),
    [
        ((1_500_000, 0), (0, 1_500_000), True),
        ((1_450_000, 50_000), (120_000, 1_380_000), True),
        # Ticks: a process's whole life is shared out, whatever the stretch was.
        ((435_000, 1_065_000), (435_000, 1_065_000), False),
        ((1_290_000, 210_000), (1_290_000, 210_000), False),
        ((1_500_000, 0), (1_500_000, 0), False),
        ((0, 1_500_000), (0, 1_500_000), False),
    ],
)
def test_nearly_all_of_each_is_booked_as_what_it_is(
    user: tuple[int, int], kernel: tuple[int, int], apart: bool
) -> None:
    assert differ(user, kernel) == apart
