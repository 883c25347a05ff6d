# SPDX-License-Identifier: Apache-2.0
"""A run of one launch whose every interval is known: a cell of cannon, one of one_way, and one without start times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slowpath.core.plan import Cell, Environment, Launch, Placement, Plan
from slowpath.record.blocks import Block, write_blocks
from slowpath.record.folder import LaunchInfo, RunInfo, launch_folder, write_launch, write_run
from slowpath.record.plan_files import write_plan

T0 = 5_000_000  # of each rank's clock
CANNON, ONE_WAY, PING_PONG = 0, 1, 2
LABEL = "isend_wait, n 64"
REPETITIONS = 2
Interval = tuple[str, int, int]  # name, begin and end from the first interval of the node


def cannon_intervals(rank: int) -> list[Interval]:
    """Of one repetition: made inputs, then two products around a wait; rank 1 is 10 ns late."""
    late = 10 * rank
    return [("generate", late, 100 + late), (LABEL, 200 + late, 1200 + late), ("dgemm", 200 + late, 600 + late),
            ("wait", 600 + late, 700 + late), ("dgemm", 700 + late, 1200 + late)]  # fmt: skip


def expected(rank: int) -> list[Interval]:
    """Everything that a rank did in both cells, by begin; repetition r is 2000 r later, messages come after them."""
    intervals = [(name, begin + 2000 * r, end + 2000 * r) for r in range(REPETITIONS) for name, begin, end in
             cannon_intervals(rank)]  # fmt: skip
    name = "MPI_Recv" if rank else "MPI_Send"
    return intervals + [(name, 10_000 + 500 * m + rank, 10_000 + 500 * m + rank + 50) for m in range(3)]


def _blocks(rank: int) -> list[Block]:
    parts = {"generate": 10, LABEL: 0, "dgemm": 1, "wait": 4}
    blocks = []
    for name, part in parts.items():
        spans = [span for span in expected(rank) if span[0] == name]
        lengths, begins = [end - begin for _, begin, end in spans], [begin for _, begin, _ in spans]
        blocks.append(Block(CANNON, 0, "steady", lengths, begins, rank=rank, t0_ns=T0, part=part))
    messages = [span for span in expected(rank) if span[0] in ("MPI_Send", "MPI_Recv")]
    for phase, some in (("first", messages[:1]), ("steady", messages[1:])):
        lengths, begins = [end - begin for _, begin, end in some], [begin for _, begin, _ in some]
        seq0 = 0 if phase == "first" else 1
        blocks.append(Block(ONE_WAY, 0, phase, lengths, begins, rank=rank, t0_ns=T0, seq0=seq0))
    return [*blocks, Block(PING_PONG, 0, "steady", [100, 110], rank=rank)]


def plan() -> Plan:
    """Three cells in one launch."""
    cells = [
        Cell(CANNON, "k0", "g", LABEL, "cannon", {"pattern": "multiply", "variant": "isend_wait"}, "default", "bound"),
        Cell(ONE_WAY, "k1", "g", "1 KiB", "p2p", {"pattern": "one_way"}, "default", "bound"),
        Cell(PING_PONG, "k2", "g", "8 B", "p2p", {"pattern": "ping_pong"}, "default", "bound"),
    ]
    launches = [Launch(0, 0, "default", "bound", [0, 1, 2], 1)]
    return Plan(
        1, "planted", "Planted", 2, 1, 1, 0.03, [Environment("default")], [Placement("bound")], cells, [], launches
    )


def _events(hosts: Sequence[str]) -> str:
    ranks = [{"rank": rank, "host": host, "pid": 40 + rank} for rank, host in enumerate(hosts)]
    lines: list[dict[str, Any]] = [{"event": "launch_begin", "launch": 0, "size": 2, "ranks": ranks}]
    for rank in range(2):
        for part, steps in ((0, [0]), (1, [0, 1]), (4, [0]), (10, [0])):
            lines.append({"event": "intervals", "cell": CANNON, "rank": rank, "part": part, "steps": steps})
    lines += [{"event": "cell_end", "cell": cell, "status": "ok"} for cell in (CANNON, ONE_WAY, PING_PONG)]
    return "".join(json.dumps({"t_ns": 1, **line}) + "\n" for line in lines)


def make_run(folder: Path, hosts: Sequence[str] = ("n1", "n1"), blocks: Sequence[Block] | None = None) -> Path:
    """The run folder. hosts: of both ranks."""
    folder.mkdir(parents=True)
    write_run(folder, RunInfo(1, "id", "planted", "Planted", "0.1.0", status="complete"))
    write_plan(folder / "plan.json", plan())
    place = launch_folder(folder, 0)
    place.mkdir(parents=True)
    write_blocks(place / "samples.blk", blocks or [*_blocks(0), *_blocks(1)])
    (place / "events.jsonl").write_text(_events(hosts))
    write_launch(folder, LaunchInfo(0, 0, "default", "bound", ["mpiexec"], started="2026-11-20T09:15:00+00:00"))
    return folder
