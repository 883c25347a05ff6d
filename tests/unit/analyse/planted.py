# SPDX-License-Identifier: Apache-2.0
"""A small run folder whose truth is known: two ping-pong cells in two environments, and one one-way cell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from slowpath.core.plan import Cell, Contrast, Environment, Launch, Placement, Plan, Side
from slowpath.record.blocks import Block, Witness, write_blocks
from slowpath.record.folder import LaunchInfo, RunInfo, launch_folder, write_launch, write_run
from slowpath.record.plan_files import write_plan

ROUNDS = 8
FAST_NS, SLOW_NS, FIRST_NS = 10_000, 20_000, 500_000
BATCH = 4


def _cell(number: int, group: str, environment: str, **parameters: str) -> Cell:
    label = f"{group}, {environment}"
    return Cell(number, f"key{number}", group, label, "p2p", parameters, environment, "bound")


def _contrast(name: str, axis: str, metric: str, a: Side, b: Side, control: bool = False) -> Contrast:
    return Contrast(name, name, f"{name}?", axis, metric, a, b, control, None)


def plan() -> Plan:
    """Cell 0: fast, cell 1: slow, cell 2: the same as 0, cell 3: one way."""
    latency, one_way = "half_round_trip_latency_s", "one_way_s"
    cells = [
        _cell(0, "latency", "default", pattern="ping_pong", message_bytes="8"),
        _cell(1, "latency", "other", pattern="ping_pong", message_bytes="8"),
        _cell(2, "twin", "default", pattern="ping_pong", message_bytes="8"),
        _cell(3, "fresh", "default", pattern="one_way", message_bytes="1024"),
    ]
    contrasts = [
        _contrast("environment", "environment", latency, Side(0, "steady", "default"), Side(1, "steady", "other")),
        _contrast("control", "copy", latency, Side(0, "steady", "1"), Side(2, "steady", "2"), True),
        _contrast("first", "phase", one_way, Side(3, "steady", "steady"), Side(3, "first", "first")),
    ]
    launches = []
    for r in range(ROUNDS):
        launches.append(Launch(2 * r, r, "default", "bound", [0, 2, 3], 1))
        launches.append(Launch(2 * r + 1, r, "other", "bound", [1], 1))
    environments = [Environment("default"), Environment("other", {"PATH_KIND": "b"})]
    placements = [Placement("bound")]
    return Plan(1, "planted", "Planted", 2, ROUNDS, 1, 0.03, environments, placements, cells, contrasts, launches)


def ping_pong(rng: np.random.Generator, launch: int, cell: int, half_trip_ns: float) -> list[Block]:
    """First message, then 40 batches around 2 x half_trip_ns x BATCH with 1 % noise."""
    trip = 2 * half_trip_ns
    steady = np.rint(BATCH * trip * np.exp(rng.normal(0, 0.01, 40))).astype(np.int64)
    return [
        Block(cell, launch, "first", [int(3 * trip)]),
        Block(cell, launch, "steady", steady, batch=BATCH, seq0=1, witness=Witness(7, 0, 0, 400_000, 1, 0)),
    ]


def one_way(rng: np.random.Generator, launch: int, cell: int) -> list[Block]:
    """Two allocations; the receiver ends FIRST_NS after the first send began, FAST_NS after each later one."""
    blocks = []
    for allocation in range(2):
        for phase, seq0, length, n in (("first", 0, FIRST_NS, 1), ("steady", 1, FAST_NS, 5)):
            noise = np.rint(length * np.exp(rng.normal(0, 0.01, n))).astype(np.int64)
            start = np.arange(n) * 1_000_000
            common = {"allocation": allocation, "seq0": seq0}
            blocks.append(Block(cell, launch, phase, noise // 2, start, rank=0, t0_ns=1000, **common))
            blocks.append(Block(cell, launch, phase, noise - 100, start + 100, rank=1, t0_ns=1000, **common))
    return blocks


def events(cells: list[int], hosts: tuple[str, str] = ("n1", "n1"), status: str = "ok") -> str:
    """events.jsonl of a launch that brought `cells` to an end of this status."""
    clock = {"quantum_ns": 10, "overhead_ns": 20}
    ranks = [
        {"rank": r, "host": host, "cpus_allowed": str(r), "cpu": r, "clock": clock} for r, host in enumerate(hosts)
    ]
    lines = [{"event": "launch_begin", "t_ns": 1, "launch": 0, "size": 2, "mpi_library": "Planted MPI", "ranks": ranks}]
    lines += [{"event": "cell_begin", "t_ns": 2, "cell": cell} for cell in cells]
    lines += [{"event": "cell_end", "t_ns": 3, "cell": c, "status": status, "validated_bytes": 8} for c in cells]
    return "".join(json.dumps(line) + "\n" for line in lines)


def make_run(folder: Path, *, hosts: tuple[str, str] = ("n1", "n1"), seed: int = 1) -> Path:
    """The whole run, with a drift of the machine of up to 30 % that both launches of a round share."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    write_plan(folder / "plan.json", plan())
    stamp = "2026-01-01T00:00:00+00:00"
    write_run(folder, RunInfo(1, "id", "planted", "Planted", stamp, "0.1.0", status="complete"))
    for r in range(ROUNDS):
        drift = float(np.exp(rng.normal(0, 0.1)))
        fast, slow = FAST_NS * drift, SLOW_NS * drift
        blocks = ping_pong(rng, 2 * r, 0, fast) + ping_pong(rng, 2 * r, 2, fast) + one_way(rng, 2 * r, 3)
        add_launch(folder, 2 * r, r, "default", blocks, events([0, 2, 3], hosts))
        add_launch(folder, 2 * r + 1, r, "other", ping_pong(rng, 2 * r + 1, 1, slow), events([1], hosts))
    return folder


def add_launch(
    run: Path, number: int, round_: int, environment: str, blocks: list[Block], said: str, **info: object
) -> None:
    """One launch folder with its record."""
    folder = launch_folder(run, number)
    folder.mkdir(parents=True)
    write_blocks(folder / "samples.blk", blocks)
    (folder / "events.jsonl").write_text(said)
    argv = ["mpiexec", "-n", "2", "/x/slowpath-engine", "--plan", "plan.txt"]
    variables = {"PATH_KIND": "b"} if environment == "other" else {}
    write_launch(run, LaunchInfo(number, round_, environment, "bound", argv, variables, **info))  # type: ignore[arg-type]
