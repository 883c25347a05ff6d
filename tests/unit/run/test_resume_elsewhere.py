# SPDX-License-Identifier: Apache-2.0
"""Resume on another machine, on another node of a job, with other variables, with another build of the engine."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Cell, Launch, Plan, PlannedMpi
from slowpath.mpi.mpi import Mpi
from slowpath.record.folder import RUN_SCHEMA, RunInfo, read_launches, read_run, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run import measure, reopen
from slowpath.run import prepare as libraries
from slowpath.run import reopen as find_again
from slowpath.run.engine.cache import Engine, EngineNote
from slowpath.run.prepare import MpiCommands
from slowpath.run.progress import Quiet
from slowpath.run.reopen import Reopened, Terms, what_is_left
from slowpath.run.schedule import RunLimits

HERE = {"host": "here", "processor": "P", "processors": 4, "processors_allowed": "0-3", "kernel": "6.1"}
OTHER = {**HERE, "host": "there", "processor": "Q"}
Resume = Callable[..., Reopened]


def under_mpich(plan: Plan) -> Plan:
    cells: list[Cell] = [replace(cell, mpi="mpich") for cell in plan.cells]
    launches: list[Launch] = [replace(launch, mpi="mpich") for launch in plan.launches]
    return replace(plan, cells=cells, launches=launches, mpis=[PlannedMpi("mpich", "mpich 1")])


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def resume(
    run_folder: Path,
    make_plan: Callable[..., Plan],
    fake_commands: MpiCommands,
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Resume:
    """Opens a run that began on the machine `began`, on the machine `here`, which has its MPI."""
    mpi = dataclasses.replace(fake_commands.mpi, name="mpich", version="1")

    def call(began: dict[str, Any], here: dict[str, Any], key: str = "key", **terms: Any) -> Reopened:
        def engine_for(mpi: Mpi, environ: Any, tell: Any) -> Engine:
            return Engine(fake_commands.engine, EngineNote(key, mpi.identity, "", "", "", "", ""))

        facts = libraries.Library("mpich", "mpich 1", mpi, engine_for(mpi, {}, None)).facts
        monkeypatch.setattr(find_again, "find_all", lambda environ: [mpi])
        monkeypatch.setattr(reopen, "engine_for", engine_for)
        monkeypatch.setattr(reopen, "machine_facts", lambda environ: dict(here))
        if not (run_folder / "run.json").exists():
            of_run = {**facts, "engine": {"key": "key"}}
            write_run(run_folder, RunInfo(RUN_SCHEMA, "id", "c", "C", "0", "0", mpis=[of_run], machine=began))
            write_plan(run_folder / "plan.json", under_mpich(make_plan(["ok"], 2)))
        return reopen.reopen(run_folder, fake_commands.environ, lines.append, Terms(**terms))

    return call


def number(run: Path, reopened: Reopened) -> int:
    """Of this machine, as the launches that are left will state it."""
    return what_is_left(run, reopened)[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"processor": "Q"}, "another processor:"),
        ({"processors": 8}, "another processors:"),
        ({"processors_allowed": "0-1"}, "another processors allowed:"),
        ({"kernel": "6.2"}, "another kernel:"),
        ({"host": "there"}, "another host:"),
    ],
)
def test_another_machine_is_refused_in_one_line(resume: Resume, change: dict[str, Any], said: str) -> None:
    with pytest.raises(EnvironmentFailure) as caught:
        resume({**HERE, **change}, HERE)
    assert said in str(caught.value)
    assert str(caught.value).endswith("start a new run, or add --trust to slowpath run --resume")
    assert "\n" not in str(caught.value)


def test_with_trust_each_launch_states_its_machine(resume: Resume, lines: list[str], run_folder: Path) -> None:
    reopened = resume(OTHER, HERE, trust=True)
    assert lines == [
        f"differs: processor: Q in {run_folder}, P here",
        f"differs: host: there in {run_folder}, here here",
    ]
    limits = RunLimits(cell_timeout_s=30)
    schedule, machine = what_is_left(run_folder, reopened)
    measure.measure(run_folder, reopened.plan, reopened.commands, limits, Quiet(io.StringIO()), schedule, machine)
    kept = read_run(run_folder)
    assert [info.machine for info in read_launches(run_folder)] == [1, 1]
    assert (kept.machine, kept.machines) == (OTHER, [{**HERE, "engines": {"mpich": "key"}}])


def test_variables_that_steer_mpi_are_named_where_they_differ(
    resume: Resume, lines: list[str], run_folder: Path
) -> None:
    before = {"UCX_TLS": "sm", "FI_PROVIDER": "tcp", "SLURM_JOB_ID": "1", "SLOWPATH_CACHE_DIR": "/c"}
    now = {"UCX_TLS": "tcp", "FI_PROVIDER": "tcp", "SLURM_JOB_ID": "2"}
    number(run_folder, resume({**HERE, "variables": before}, {**HERE, "variables": now}))
    assert lines == ["differs: MPI variables: UCX_TLS"]
    assert read_run(run_folder).notes == ["resumed with other MPI variables: UCX_TLS"]
