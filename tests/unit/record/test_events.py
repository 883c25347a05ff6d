# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.record.events import CellBegin, CountedFunction, LaunchEvents, read_events

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
    found = written(tmp_path, BEGIN, *CELLS)
    assert found.notes == ()
    assert found.begin is not None
    assert (found.begin.launch, found.size) == (42, 2)
    clock = found.ranks[0].clock
    assert clock is not None
    assert (clock.quantum_ns, clock.source) == (10.0, "tsc")
    assert found.allocations(3)[0].huge_bytes == 4194304
    assert found.allocations(9) == []
    assert found.cell_ends[3].reason == "no GPU"
    assert found.open_cell == 9
    assert found.end is None


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
    found = written(tmp_path, BEGIN, CELLS[0], counted, refused)
    assert found.notes == ()
    put, synchronisation = found.instructions(3)
    assert (put.counted, put.stepped, put.region_instructions) == (True, (588, 949), 1575)
    assert put.shares == (CountedFunction("libmpi.so.12", "MPI_Put", 1537),)
    assert (synchronisation.counted, synchronisation.reason) == (False, "a debugger is attached")
    assert found.instructions(9) == []


@pytest.mark.parametrize("line", ["{broken", '{"event":"surprise","t_ns":1}', '{"event":"cell_begin"}', "\x00\x00"])
def test_a_damaged_line_in_the_middle(tmp_path: Path, line: str) -> None:
    found = written(tmp_path, line, CELLS[0])
    assert [event.cell for event in found.of(CellBegin)] == [3]
    assert found.notes[0].startswith("events.jsonl: line 1 cannot be read")


def test_of_cells_that_run_in_turns_the_last_to_run_is_where_it_stood(tmp_path: Path) -> None:
    lines = [f'{{"event": "cell_begin", "t_ns": 1, "cell": {cell}}}' for cell in (4, 5, 6)]
    lines += [f'{{"event": "progress", "t_ns": 2, "cell": {cell}}}' for cell in (6, 4, 5)]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert read_events(path).open_cell == 5
    path.write_text("\n".join([*lines, '{"event": "cell_end", "t_ns": 3, "cell": 5, "status": "ok"}']) + "\n")
    assert read_events(path).open_cell == 4
