# SPDX-License-Identifier: Apache-2.0
"""Calls that witnessed launches counted, and what the library told there, in results.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest
from planted import BATCH, FAST_NS, add_launch, events, make_run, ping_pong

from slowpath.analyse.build import build_results
from slowpath.core.cell_results import CallCounts, CellResult
from slowpath.core.files import data_folder
from slowpath.core.plan import Cell, Environment, Launch
from slowpath.core.results import LibraryVariable, Results
from slowpath.record.folder import launch_folder
from slowpath.record.plan_files import read_plan, write_plan
from support.results import as_json

COUNTED, ALONE = 10, 11  # twin of planted cell 0, and a cell without a twin
LAUNCH = 100
OPERATIONS = 40 * BATCH


def calls(cell: int, rank: int, copies: int, phase: str = "steady") -> dict[str, Any]:
    counts = {
        "process_vm_readv": {"calls": copies * OPERATIONS, "bytes": copies * OPERATIONS * 8, "failed": 0},
        "ioctl": {"calls": OPERATIONS // 2, "bytes": None, "failed": OPERATIONS // 4},
    }
    one = {"event": "calls", "t_ns": 3, "cell": cell, "rank": rank, "phase": phase}
    return {**one, "operations": OPERATIONS, "counts": counts}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The planted run and one witnessed launch, ten times as slow."""
    folder = make_run(tmp_path / "run")
    plan = read_plan(folder / "plan.json")
    twin = msgspec.structs.replace(plan.cells[0], cell=COUNTED, environment="counted", label="counted")
    alone = Cell(ALONE, "another key", "latency", "alone", "p2p", plan.cells[0].parameters, "counted", "bound")
    changed = msgspec.structs.replace(
        plan,
        cells=[*plan.cells, twin, alone],
        environments=[*plan.environments, Environment("counted", witness=True)],
        launches=[*plan.launches, Launch(LAUNCH, 0, "counted", "bound", [COUNTED, ALONE], 1)],
    )
    write_plan(folder / "plan.json", changed)
    witness(folder, [calls(cell, rank, 1 + rank) for cell in (COUNTED, ALONE) for rank in (0, 1)])
    return folder


def witness(folder: Path, counted: list[dict[str, Any]], witnessed: bool = True) -> None:
    rng = np.random.default_rng(3)
    blocks = [block for cell in (COUNTED, ALONE) for block in ping_pong(rng, LAUNCH, cell, 10 * FAST_NS)]
    said = events([COUNTED, ALONE]).replace('"size": 2', f'"size": 2, "witnessed": {json.dumps(witnessed)}')
    said += "".join(json.dumps(line) + "\n" for line in counted)
    add_launch(folder, LAUNCH, 0, "counted", blocks, said)


def cell(results: Results, number: int) -> CellResult:
    return next(one for one in results.cells if one.cell == number)


def test_counts_are_said_of_the_timed_twin(run: Path) -> None:
    results = build_results(run)
    jsonschema.validate(as_json(results), json.loads((data_folder("schema") / "results.schema.json").read_text()))
    steady = cell(results, 0).witness["steady"]
    assert steady["send"].calls["process_vm_readv"] == CallCounts(calls_per_op=1, bytes_per_op=8, failed_per_op=0)
    assert steady["receive"].calls["process_vm_readv"].bytes_per_op == 16
    assert steady["send"].calls["ioctl"] == CallCounts(calls_per_op=0.5, bytes_per_op=None, failed_per_op=0.25)
    assert steady["send"].system_time_s_per_op > 0, "of the timed launches, as ever"
    assert steady["receive"].minor_faults_per_op is None, "this rank stores no times"
    assert cell(results, 0).calls_reason is None
    assert not [one for one in results.cells if one.cell == COUNTED]


def test_times_of_witnessed_launches_are_never_used(run: Path) -> None:
    results = build_results(run)
    latency = cell(results, 0).metrics["half_round_trip_latency_s"].phases["steady"]
    assert latency.launches == 8
    assert latency.value == pytest.approx(FAST_NS * 1e-9, rel=0.3)
    alone = cell(results, ALONE)
    assert alone.witnessed
    assert alone.metrics == {}
    assert alone.witness["steady"]["send"].calls["process_vm_readv"].calls_per_op == 1


def test_variables_of_the_library(run: Path) -> None:
    folder = launch_folder(run, LAUNCH)
    rows = [
        {"name": "EAGER", "value": 4096, "type": "int", "description": "a limit", "reason": None},
        {"name": "ODD", "value": None, "type": "other", "description": "", "reason": "is of a type that is not read"},
    ]
    (folder / "control_variables.json").write_text(json.dumps({"reason": None, "variables": rows}))
    (folder / "performance_variables.json").write_text('{"reason": "MPI_T is not there", "variables": []}')
    results = build_results(run)
    jsonschema.validate(as_json(results), json.loads((data_folder("schema") / "results.schema.json").read_text()))
    (mpi,) = results.run.mpis
    assert mpi.control_variables == [
        LibraryVariable(name="EAGER", value=4096, type="int", description="a limit"),
        LibraryVariable(name="ODD", value=None, type="other", description="", reason="is of a type that is not read"),
    ]
    assert mpi.performance_variables_reason == "MPI_T is not there"
    (folder / "control_variables.json").write_text("{")
    (mpi,) = build_results(run).run.mpis
    assert mpi.control_variables == []
    assert "cannot be read" in mpi.control_variables_reason
