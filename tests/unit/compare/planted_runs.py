# SPDX-License-Identifier: Apache-2.0
"""Runs whose truth is known: as results alone, fast enough for simulations, and as whole run folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import planted
from msgspec.structs import replace

from slowpath.compare.read import RunSource
from slowpath.core.cell_results import CellResult
from slowpath.core.plan import Cell, Environment, Launch, Placement, Plan
from slowpath.core.results import Results
from slowpath.record.folder import RunInfo, write_run
from slowpath.record.plan_files import write_plan
from support import results as model

LAUNCHES = 8
LAUNCH_SD = 0.02
METRIC = "half_round_trip_latency_s"
MACHINE = {"host": "n1", "processor": "P", "processors": 2, "memory_bytes": 8 * 2**30, "kernel": "6.1"}
PARAMETERS = {"pattern": "ping_pong", "message_bytes": "8"}


def cell(number: int, values: Any, **changes: Any) -> CellResult:
    """A cell with these launch values, seconds."""
    values = [float(v) for v in values]
    centre = float(np.exp(np.mean(np.log(values))))
    estimate = model.an_estimate(centre, launch_values=values, interval_kind="planted")
    parameters = {**PARAMETERS, "message_bytes": str(8 * number)}
    made = model.a_cell(number, parameters=parameters, metrics={METRIC: model.a_metric(estimate)}, wrong_bytes=0)
    return replace(made, **changes)


def results(cells: Sequence[CellResult], **run: Any) -> Results:
    """A whole results.json."""
    placement = model.a_placement(observed=[], nodes=2, ranks_per_node=1)
    about = model.a_run(**{"id": "planted", "machine": MACHINE, "placements": [placement], **run})
    return model.results(cells, run=about)


def source(name: str, cells: Sequence[CellResult], **run: Any) -> RunSource:
    """The same, as if read from a file of this name."""
    return RunSource(Path(name), results(cells, **{"id": name, **run}))


def values(rng: np.random.Generator, factor: float = 1.0, launches: int = LAUNCHES, sd: float = LAUNCH_SD) -> Any:
    """Launch medians about 10 us x factor."""
    return 1e-5 * factor * np.exp(rng.normal(0, sd, launches))


def run_of(
    rng: np.random.Generator, name: str, cells: int, slow: Mapping[int, float] | None = None, **more: Any
) -> RunSource:
    """A run of equal cells, but for those in `slow`: cell -> factor."""
    launches = more.pop("launches", LAUNCHES)
    made = [cell(i, values(rng, (slow or {}).get(i, 1.0), launches)) for i in range(cells)]
    return source(name, made, **more)


def folder(
    path: Path,
    seed: int,
    slow: Mapping[int, float] | None = None,
    cells: int = 3,
    launches: int = LAUNCHES,
    machine: Mapping[str, Any] | None = None,
) -> Path:
    """A whole run folder: samples, events, plan; 2 % between launches."""
    rng = np.random.default_rng(seed)
    path.mkdir(parents=True)
    made = [
        Cell(
            i,
            f"key{i}",
            "latency",
            f"{8 * i} B",
            "p2p",
            {**PARAMETERS, "message_bytes": str(8 * i)},
            "default",
            "bound",
        )
        for i in range(cells)
    ]
    numbers = list(range(cells))
    planned = [Launch(r, r, "default", "bound", numbers, r) for r in range(launches)]
    plan = Plan(
        1, "planted", "Planted", 2, launches, 1, 0.03, [Environment("default")], [Placement("bound")], made, [], planned
    )
    write_plan(path / "plan.json", plan)
    stamp = f"2026-01-{1 + seed % 28:02d}T00:00:00+00:00"
    info = RunInfo(1, path.name, "planted", "Planted", "0.1.0", stamp, status="complete", engine="0.1.0")
    mpi = {"name": "mpich", "version": "5.0.2"}
    write_run(path, msgspec.structs.replace(info, machine=dict(machine or MACHINE), mpi=mpi))
    for r in range(launches):
        blocks = []
        for i in numbers:
            level = planted.FAST_NS * (slow or {}).get(i, 1.0) * float(np.exp(rng.normal(0, LAUNCH_SD)))
            blocks += planted.ping_pong(rng, r, i, level)
        planted.add_launch(path, r, r, "default", blocks, planted.events(numbers))
    return path
