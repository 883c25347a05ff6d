# SPDX-License-Identifier: Apache-2.0
"""Runs under several MPIs: engines, launches, what run.json keeps, and going on with them."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Environment, Plan, PlannedMpi
from slowpath.mpi.mpi import Mpi
from slowpath.record.folder import RUN_SCHEMA, RunInfo, launch_folder, read_launches, read_run, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run import prepare as libraries
from slowpath.run import reopen
from slowpath.run import reopen as find_again
from slowpath.run.engine.cache import Engine, EngineNote
from slowpath.run.execute import Execution
from slowpath.run.prepare import ChosenMpis, Libraries, MpiCommands, RunCommands
from slowpath.run.progress import Quiet
from slowpath.run.schedule import RunLimits

MakePlan = Callable[..., Plan]
Build = Callable[..., Libraries]
FAST = RunLimits(cell_timeout_s=1.5)


def mpi_called(name: str, like: Mpi, **more: Any) -> Mpi:
    return dataclasses.replace(like, name=name, version="1", **more)


def engine_of(mpi: Mpi, program: Path, key: str = "key") -> Engine:
    note = EngineNote(f"{key} {mpi.name}", mpi.identity, mpi.abi, "mpicxx", "c++", "source", "now")
    return Engine(program, note)


def two_mpis(plan: Plan) -> Plan:
    """`plan` with every second launch, and its cells, under an MPI called b."""
    owner = {cell: ("a", "b")[number % 2] for number, launch in enumerate(plan.launches) for cell in launch.cells}
    return msgspec.structs.replace(
        plan,
        cells=[msgspec.structs.replace(cell, mpi=owner[cell.cell]) for cell in plan.cells],
        launches=[msgspec.structs.replace(launch, mpi=owner[launch.cells[0]]) for launch in plan.launches],
        mpis=[PlannedMpi("a", "a 1"), PlannedMpi("b", "b 1")],
    )


@pytest.fixture
def pair(fake_commands: MpiCommands, tmp_path: Path) -> RunCommands:
    """Two MPIs: the fake one, and the same under another path, which needs a variable."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "mpiexec").symlink_to(fake_commands.mpi.mpiexec)
    other = dataclasses.replace(fake_commands.mpi, mpiexec=folder / "mpiexec", env={"ROOT_OF_B": "/b"})
    return RunCommands({"a": fake_commands, "b": dataclasses.replace(fake_commands, mpi=other)})


@pytest.fixture
def plan(make_plan: MakePlan) -> Plan:
    """Two rounds of a launch under each MPI; the environments differ, as cells do, but not their variables."""
    return two_mpis(make_plan(["ok", "ok"], 2, [Environment("e"), Environment("f")]))


def test_each_launch_is_started_by_its_mpi(run_folder: Path, plan: Plan, pair: RunCommands) -> None:
    result = Execution(run_folder, plan, pair, FAST, Quiet(io.StringIO())).execute()
    assert (result.status, result.launches_ok, result.cells_ok) == ("complete", 4, 8)
    starts = [(Path(info.argv[0]).parent.name, info.variables) for info in read_launches(run_folder)]
    assert starts == [("fakes", {}), ("other", {"ROOT_OF_B": "/b"})] * 2
    said = [json.loads((launch_folder(run_folder, n) / "launch.json").read_text())["mpi"] for n in (1, 2, 3, 4)]
    assert said == ["a", "b", "a", "b"]


def test_an_environment_is_the_launchs_own(make_plan: MakePlan, pair: RunCommands) -> None:
    plan = make_plan(
        ["ok"], 1, [Environment("e", {"V": "a"}, "s", mpi="a"), Environment("e", {"V": "b"}, "s", mpi="b")]
    )
    launches = [msgspec.structs.replace(plan.launches[0], mpi=name) for name in ("a", "b")]
    made = [pair.command(plan, launch, Path("x")).variables["V"] for launch in launches]
    assert made == ["a", "b"]


def test_an_mpi_that_does_not_start_is_given_up_alone(run_folder: Path, plan: Plan, pair: RunCommands) -> None:
    single = [msgspec.structs.replace(e, name="e") for e in plan.environments[:1]]
    same = msgspec.structs.replace(
        plan,
        environments=single,
        cells=[msgspec.structs.replace(cell, environment="e") for cell in plan.cells],
        launches=[msgspec.structs.replace(launch, environment="e") for launch in plan.launches],
    )
    other = dataclasses.replace(pair.by_mpi["b"], environ={**pair.by_mpi["b"].environ})
    broken = dataclasses.replace(other, mpi=dataclasses.replace(other.mpi, mpiexec=run_folder / "none"))
    commands = RunCommands({"a": pair.by_mpi["a"], "b": broken})
    result = Execution(run_folder, same, commands, FAST, Quiet(io.StringIO())).execute()
    assert result.cells_ok == 4
    assert result.status == "partial"
    assert "no launch starts under b in environment 'e'" in result.notes[0]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Build:
    """build_all where engines of the MPIs called `fails` can't be built; each build is told into `told`."""

    def call(mpis: list[Mpi], fails: set[str], unbuilt: Any, missing: Mapping[str, str], lines: list[str]) -> Libraries:
        def engine_for(mpi: Mpi, environ: Mapping[str, str], tell: Callable[[str], None]) -> Engine:
            tell(mpi.name)
            if mpi.name in fails:
                raise EnvironmentFailure("no mpicxx")
            return engine_of(mpi, Path("engine"))

        monkeypatch.setattr(libraries, "engine_for", engine_for)
        return libraries.build_all(ChosenMpis(tuple(mpis), missing, unbuilt), {}, lines.append)

    return call


def test_engines_are_built_one_after_the_other(build: Build, fake_commands: MpiCommands) -> None:
    mpis = [mpi_called(name, fake_commands.mpi) for name in ("mpich", "openmpi", "mpich")]
    lines: list[str] = []
    made = build(mpis, set(), "fail", {"intelmpi": "not here"}, lines)
    assert lines == ["mpich", "openmpi", "mpich"]
    assert [library.name for library in made.usable] == ["mpich 1", "openmpi", "mpich 1 (2)"]
    assert [library.identity for library in made.usable] == ["mpich 1", "openmpi 1", "mpich 1 (2)"]
    assert [(mpi.name, mpi.unavailable) for mpi in made.planned_for][-1] == ("intelmpi", "not here")


def test_what_becomes_of_an_mpi_without_an_engine(build: Build, fake_commands: MpiCommands) -> None:
    mpis = [mpi_called(name, fake_commands.mpi) for name in ("mpich", "openmpi")]
    with pytest.raises(EnvironmentFailure, match="no mpicxx"):
        build(mpis, {"openmpi"}, "fail", {}, [])
    skipped = build(mpis, {"mpich"}, "skip", {"intelmpi": "not here"}, [])
    assert [library.name for library in skipped.usable] == ["openmpi"]
    assert skipped.missing == {"intelmpi": "not here", "mpich": "no mpicxx"}
    left_out = build(mpis, {"openmpi"}, "leave out", {}, [])
    assert (left_out.missing, len(left_out.notes)) == ({}, 1)
    assert left_out.notes[0].startswith("left out: openmpi 1 at ")
    with pytest.raises(EnvironmentFailure, match="no mpicxx"):
        build(mpis, {"mpich", "openmpi"}, "leave out", {}, [])


@pytest.fixture
def recorded(run_folder: Path, plan: Plan, fake_commands: MpiCommands, monkeypatch: pytest.MonkeyPatch) -> RunInfo:
    """A run of two MPIs that was begun, on a machine whose search finds both."""
    mpis = [mpi_called(name, fake_commands.mpi, mpiexec=Path(f"/{name}/mpiexec")) for name in ("mpich", "openmpi")]
    used = [
        libraries.Library(short, mpi.identity, mpi, engine_of(mpi, Path("e")))
        for short, mpi in zip("ab", mpis, strict=True)
    ]
    facts = [library.facts for library in used]
    info = RunInfo(RUN_SCHEMA, "id", "c", "C", "0", "0.1.0", mpi=libraries.mpi_facts(used[0].mpi), mpis=facts)
    write_run(run_folder, info)
    write_plan(run_folder / "plan.json", plan)
    monkeypatch.setattr(find_again, "find_all", lambda environ: mpis)
    monkeypatch.setattr(reopen, "engine_for", lambda mpi, environ, tell: engine_of(mpi, Path("e")))
    return info


def test_run_json_keeps_the_first_and_all(run_folder: Path, recorded: RunInfo) -> None:
    assert read_run(run_folder).mpi["name"] == "mpich"
    kept = read_run(run_folder)
    assert kept == recorded
    assert [(mpi["short_name"], mpi["name"], mpi["engine"]["key"]) for mpi in kept.mpis] == [
        ("a", "mpich", "key mpich"),
        ("b", "openmpi", "key openmpi"),
    ]


def test_resume_finds_every_mpi_again(run_folder: Path, recorded: RunInfo) -> None:
    reopened = reopen.reopen(run_folder, {}, lambda line: None)
    schedule, _ = reopen.what_is_left(run_folder, reopened)
    assert list(reopened.commands.by_mpi) == ["a", "b"]
    assert len(schedule.launches_left()) == len(reopened.plan.launches)


def test_resume_wants_every_engine_as_it_was(
    run_folder: Path, recorded: RunInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rebuilt(mpi: Mpi, environ: Mapping[str, str], tell: Callable[[str], None]) -> Engine:
        return engine_of(mpi, Path("e"), "new" if mpi.name == "openmpi" else "key")

    monkeypatch.setattr(reopen, "engine_for", rebuilt)
    with pytest.raises(EnvironmentFailure, match="another engine: key openmpi"):
        reopen.reopen(run_folder, {}, lambda line: None)
