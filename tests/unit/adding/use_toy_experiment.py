# SPDX-License-Identifier: Apache-2.0
"""Run in a copy of the sources that has the experiment `toy`: plan it, analyse a record of it, report it.

python use_toy_experiment.py FOLDER     a folder to write a run into; prints facts as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.core.plan import Plan
from slowpath.experiments.registry import METRICS, ROLES
from slowpath.plan.campaign import decode
from slowpath.plan.cost import estimate
from slowpath.plan.expand import MpiInUse, expand
from slowpath.record.blocks import Block, write_blocks
from slowpath.record.folder import LaunchInfo, RunInfo, launch_folder, write_launch, write_run
from slowpath.record.plan_files import write_plan
from slowpath.report.text import render_text

DESCRIPTION = {
    "engine": "0",
    "experiments": [
        {
            "name": "toy",
            "parameters": [
                {"name": "pattern", "type": "choice", "default": "barriers", "choices": ["barriers"]},
                {"name": "depth", "type": "count", "default": "1", "minimum": "1"},
                {"name": "samples", "type": "count", "default": "10", "minimum": "1"},
            ],
            "metrics": [{"name": "barrier_s", "pattern": "barriers"}],
        }
    ],
}
CAMPAIGN = b"""
[campaign]
name = "toy"
title = "A toy"
rounds = 6
[[cells]]
name = "barriers"
experiment = "toy"
[cells.parameters]
depth = [1, 2]
[[contrast]]
name = "depth"
question = "Does depth cost?"
cells = "barriers"
axis = "depth"
a = 1
b = 2
metric = "barrier_s"
"""
NS = {"1": 1000, "2": 2000}


def planned() -> Plan:
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))
    return expand(decode(CAMPAIGN, "toy.toml"), DESCRIPTION, [mpi], seed=1)


def measured(plan: Plan, run: Path) -> None:
    """A record in which each barrier takes 1 us times its depth, and a little more each round."""
    run.mkdir(parents=True)
    write_plan(run / "plan.json", plan)
    write_run(run, RunInfo(1, "id", "toy", "A toy", "0" * 64, "2026-01-01T00:00:00+00:00", "0.1.0", status="complete"))
    for launch in plan.launches:
        folder = launch_folder(run, launch.launch)
        folder.mkdir(parents=True)
        cells = [plan.cells[number] for number in launch.cells]
        blocks = [
            Block(cell.cell, launch.launch, "steady", [NS[cell.parameters["depth"]] * 100 + launch.round + i
                                                       for i in range(40)], batch=100)
            for cell in cells
        ]  # fmt: skip
        write_blocks(folder / "samples.blk", blocks)
        lines = [{"event": "launch_begin", "t_ns": 1, "launch": launch.launch, "size": 2}]
        lines += [{"event": "cell_end", "t_ns": 2, "cell": cell.cell, "status": "ok"} for cell in cells]
        (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        argv = ["mpiexec", "-n", "2", "slowpath-engine", "--plan", "plan.txt"]
        write_launch(run, LaunchInfo(launch.launch, launch.round, launch.environment, launch.placement, argv))


def main() -> None:
    run = Path(sys.argv[1])
    plan = planned()
    measured(plan, run)
    results = build_results(run)
    cell = results.cells[1]
    print(
        json.dumps(
            {
                "wall_s": estimate(plan).wall_s,
                "better": METRICS["barrier_s"].better,
                "role": ROLES["depth"],
                "value_s": cell.metrics["barrier_s"].phases["steady"].value,
                "verdicts": [contrast.verdict for contrast in results.contrasts],
                "reproduce": cell.reproduce,
                "text": render_text(results),
            }
        )
    )


if __name__ == "__main__":
    main()
