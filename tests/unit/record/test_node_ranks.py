# SPDX-License-Identifier: Apache-2.0
"""launch_begin that names the ranks node by node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slowpath.record.events import Clock, LaunchEvents, Rank, read_events

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
    found = read(tmp_path, NODES)
    assert found.notes == ()
    assert found.ranks == (
        Rank(0, "a", 7, "0", 0, 0, Clock(10, 20, None, None, 1e-9, "tsc")),
        Rank(1, "a", 8, None, 1, 0, Clock(10, 21.5, None, None, 1e-9, "tsc")),
        Rank(2, "b", 7, "0-63", None, 1, None),
        Rank(3, "a", 9, "2-3", 3, 0, Clock(10, 22, None, None, 1e-9, "tsc")),
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
    found = read(tmp_path, [NODES[0] | change, NODES[1]])
    assert found.begin is None
    assert said in found.notes[0]
