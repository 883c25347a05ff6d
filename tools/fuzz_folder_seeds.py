# SPDX-License-Identifier: Apache-2.0
"""Small valid folders that tools/fuzz-folders spoils: made by the makers of the tests, the same ones each time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np

TESTS = Path(__file__).resolve().parents[1] / "tests"
for _name in ("unit/diagnose", "unit/compare", "unit/analyse", ""):
    if str(TESTS / _name) not in sys.path:
        sys.path.insert(0, str(TESTS / _name))

import planted  # noqa: E402
import planted_cannon  # noqa: E402
import planted_put  # noqa: E402
import planted_runs  # noqa: E402

from slowpath.core.plan import Environment, Launch  # noqa: E402
from slowpath.diagnose.records import write_diagnosis  # noqa: E402
from slowpath.record.blocks import Block, write_blocks  # noqa: E402
from slowpath.record.folder import read_run, write_run  # noqa: E402
from slowpath.record.imports.choose import import_files  # noqa: E402
from slowpath.record.plan_files import read_plan, write_plan  # noqa: E402
from slowpath.report.write import rebuild  # noqa: E402
from support import diagnosed  # noqa: E402

ROUNDS = 3  # small folders are many mutations
MACHINE = {
    **planted_runs.MACHINE, "processor_groups": {"core": ["0", "1"], "socket": ["0-1"]}, "load": [0.5, 0.4, 0.3],
    "variables": {"UCX_TLS": "all"}, "allocation": {"scheduler": "slurm", "nodes": 1, "names": ["n1"]},
}  # fmt: skip
MPI = {"short_name": "mpich", "name": "mpich", "version": "5.0.2", "mpiexec": "/opt/mpich/bin/mpiexec", "env": {},
       "engine": {"key": "mpich-5.0.2-0", "compiler": "g++", "path": "/opt/engine"}}  # fmt: skip


@contextlib.contextmanager
def _few_rounds() -> Iterator[None]:
    modules = (planted, planted_cannon, planted_put)
    before = [module.ROUNDS for module in modules]
    for module in modules:
        module.ROUNDS = ROUNDS
    try:
        yield
    finally:
        for module, rounds in zip(modules, before, strict=True):
            module.ROUNDS = rounds


def _p2p(folder: Path) -> None:
    run = planted.make_run(folder)
    write_run(run, msgspec.structs.replace(read_run(run), machine=MACHINE, mpi=MPI, notes=["a note"]))
    (run / "campaign.toml").write_text('[campaign]\nname = "planted"\ntitle = "Planted"\n')
    (run / "launches" / "000001" / "stderr").write_text("one line\nanother\n")
    (run / "launches" / "000001" / "plan.txt").write_text(
        "slowpath-plan 1\nlaunch 1\nseed 1\ncell 1 p2p pattern=ping_pong\n"
    )


def _witnessed(folder: Path) -> None:
    """As _p2p, with a launch that counted calls, and what the library reported there."""
    _p2p(folder)
    plan, number = read_plan(folder / "plan.json"), 100
    twin = msgspec.structs.replace(plan.cells[0], cell=10, environment="counted", label="counted")
    environments = [*plan.environments, Environment("counted", witness=True)]
    launches = [*plan.launches, Launch(number, 0, "counted", "bound", [10], 1)]
    write_plan(folder / "plan.json", msgspec.structs.replace(
        plan, cells=[*plan.cells, twin], environments=environments, launches=launches))  # fmt: skip
    counts = {"process_vm_readv": {"calls": 160, "bytes": 1280, "failed": 0}, "ioctl": {"calls": 80, "bytes": None}}
    said = planted.events([10]).replace('"size": 2', '"size": 2, "witnessed": true')
    for rank in (0, 1):
        one = {"event": "calls", "t_ns": 3, "cell": 10, "rank": rank, "phase": "steady", "operations": 160}
        said += json.dumps({**one, "counts": counts}) + "\n"
    planted.add_launch(folder, number, 0, "counted", planted.ping_pong(np.random.default_rng(3), number, 10, 1e5), said)
    variable = {"name": "EAGER", "value": 4096, "type": "int", "description": "a limit", "reason": None}
    own = folder / "launches" / f"{number:06d}"
    (own / "control_variables.json").write_text(json.dumps({"reason": None, "variables": [variable]}))
    (own / "performance_variables.json").write_text('{"reason": "MPI_T is not there", "variables": []}')
    (own / "ucx-n1-7.log").write_text("+----+----+\n| mpich self cfg#0 | tagged message by ucp_tag_send* |\n")


def _put(folder: Path) -> None:
    planted_put.make_run(folder)


def _cannon(folder: Path) -> None:
    planted_cannon.make_run(folder, planted_cannon.Machine(rounds=ROUNDS))


def _ipc(folder: Path) -> None:
    folder.mkdir(parents=True)
    given = {"allocation_bytes": "1024", "overalloc_bytes": "1", "pad_to_bytes": "0", "live": "1", "keep": "1"}
    lines = [{"event": "launch_begin", "t_ns": 1, "launch": 0, "size": 2, "ranks": [{"rank": 0, "host": "g"}]}]
    blocks = []
    for cell in range(2):
        parameters = {**given, "overalloc_bytes": str(cell)}
        lines.append({"event": "cell_begin", "t_ns": 2, "cell": cell, "experiment": "ipc", "parameters": parameters})
        lines.append({"event": "cell_end", "t_ns": 3, "cell": cell, "status": "ok"})
        for allocation in range(4):
            for step in range(6):
                place = {"allocation": allocation, "seq0": step, "rank": int(step > 0)}
                phase = "first" if step < 4 else "steady"
                blocks.append(Block(cell, 0, phase, [1000 * (step + 1) + allocation], [0], t0_ns=1000, **place))
    lines.append({"event": "launch_end", "t_ns": 9, "cells_ok": 2, "cells_skipped": 0, "cells_failed": 0})
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_blocks(folder / "samples.blk", blocks)


def _imported(folder: Path) -> None:
    """From logs with relative names, so that the record says the same wherever it is made."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    logs = [TESTS / "data" / "field" / name for name in ("overalloc-64KiB.txt", "overalloc-1B.txt")]
    import_files([Path(os.path.relpath(log)) for log in logs], folder)


def _reported(folder: Path) -> None:
    """With all derived files: who reads results.json reads this one."""
    _p2p(folder)
    rebuild(folder)


def _results(folder: Path) -> None:
    """results.json alone, of a run with findings."""
    folder.mkdir(parents=True)
    (folder / "results.json").write_bytes(msgspec.json.encode(diagnosed.results()))


def _history(folder: Path) -> None:
    """Results of eight runs, as of a nightly job."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(5)
    for day in range(1, 9):
        slow = {0: 1.3} if day > 5 else None
        run = planted_runs.run_of(rng, f"run{day}", 2, slow, started=f"2026-01-{day:02d}T00:00:00+00:00")
        (folder / f"run{day}.json").write_bytes(msgspec.json.encode(run.results))


def _diagnosis(folder: Path) -> None:
    folder.mkdir(parents=True)
    diagnosis, _ = diagnosed.diagnosis()
    write_diagnosis(folder, diagnosis)
    _p2p(folder / diagnosis.steps[0].folder)
    planted.make_run(folder / diagnosis.steps[2].folder)


def _logs(folder: Path) -> None:
    """Files for slowpath import."""
    folder.mkdir(parents=True)
    data = TESTS / "unit" / "imports" / "data"
    for path in (*sorted(data.glob("osu-*.txt"))[:4], data / "imb.txt", TESTS / "data" / "field" / "overalloc-1B.txt"):
        (folder / path.name).write_bytes(path.read_bytes()[:3000].rpartition(b"\n")[0] + b"\n")


def _counts(folder: Path) -> None:
    """What slowpath count --json prints."""
    folder.mkdir(parents=True)
    about = {"host": "n0", "pid": 7, "rank": "0", "program": "/opt/app", "function": "MPI_Put", "skip": 0}
    call = {"number": 1, "thread": 7, "stepped": 3, "retired": 3, "reason": None}
    share = {"library": "libmpi.so", "function": "MPI_Put", "stepped": 3, "retired": 3}
    process = {**about, "libraries": ["/lib/libmpi.so"], "troubles": [], "calls_met": 1,
               "calls": [call], "shares": [share]}  # fmt: skip
    (folder / "counts.json").write_text(json.dumps({"schema": 1, "function": "MPI_Put", "processes": [process]}))


def _campaigns(folder: Path) -> None:
    folder.mkdir(parents=True)
    shipped = sorted((TESTS.parent / "campaigns").glob("*.toml"), key=lambda path: path.stat().st_size)
    for path in shipped[:6]:
        (folder / path.name).write_bytes(path.read_bytes())


# Name -> what makes it. The kind of a seed is what its commands take (fuzz_folder_commands.py).
SEEDS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "p2p": ("run", _p2p),
    "witnessed": ("run", _witnessed),
    "put, two MPIs": ("run", _put),
    "cannon": ("run", _cannon),
    "slowpath-ipc": ("run", _ipc),
    "imported": ("run", _imported),
    "reported": ("run", _reported),
    "results alone": ("results", _results),
    "history": ("history", _history),
    "diagnosis": ("diagnosis", _diagnosis),
    "logs": ("logs", _logs),
    "counts": ("counts", _counts),
    "campaigns": ("campaigns", _campaigns),
}


def make_twin(seed: Path, folder: Path) -> Path:
    """What a spoilt copy of `seed` is compared with: as like as another run is, and not the same run."""
    shutil.copytree(seed, folder)
    for path in (*folder.glob("run.json"), *folder.glob("*/run.json")):
        other = msgspec.structs.replace(read_run(path.parent), id="twin", started="2026-02-01T00:00:00+00:00")
        write_run(path.parent, other)
        shutil.rmtree(sorted((path.parent / "launches").iterdir())[-1])
    for path in folder.glob("results.json"):
        document = json.loads(path.read_bytes())
        document["run"] |= {"id": "twin", "started": "2026-02-01T00:00:00+00:00"}
        document["cells"][0]["validated_bytes"] = 8
        path.write_text(json.dumps(document))
    return folder


def make_seeds(base: Path) -> dict[str, Path]:
    """Every seed in a folder of its own below `base`."""
    made = {}
    with _few_rounds():
        for name, (_, make) in SEEDS.items():
            folder = base / name.replace(" ", "-").replace(",", "")
            make(folder)
            made[name] = folder
    return made
