# SPDX-License-Identifier: Apache-2.0
"""Valid documents of a run folder, small, as inputs for tools/fuzz."""

from __future__ import annotations

import json
from pathlib import Path

from slowpath.core.files import json_bytes
from slowpath.record.folder import LaunchInfo, RunInfo, write_launch, write_run
from slowpath.record.owner import Owner

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"


def launches(folder: Path) -> list[bytes]:
    """launch.json."""
    (folder / "launches" / "000001").mkdir(parents=True, exist_ok=True)
    write_launch(folder, LaunchInfo(1, 1, "default", "bound", ["mpiexec"], {"A": "1"}, wall_s=1.5, return_code=0))
    return [(folder / "launches" / "000001" / "launch.json").read_bytes()]


def runs(folder: Path) -> list[bytes]:
    """run.json."""
    machine = {
        "host": "n1",
        "processors": 2,
        "load": [0.5],
        "variables": {"A": "b"},
        "processor_groups": {"core": ["0"]},
    }
    mpi = {"short_name": "mpich", "version": "5", "env": {"A": "b"}, "engine": {"key": "k", "path": "/e"}}
    write_run(folder, RunInfo(1, "id", "c", "t", "0", "0.1.0", wall_s=1.5, machine=machine, mpi=mpi, mpis=[mpi]))
    return [(folder / "run.json").read_bytes()]


def results(folder: Path) -> list[bytes]:
    """results.json of a small run, without what only makes it long."""
    document = json.loads((DATA / "compare" / "results.json").read_bytes())
    for name in ("cells", "contrasts", "findings", "skipped"):
        document[name] = document[name][:1]
    document["contrasts"] = [one for one in document["contrasts"] if one["a"]["cell"] == one["b"]["cell"] == 0]
    return [json.dumps(document).encode()]


def diagnoses(folder: Path) -> list[bytes]:
    """diagnosis.json."""
    step = {"number": 1, "folder": "01-survey", "why": "w", "estimate_s": 1.5, "task": {"kind": "survey", "only": []}}
    limit = {"finding": "f", "covariate": "message_bytes", "above": 8, "up_to": 16, "metric": "m", "phase": "steady"}
    other = {"number": 2, "folder": "02-refine", "why": "w", "estimate_s": 1, "task": {"kind": "refine", **limit}}
    head = {"schema": 2, "slowpath": "0", "command": ["slowpath"], "started": "now", "budget_s": 60.0, "mpi": "mpich"}
    return [json.dumps({**head, "steps": [step, other], "spent_s": 2, "next": ["more"]}).encode()]


def variables(folder: Path) -> list[bytes]:
    """control_variables.json."""
    value = {"name": "EAGER", "value": 4096, "type": "int", "description": "a limit", "reason": None}
    many = {"name": "LIST", "value": [1, 2.5], "type": "int", "class": "counter"}
    return [json.dumps({"reason": None, "variables": [value, many]}).encode()]


def counts(folder: Path) -> list[bytes]:
    """What `slowpath count --json` prints."""
    call = {"number": 1, "thread": 7, "stepped": 3, "retired": 3, "reason": None}
    share = {"library": "m.so", "function": "f", "stepped": 3, "retired": 3}
    process = {
        "host": "n", "pid": 7, "rank": "0", "program": "/a", "function": "MPI_Put", "skip": 0,
        "libraries": ["m.so"], "troubles": [{"library": None, "reason": "r"}], "calls_met": 1, "calls": [call],
        "shares": [share],
    }  # fmt: skip
    return [json.dumps({"schema": 1, "function": "MPI_Put", "processes": [process]}).encode()]


def events(folder: Path) -> list[bytes]:
    """events.jsonl."""
    nodes = [{"host": "a", "ranks": "0-1", "pid": [4, 5], "cpus_allowed": ["0", "1"], "clock": {"max_gap_ns": [7, 9]}}]
    lines = [
        {"event": "launch_begin", "t_ns": 1, "launch": 1, "size": 2, "ranks": [{"rank": 0, "host": "a"}]},
        {"event": "launch_begin", "t_ns": 1, "launch": 1, "size": 2, "nodes": nodes},
        {"event": "cell_begin", "t_ns": 2, "cell": 3},
        {"event": "allocation", "t_ns": 3, "cell": 3, "rank": 0, "index": 0, "memory": "host", "base": 4096},
        {"event": "note", "t_ns": 4, "text": "clock source \u00e9", "blas": {"name": "x"}},
        {"event": "cell_end", "t_ns": 5, "cell": 3, "status": "ok", "steady_samples": 40},
        {"event": "launch_end", "t_ns": 6, "cells_ok": 1, "cells_skipped": 0, "cells_failed": 0},
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in lines)]


def printed(folder: Path) -> list[bytes]:
    """printed.json of an import."""
    row = {"cell": 0, "line": 3, "message_bytes": 8, "operation_s": 1e-6, "repetitions": None, "columns": {"us": 1.0}}
    table = {"program": "OSU", "benchmark": "osu_latency", "variant": "", "ranks": 2, "missing": {"x": "y"}}
    return [json.dumps({"schema": 1, "tables": [{**table, "rows": [row]}]}).encode()]


def owners(folder: Path) -> list[bytes]:
    """owner/000001.json."""
    made = Owner(host="n", boot=None, pid_namespace=1, pid=7, process_start=8, token="t", since="now", command="c")
    return [json_bytes(made)]
