# SPDX-License-Identifier: Apache-2.0
"""Runs whose truth is known: as results alone, fast enough for simulations, and as whole run folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import planted

from slowpath.compare.read import Source, decode
from slowpath.core.plan import Cell, Environment, Launch, Placement, Plan
from slowpath.record.folder import RunInfo, write_run
from slowpath.record.plan_files import write_plan

LAUNCHES = 8
LAUNCH_SD = 0.02
METRIC = "half_round_trip_latency_s"
MACHINE = {"host": "n1", "processor": "P", "processors": 2, "memory_bytes": 8 * 2**30, "kernel": "6.1"}
PARAMETERS = {"pattern": "ping_pong", "message_bytes": "8"}


def cell(number: int, values: Any, **changes: Any) -> dict[str, Any]:
    """A cell of results.json with these launch values, seconds."""
    values = [float(v) for v in values]
    estimate = {
        "value": float(np.exp(np.mean(np.log(values)))),
        "interval": [min(values), max(values)],
        "interval_kind": "planted",
        "launches": len(values),
        "launch_values": values,
    }
    metrics = {METRIC: {"unit": "s", "better": "lower", "phases": {"steady": estimate}}}
    fixed = {
        "cell": number,
        "key": f"key{number}",
        "label": f"cell {number}",
        "group": "g",
        "experiment": "p2p",
        "parameters": {**PARAMETERS, "message_bytes": str(8 * number)},
        "environment": "default",
        "placement": "bound",
        "status": "ok",
        "reason": None,
        "mpi": "mpich",
        "metrics": metrics,
        "wrong_bytes": 0,
    }
    return {**fixed, **changes}


def results(cells: list[dict[str, Any]], **run: Any) -> dict[str, Any]:
    """results.json, as far as comparing reads it."""
    about = {
        "id": "planted",
        "campaign": "planted",
        "status": "complete",
        "slowpath": "0.1.0",
        "engine": "0.1.0",
        "started": "2026-01-01T00:00:00+00:00",
        "mpis": [{"mpi": "mpich", "name": "mpich", "version": "5.0.2"}],
        "machine": MACHINE,
        "environments": [{"name": "default"}],
        "placements": [{"name": "bound", "bind": "core", "nodes": 2, "ranks_per_node": 1}],
    }
    return {"schema": 1, "run": {**about, **run}, "cells": cells}


def source(name: str, cells: list[dict[str, Any]], **run: Any) -> Source:
    """The same, as if read from a file of this name."""
    path = Path(name)
    return Source(path, decode(msgspec.json.encode(results(cells, **{"id": name, **run})), path))


def values(rng: np.random.Generator, factor: float = 1.0, launches: int = LAUNCHES, sd: float = LAUNCH_SD) -> Any:
    """Launch medians about 10 us x factor."""
    return 1e-5 * factor * np.exp(rng.normal(0, sd, launches))


def run_of(
    rng: np.random.Generator, name: str, cells: int, slow: Mapping[int, float] | None = None, **more: Any
) -> Source:
    """A run of equal cells, but for those in `slow`: cell -> factor."""
    launches = more.pop("launches", LAUNCHES)
    made = [cell(i, values(rng, (slow or {}).get(i, 1.0), launches)) for i in range(cells)]
    return source(name, made, **more)


def folder(
    path: Path, seed: int, slow: Mapping[int, float] | None = None, cells: int = 3, launches: int = LAUNCHES
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
    write_run(
        path,
        RunInfo(1, path.name, "planted", "Planted", "0" * 64, "0.1.0", stamp, status="complete", machine=dict(MACHINE)),
    )
    for r in range(launches):
        blocks = []
        for i in numbers:
            level = planted.FAST_NS * (slow or {}).get(i, 1.0) * float(np.exp(rng.normal(0, LAUNCH_SD)))
            blocks += planted.ping_pong(rng, r, i, level)
        planted.add_launch(path, r, r, "default", blocks, planted.events(numbers))
    return path
