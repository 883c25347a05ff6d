# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes at the same time, over 64 nodes of which one is bad; several real jobs at once."""

from __future__ import annotations

import io
import itertools
import random
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from slowpath.analyse.build import build_results
from slowpath.core.plan import PLAN_SCHEMA, Cell, Environment, Placement, Plan
from slowpath.plan.expand import order_launches, turns_of
from slowpath.record.blocks import Block, write_blocks
from slowpath.record.events import CellBegin, CellEnd, LaunchBegin, LaunchEnd
from slowpath.record.folder import RUN_SCHEMA, RunInfo, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run.execute import Execution
from slowpath.run.prepare import MpiCommands
from slowpath.run.process import JobLimits, LaunchedJob, Outcome, run_jobs
from slowpath.run.progress import Quiet
from slowpath.run.schedule import RunLimits
from watchdog import WATCHDOG_S

NODES = [f"n{number:03d}" for number in range(1, 65)]
BAD = "n017"
WHY = "no route to host"
PARAMETERS = {
    "pattern": "ping_pong", "message_bytes": "8", "memory": "host", "pages": "default", "device": "auto",
    "buffer_bytes": "message", "overalloc_bytes": "0", "offset_bytes": "0", "allocations": "1", "live_buffers": "1",
    "messages": "1", "in_flight": "1", "pairs": "1", "samples": "100", "time_limit_s": "0.05", "warmup_s": "0.01",
    "touch": "write", "validate": "off", "synchronise": "outside",
}  # fmt: skip


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8, 63, 64])
def test_every_pair_meets_once_in_as_few_turns_as_there_can_be(nodes: int) -> None:
    pairs = list(itertools.combinations(NODES[:nodes], 2))
    turns = turns_of(pairs, random.Random(nodes))
    assert set(turns) == set(pairs)
    assert set(turns.values()) == set(range(nodes - 1 + nodes % 2))
    for turn in set(turns.values()):
        together = [node for pair in pairs if turns[pair] == turn for node in pair]
        assert len(together) == len(set(together))
    assert turns != turns_of(pairs, random.Random(nodes + 1)) or nodes < 4


def plan_of_pairs(nodes: int, rounds: int) -> Plan:
    pairs = list(itertools.combinations(NODES[:nodes], 2))
    placements = [Placement(f"pair {a} {b}", nodes=2, ranks_per_node=1, hosts=[a, b], of="pair") for a, b in pairs]
    cells = [
        Cell(i, f"key{i}", "link", f"8 B, {place.name}", "p2p", PARAMETERS, "default", place.name)
        for i, place in enumerate(placements)
    ]  # fmt: skip
    launches = order_launches(cells, rounds, 7, pairs={p.name: (p.hosts[0], p.hosts[1]) for p in placements})
    return Plan(
        PLAN_SCHEMA, "pairs", "Pairs", 2, rounds, 7, 0.1, [Environment("default")], placements, cells, [], launches
    )


def simulated(jobs: list[LaunchedJob]) -> list[Outcome]:
    """Writes what an engine would; on the bad node nothing starts."""
    return [_simulated(job, Path(job.argv[-1])) for job in jobs]


def _simulated(job: LaunchedJob, folder: Path) -> Outcome:
    for path in (job.stdout, job.stderr):
        path.touch()
    hosts = next(word for word in job.argv if "n0" in word and not word.startswith("/")).replace(":1", "").split(",")
    if BAD in hosts:
        return Outcome("crashed", 255, None, WHY, 0.1)
    cell = int((folder / "plan.txt").read_text().split("cell ")[1].split()[0])
    events = [
        LaunchBegin(0, int(folder.name), 2),
        CellBegin(0, cell),
        CellEnd(0, cell, "ok", 1, 3),
        LaunchEnd(0),
    ]
    (folder / "events.jsonl").write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    write_blocks(folder / "samples.blk", [Block(cell, int(folder.name), "steady", [4000, 4100, 4200])])
    return Outcome("ok", 0, None, None, 0.1)


def test_the_bad_one_of_many_nodes_is_found_named_and_left_alone(run_folder: Path, fake_commands: MpiCommands) -> None:
    plan = plan_of_pairs(20, rounds=1)
    mpi = replace(fake_commands.mpi, name="mpich", launcher="hydra")
    commands = MpiCommands(mpi, fake_commands.engine, {**fake_commands.environ, "SLURM_JOB_NUM_NODES": "64"}, 64)
    write_plan(run_folder / "plan.json", plan)
    write_run(run_folder, RunInfo(RUN_SCHEMA, "pairs", "pairs", "Pairs", "0", "2026-01-01T00:00:00", ranks=2))
    said = io.StringIO()
    result = Execution(run_folder, plan, commands, RunLimits(), Quiet(said), run_all=simulated).execute()
    assert result.status == "partial"
    assert result.launches_ok == 190 - 19
    assert result.launches - result.launches_ok < 10, "a node that is known to be bad costs no more launches"
    assert said.getvalue().count(f"{BAD} is left out") == 1
    results = build_results(run_folder)
    (matrix,) = results.node_pairs
    assert [(node.node, node.pairs, node.reason.endswith(WHY)) for node in matrix.failed_nodes or []] == [
        (BAD, 19, True)
    ]
    assert any(line.text.startswith(f"{BAD}: all 19 pairs with it failed: ") for line in results.verdict.lines)


def test_jobs_run_at_the_same_time_and_end_each_in_its_own_way(tmp_path: Path) -> None:
    def job(name: str, program: str) -> LaunchedJob:
        out, err = tmp_path / f"{name}.out", tmp_path / f"{name}.err"
        return LaunchedJob([sys.executable, "-c", program], {}, out, err, [], JobLimits())

    meet = "import pathlib, sys, time\nme, other = (pathlib.Path({!r}) / name for name in {!r})\nme.touch()\n"
    meet += "end = time.monotonic() + {}\nwhile not other.exists() and time.monotonic() < end: time.sleep(0.01)\n"
    meet += "sys.exit(0 if other.exists() else 9)"
    jobs = [
        job("a", meet.format(str(tmp_path), ("a", "b"), WATCHDOG_S)),
        job("b", meet.format(str(tmp_path), ("b", "a"), WATCHDOG_S)),
        job("c", "raise SystemExit(3)"),
    ]
    assert [(run_job.ended, run_job.return_code) for run_job in run_jobs(jobs)] == [
        ("ok", 0),
        ("ok", 0),
        ("crashed", 3),
    ]
