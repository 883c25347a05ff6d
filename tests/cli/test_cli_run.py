# SPDX-License-Identifier: Apache-2.0
"""Whole runs under a real MPI."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.place import gpu_driver_is_there
from slowpath.mpi.settings import resolve
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

# The same that the fixture `mpi` goes through (tests/conftest.py).
MPI_OPTIONS = [option for option in os.environ.get("SLOWPATH_TEST_MPIS", "").split(":") if option]

Slowpath = Callable[..., subprocess.CompletedProcess[str]]
CAMPAIGN = """
[campaign]
name = "small"
title = "A small one"
ranks = 2
rounds = 2
[[environment]]
name = "default"
[[environment]]
name = "no single copy"
setting = "single_copy_off"
[[placement]]
name = "bound"
[[cells]]
name = "latency"
experiment = "p2p"
environment = "*"
[cells.parameters]
message_bytes = ["8", "1MiB"]
samples = "20"
time_limit_s = "0.02"
[[contrast]]
name = "single copy"
question = "Does it matter?"
cells = "latency"
axis = "environment"
a = "default"
b = "no single copy"
metric = "half_round_trip_latency_s"
"""
# Of the variables that steer MPI: their names are recorded, their values are not, though launchers print them.
SECRETS = {
    "SLURM_JWT": "eyJhbGciOiJIUzI1NiJ9.e30.k3Yw0Jt7xQ",
    "OMPI_MCA_secret_key": "s3cr3t-of-a-job",
    "FI_AUTH": "m-77-credential",
}
VERBOSE = {"HYDRA_DEBUG": "1", "I_MPI_HYDRA_DEBUG": "1"}


@pytest.fixture
def env(mpi: Mpi, engine: Engine) -> dict[str, str]:
    """The MPI under test, and the cache in which its engine lies."""
    return {"SLOWPATH_MPI": str(mpi.mpiexec), "SLOWPATH_CACHE_DIR": str(engine.program.parents[2])}


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign of seconds."""
    path = tmp_path / "small.toml"
    path.write_text(CAMPAIGN)
    return path


def test_run_report_and_results(slowpath: Slowpath, env: dict[str, str], campaign: Path, tmp_path: Path) -> None:
    done = slowpath("run", str(campaign), "--out", "r", "--seed", "7", env={**SECRETS, **VERBOSE, **env})
    assert done.returncode == 0, done.stderr
    content = b"\0".join(path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert [name for name, value in SECRETS.items() if value.encode() in content] == []
    assert [name for name in SECRETS if name.encode() in content] == list(SECRETS)
    assert "launches of 2 ranks, about" in done.stderr
    assert done.stdout.strip()
    results = json.loads((tmp_path / "r" / "results.json").read_text())
    default = [cell for cell in results["cells"] if cell["environment"] == "default"]
    assert len(default) == 2
    for cell in default:
        assert cell["status"] == "ok", cell["reason"]
        assert cell["metrics"]["half_round_trip_latency_s"]["phases"]["steady"]["launches"] == 2
        assert cell["wrong_bytes"] == 0
    assert json.loads((tmp_path / "r" / "run.json").read_text())["status"] == "complete"

    printed = slowpath("report", "r", "--format", "json")
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout)["run"]["seed"] == 7
    for name in ("report.html", "report.txt", "cells.csv", "contrasts.csv"):
        assert (tmp_path / "r" / name).stat().st_size > 0

    again = slowpath("run", str(campaign), "--out", "r", env=env)
    assert again.returncode == 4
    assert "is taken" in again.stderr


def test_dry_run_starts_nothing(
    slowpath: Slowpath, env: dict[str, str], mpi: Mpi, engine: Engine, campaign: Path, tmp_path: Path
) -> None:
    done = slowpath("run", str(campaign), "--out", "r", "--dry-run", env=env)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "r").exists()
    _, cannot_switch = resolve("single_copy_off", mpi.name, mpi.version, mpi.transport)
    launches = 2 if cannot_switch else 4
    lines = [shlex.split(line) for line in done.stdout.splitlines()]
    assert [line[line.index("--plan") + 1] for line in lines] == [
        f"r/launches/{number:06d}/plan.txt" for number in range(1, launches + 1)
    ]
    assert all(str(mpi.mpiexec) in line and str(engine.program) in line for line in lines)
    assert "node-seconds" in done.stderr
    assert f"campaign file: {campaign}" in done.stderr
    assert "latency: 4 cells of p2p: " in done.stderr
    assert "message_bytes 8, 1048576" in done.stderr


@pytest.mark.skipif(gpu_driver_is_there({}), reason="there is a GPU driver here")
def test_without_a_gpu_nothing_is_built_for_cells_of_its_memory(
    slowpath: Slowpath, env: dict[str, str], tmp_path: Path
) -> None:
    done = slowpath("run", "overalloc", env={**env, "SLOWPATH_CACHE_DIR": str(tmp_path / "cache")})
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.strip().endswith("every cell needs GPU memory; run it on a node with a GPU")
    assert not list(tmp_path.rglob("slowpath-engine"))


def test_more_ranks_than_cores_are_warned_of_with_what_lets_them_yield(
    slowpath: Slowpath, env: dict[str, str], mpi: Mpi, campaign: Path
) -> None:
    done = slowpath("run", str(campaign), "--ranks", "100", "--dry-run", env=env)
    assert done.returncode == 0, done.stderr
    assert "warning: oversubscribed: 100 ranks share " in done.stderr
    variables, _ = resolve("yield_when_idle", mpi.name, mpi.version, mpi.transport)
    assert "in front of this command lets ranks of" in done.stderr
    assert all(f"{name}={value}" in done.stderr for name, value in variables.items())


@pytest.fixture
def other(mpi: Mpi) -> Mpi:
    """Another of the MPIs to test with."""
    every = [find_mpi(option) for option in MPI_OPTIONS]
    return next(mpi_there for mpi_there in every if mpi_there.mpiexec != mpi.mpiexec)


@pytest.mark.needs("other MPIs")
def test_two_mpis_in_one_run(
    slowpath: Slowpath, env: dict[str, str], mpi: Mpi, other: Mpi, campaign: Path, tmp_path: Path
) -> None:
    both = f"{mpi.mpiexec},{other.mpiexec}"
    lines = slowpath("run", str(campaign), "--mpi", both, "--dry-run", env=env).stdout.splitlines()
    assert all(any(str(each.mpiexec) in line for line in lines) for each in (mpi, other))

    done = slowpath("run", str(campaign), "--mpi", both, "--out", "r", env=env)
    assert done.returncode == 0, done.stderr
    for each in (mpi, other):
        assert f"MPI: {each.identity} (option) {each.mpiexec}" in done.stderr
    info = json.loads((tmp_path / "r" / "run.json").read_text())
    assert info["mpi"]["name"] == mpi.name
    assert [row["name"] for row in info["mpis"]] == [mpi.name, other.name]
    plan = json.loads((tmp_path / "r" / "plan.json").read_text())
    results = json.loads((tmp_path / "r" / "results.json").read_text())
    measured = {cell["cell"]: cell["status"] for cell in results["cells"] if cell["environment"] == "default"}
    assert {cell["mpi"] for cell in plan["cells"] if measured.get(cell["cell"]) == "ok"} == {mpi.name, other.name}
    between = [contrast for contrast in plan["contrasts"] if contrast["axis"] == "mpi"]
    assert between, "they are compared without being asked for"
    assert {plan["cells"][contrast["a"]["cell"]]["mpi"] for contrast in between} == {plan["mpis"][0]["name"]}
    starts = {json.loads(path.read_text())["argv"][0] for path in (tmp_path / "r/launches").glob("*/launch.json")}
    assert starts == {str(mpi.mpiexec), str(other.mpiexec)}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_is_readable_and_resumes(
    slowpath: Slowpath, env: dict[str, str], campaign: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "slowpath.cli", "run", str(campaign), "--out", "r", "--rounds", "40"],
        cwd=tmp_path,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The second launch that begins: one that Open MPI's daemon refuses to start leaves no events and is made up for.
    while process.poll() is None and len(list(tmp_path.glob("r/launches/*/events.jsonl"))) < 2:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=WATCHDOG_S)
    assert out == ""
    if number == signal.SIGINT:
        assert process.returncode == 130, err
        assert "slowpath run --resume r" in err
        assert json.loads((tmp_path / "r/run.json").read_text())["status"] == "interrupted"
    assert slowpath("report", "r", env=env).returncode == 0
    first = min(path.parent for path in tmp_path.glob("r/launches/*/events.jsonl"))
    kept = {path.name: path.read_bytes() for path in first.iterdir()}

    limited = slowpath("run", "--resume", "r", "--budget", "1s", env=env)
    assert limited.returncode == 0, limited.stderr
    assert json.loads((tmp_path / "r/run.json").read_text())["status"] == "partial"
    assert {path.name: path.read_bytes() for path in first.iterdir()} == kept


def test_mpi_build_prints_the_engine_that_mpi_list_shows(
    slowpath: Slowpath, env: dict[str, str], engine: Engine
) -> None:
    assert slowpath("mpi", "build", env=env).stdout.strip() == str(engine.program)
    assert str(engine.program) in slowpath("mpi", "list", env=env).stdout
