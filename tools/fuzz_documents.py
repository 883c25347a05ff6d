# SPDX-License-Identifier: Apache-2.0
"""Valid documents of a run folder, small, as inputs for tools/fuzz."""

from __future__ import annotations

import json
from pathlib import Path

from slowpath.record.folder import LaunchInfo, RunInfo, write_launch, write_run

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


def results() -> list[bytes]:
    """results.json of a small run, without what only makes it long."""
    document = json.loads((DATA / "compare" / "results-of-0.1.0.json").read_bytes())
    for name in ("cells", "contrasts", "findings", "skipped"):
        document[name] = document[name][:1]
    document["contrasts"] = [one for one in document["contrasts"] if one["a"]["cell"] == one["b"]["cell"] == 0]
    return [json.dumps(document).encode()]


def diagnoses() -> list[bytes]:
    """diagnosis.json."""
    step = {"number": 1, "folder": "01-survey", "why": "w", "estimate_s": 1.5, "task": {"kind": "survey", "only": []}}
    limit = {"finding": "f", "covariate": "message_bytes", "above": 8, "up_to": 16, "metric": "m", "phase": "steady"}
    other = {"number": 2, "folder": "02-refine", "why": "w", "estimate_s": 1, "task": {"kind": "refine", **limit}}
    head = {"schema": 2, "slowpath": "0", "command": ["slowpath"], "started": "now", "budget_s": 60.0, "mpi": "mpich"}
    return [json.dumps({**head, "steps": [step, other], "spent_s": 2, "next": ["more"]}).encode()]


def variables() -> list[bytes]:
    """control_variables.json."""
    value = {"name": "EAGER", "value": 4096, "type": "int", "description": "a limit", "reason": None}
    many = {"name": "LIST", "value": [1, 2.5], "type": "int", "class": "counter"}
    return [json.dumps({"reason": None, "variables": [value, many]}).encode()]


def counts() -> list[bytes]:
    """What the counting library writes, one line an event."""
    about = {"host": "n", "pid": 7, "rank": "0", "program": "/a", "function": "f", "skip": 0, "method": "trap flag"}
    call = {
        "event": "call",
        "call": 1,
        "thread": 7,
        "stepped": 3,
        "retired": 3,
        "reason": None,
        "at": [[4198400, 3, 3]],
    }
    lines = [
        {"event": "process", "version": 1, "calls": 1, **about},
        {"event": "mappings", "lines": ["00401000-00402000 r-xp 00000000 08:01 12 /lib/m.so"]},
        {**call, "at": [[4198400, 3, 3]]},
        {"event": "end", "calls": 1},
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in lines)]
