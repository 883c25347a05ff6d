# SPDX-License-Identifier: Apache-2.0
"""Folders that would choose what is run: a planted launcher leaves a mark where it is started, and none may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable
from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.plan import PLAN_SCHEMA, Cell, Environment, Launch, Placement, Plan
from slowpath.diagnose import bench
from slowpath.mpi.mpi import Mpi
from slowpath.record.folder import RUN_SCHEMA, RunInfo, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run import reopen
from slowpath.run.engine.cache import Engine, EngineNote
from slowpath.run.engine.usable import seal
from slowpath.run.find_again import mpi_again, stated
from slowpath.run.prepare import PreparedRun
from slowpath.run.reopen import Terms

VERSION = "9.9.9"  # of no MPI that may be here
Refused = Callable[..., str]


def launcher(folder: Path, marks: Path, version: str = VERSION) -> Path:
    """A program that answers as MPICH's launcher does, and leaves a mark each time it is started."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mpiexec"
    path.write_text(
        f"#!/bin/sh\necho started >> '{marks}'\nprintf 'HYDRA build details:\\n    Version: {version}\\n'\n"
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": f"/usr/bin:{tmp_path / 'path'}", "SLOWPATH_CACHE_DIR": str(tmp_path / "cache")}


def facts(mpiexec: Path, **more: Any) -> dict[str, Any]:
    mpi = {"name": "mpich", "version": VERSION, "launcher": "hydra", "mpiexec": str(mpiexec), "short_name": "mpich"}
    return {**mpi, "engine": {"key": "key", "path": str(mpiexec)}, **more}


@pytest.fixture
def stranger(tmp_path: Path, marks: Path) -> Path:
    """A run folder that names a planted launcher, which is its engine as well, and was cut off before it began."""
    run = tmp_path / "stranger" / "run"
    (run / "launches").mkdir(parents=True)
    write_run(run, RunInfo(RUN_SCHEMA, "id", "c", "C", "0", "0", mpis=[facts(launcher(run.parent / "bin", marks))]))
    write_plan(run / "plan.json", plan())
    return run


def plan(**changes: Any) -> Plan:
    cell = Cell(0, "k", "g", "l", "p2p", {"pattern": "ping_pong"}, "default", "bound", mpi="mpich")
    launch = Launch(1, 1, "default", "bound", [0], 1, mpi="mpich")
    made = Plan(
        PLAN_SCHEMA, "c", "C", 2, 1, 1, 0.03, [Environment("default")], [Placement("bound")], [cell], [], [launch]
    )
    return replace(made, **changes)


@pytest.fixture
def refused(stranger: Path, environ: dict[str, str], marks: Path) -> Refused:
    """The one line with which `resume` refuses the folder; nothing of it was started."""

    def call(kind: type[Exception] = EnvironmentFailure, **terms: Any) -> str:
        with pytest.raises(kind) as caught:
            reopen.reopen(stranger, environ, lambda _: None, Terms(**terms))
        assert not marks.exists()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return call


def test_resume_does_not_start_the_launcher_that_a_folder_names(refused: Refused, stranger: Path) -> None:
    said = refused()
    assert f"was measured with mpich {VERSION} ({stranger.parent / 'bin/mpiexec'})" in said
    assert "name that MPI with --mpi PATH, or use what the folder names with --trust" in said


def test_with_trust_or_by_name_it_is_started(
    stranger: Path, environ: dict[str, str], marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def engine_for(mpi: Mpi, environ: Any, tell: Any) -> Engine:
        return Engine(Path("e"), EngineNote("key", mpi.identity, "", "", "", "", ""))

    monkeypatch.setattr(reopen, "engine_for", engine_for)
    for terms in (Terms(trust=True), Terms(mpi=str(stranger.parent / "bin/mpiexec"))):
        marks.unlink(missing_ok=True)
        found = reopen.reopen(stranger, environ, lambda _: None, terms)
        assert found.commands.by_mpi["mpich"].mpi.mpiexec == stranger.parent / "bin/mpiexec"
        assert found.commands.by_mpi["mpich"].engine == Path("e")  # never the path in run.json
        assert marks.exists()  # so the plant works


def test_the_same_library_of_this_machine_is_taken(
    tmp_path: Path, stranger: Path, environ: dict[str, str], marks: Path
) -> None:
    mine = launcher(tmp_path / "path", tmp_path / "mine")
    was = stated(facts(stranger.parent / "bin/mpiexec"), "run")
    assert mpi_again(was, "run", environ).mpiexec == mine
    assert not marks.exists()


def test_of_two_the_one_at_the_stated_place_is_taken(tmp_path: Path, environ: dict[str, str]) -> None:
    launcher(tmp_path / "path", tmp_path / "mine")
    other = launcher(tmp_path / "other", tmp_path / "mine")
    environ |= {"PATH": f"{environ['PATH']}:{other.parent}"}
    assert mpi_again(stated(facts(other), "run"), "run", environ).mpiexec == other


def test_an_mpi_that_an_engine_was_built_for_here_is_known(
    tmp_path: Path, stranger: Path, environ: dict[str, str], marks: Path
) -> None:
    """Begun with --mpi PATH, resumed without: the cache tells where its wrapper lies, whatever the folder says."""
    mine = launcher(tmp_path / "mine/bin", tmp_path / "started")
    built(tmp_path / "cache/engines/key", "key", mpicxx=str(mine.parent / "mpicxx"))
    assert mpi_again(stated(facts(stranger.parent / "bin/mpiexec"), "run"), "run", environ).mpiexec == mine
    assert not marks.exists()


def built(folder: Path, key: str, **note: str) -> None:
    """What looks like an engine of the cache."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "slowpath-engine").touch(mode=0o755)
    fields = dict.fromkeys(("mpi", "abi", "mpicxx", "compiler", "source", "built"), "")
    seal(folder, EngineNote(**{**fields, "key": key, **note}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "/tmp/evil.so"),
        ("LD_AUDIT", "evil.so"),
        ("UCX_MODULE_DIR", "evil"),
        ("OMPI_MCA_mca_base_env_list", "LD_PRELOAD=x"),
        ("HYDRA_LAUNCHER_EXEC", "evil"),
        ("PYTHONSTARTUP", "evil.py"),
        ("SLOWPATH_CUDA_DRIVER", "evil.so"),
        ("NOBODY_KNOWS_IT", "/tmp/evil"),
    ],
)
def test_variables_that_load_code_are_refused(refused: Refused, stranger: Path, name: str, value: str) -> None:
    write_plan(stranger / "plan.json", plan(environments=[Environment("default", {"UCX_TLS": "^sm", name: value})]))
    assert f"sets {name}={value} (environment 'default')" in refused()
    # A setting stands for this machine's own table, which has no such variable.
    setting = Environment("default", {name: value}, "network_path")
    write_plan(stranger / "plan.json", plan(environments=[setting]))
    assert "then add --trust" in refused()


def test_trusted_variables_are_shown(stranger: Path, environ: dict[str, str]) -> None:
    write_plan(stranger / "plan.json", plan(environments=[Environment("default", {"LD_PRELOAD": "/x.so"})]))
    told: list[str] = []
    with pytest.raises(EnvironmentFailure, match="mpicxx"):
        reopen.reopen(stranger, environ, told.append, Terms(trust=True))
    assert told == ["trusted: LD_PRELOAD=/x.so (environment 'default'): the dynamic linker loads libraries from the "
                    "places in its value, or searches them"]  # fmt: skip


def test_what_the_caller_sets_itself_is_not_the_folder_s_choice(refused: Refused, stranger: Path) -> None:
    write_plan(stranger / "plan.json", plan(environments=[Environment("default", {"LD_PRELOAD": "/x.so"})]))
    assert "sets LD_PRELOAD=/x.so" in refused(own={"LD_PRELOAD": "/own.so"})
    assert "LD_PRELOAD" not in refused(own={"LD_PRELOAD": "/x.so"}), "it goes on to look for the MPI"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"placements": [Placement("bound", hosts=["-oProxyCommand=evil", "n1"])]}, "is no name of a node"),
        ({"environments": [Environment("default", unset=["A=B"])]}, "is no name of a variable"),
        ({"environments": [Environment("default", {"A": "1\nB"})]}, "line break"),
        ({"cells": [replace(plan().cells[0], parameters={"a": "1\ncell 2 p2p"})]}, "holds a blank"),
    ],
)
def test_plans_that_no_campaign_makes_are_refused(
    refused: Refused, stranger: Path, changes: dict[str, Any], said: str
) -> None:
    write_plan(stranger / "plan.json", plan(**changes))
    assert said in refused(RecordError, trust=True)


def test_ranks_go_to_no_node_outside_of_the_job(refused: Refused, stranger: Path) -> None:
    write_plan(stranger / "plan.json", plan(placements=[Placement("bound", nodes=2, ranks_per_node=1, hosts=["n1"])]))
    assert "puts ranks on n1, which is not a node of this job" in refused(trust=True)


def test_a_launch_of_an_mpi_that_run_json_does_not_state(stranger: Path, environ: dict[str, str], marks: Path) -> None:
    mpis = [facts(stranger.parent / "bin/mpiexec", short_name="other")]
    write_run(stranger, RunInfo(RUN_SCHEMA, "id", "c", "C", "0", "0", mpis=mpis))
    with pytest.raises(RecordError, match="does not state the MPI 'mpich' of launch 1"):
        reopen.reopen(stranger, environ, lambda _: None, Terms(trust=True))
    assert not marks.exists()


def test_a_step_of_a_diagnosis_that_would_load_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a resumed diagnosis proposes follows from its folder: from findings, and from variables of earlier steps."""
    made = plan(environments=[Environment("default", {"UCX_MODULE_DIR": "evil"})])
    run = PreparedRun(made, b"", (), cast(Any, None))
    monkeypatch.setattr(bench, "prepare_campaign", lambda *_: run)
    fields = {one.name: cast(Any, None) for one in dataclasses.fields(bench.Bench) if one.name != "trust"}
    trial = Campaign("trial", "Trial", [2], 5, [CellsTable("cell", "p2p")])
    with pytest.raises(UsageError, match="sets UCX_MODULE_DIR=evil"):
        bench.Bench(**fields).prepare(trial, "trial")
    assert bench.Bench(**fields, trust=True).prepare(trial, "trial").plan == made
