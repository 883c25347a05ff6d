# SPDX-License-Identifier: Apache-2.0
"""Job scripts, as text; Slurm runs one in tests/slurm."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from slowpath.cli.run import run_command
from slowpath.cli.script import ScriptRequest, job_script
from slowpath.mpi.batch_systems import SCRIPTED, script_for
from slowpath.plan.campaign import Campaign, decode, load

PLACES = """
[campaign]
name = "places"
title = "Places"
ranks = 4

[[placement]]
name = "sockets"
spread = "socket"

[[placement]]
name = "nodes"
nodes = 2

[[cells]]
name = "c"
experiment = "p2p"
"""


def asked(**more: object) -> ScriptRequest:
    return ScriptRequest(**{"campaign": "checkup", "slowpath": ["/opt/my tools/slowpath"], "minutes": 90, **more})  # type: ignore[arg-type]


@pytest.fixture
def places() -> Campaign:
    return decode(PLACES.encode(), "places.toml")


@pytest.mark.parametrize("name", SCRIPTED)
def test_bash_takes_every_script(name: str) -> None:
    scheduler = script_for(name)
    text = job_script(load("checkup"), scheduler, asked(options=["--mpi", "a b"], modules=["gcc/12", "x y"]))
    assert text.startswith("#!/bin/bash\n")
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
    assert "'/opt/my tools/slowpath' run" in text
    assert "--mpi 'a b'" in text
    assert "module load gcc/12 'x y'" in text
    directives = [line for line in text.splitlines() if line.startswith(("#SBATCH", "#PBS", "#BSUB", "#flux"))]
    assert len(directives) == len(scheduler.directives)
    assert not any("{" in line for line in directives if name != "flux")


@pytest.mark.parametrize("name", SCRIPTED)
def test_no_script_and_no_table_submits(name: str) -> None:
    scheduler = script_for(name)
    body = job_script(load("checkup"), scheduler, asked()).split("set -euo pipefail")[1]
    lines = [line for line in body.replace("flux getattr", "").splitlines() if not line.startswith("#")]
    assert not any(scheduler.submit.split()[0] in line for line in lines)


def test_the_most_ranks_of_any_placement_fit_on_a_node(places: Campaign) -> None:
    text = job_script(places, script_for("slurm"), asked())
    assert "#SBATCH --nodes=2\n" in text
    assert "#SBATCH --ntasks-per-node=4\n" in text
    assert "#SBATCH --time=01:30:00\n" in text


def test_command_line() -> None:
    result = CliRunner().invoke(run_command, ["checkup", "--script", "slurm", "--budget", "5m"], standalone_mode=False)
    assert result.exception is None
    assert "--budget 300s" in result.output
    assert CliRunner().invoke(run_command, ["checkup", "--script", "slurm", "--budget", "x"]).exit_code == 2


def test_run_takes_every_scripted_system() -> None:
    (option,) = (option for option in run_command.params if option.name == "script")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == SCRIPTED


@pytest.mark.parametrize(("is_built", "minutes"), [(True, 4), (False, 9)])
def test_a_build_counts_where_the_job_has_no_engine(
    monkeypatch: pytest.MonkeyPatch, is_built: bool, minutes: int
) -> None:
    caches: list[str] = []

    def prepared(_: str, environ: dict[str, str], *_more: object, **_named: object) -> SimpleNamespace:
        caches.append(environ["SLOWPATH_CACHE_DIR"])
        cost = SimpleNamespace(wall_s=90.0, launches=3)
        return SimpleNamespace(libraries=[SimpleNamespace(is_built=is_built)], cost=cost)

    monkeypatch.setattr("slowpath.cli.script.prepare", prepared)
    monkeypatch.delenv("SLOWPATH_CACHE_DIR", raising=False)
    printed = CliRunner().invoke(run_command, ["checkup", "--script", "slurm"], standalone_mode=False).output
    assert f"#SBATCH --time=00:{minutes:02}:00" in printed
    assert ("build the engine" in printed) == (not is_built)
    assert caches == [".slowpath-cache"]
