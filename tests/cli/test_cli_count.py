# SPDX-License-Identifier: Apache-2.0
"""slowpath count, on real MPI programs and on none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

Slowpath = Callable[..., subprocess.CompletedProcess[str]]
SOURCE = Path(__file__).parents[2] / "engine" / "studies" / "counting" / "tests" / "put.c"
PUTS, WARM_UP = 16, 20


@pytest.fixture
def environ(mpi: Mpi, engine: Engine) -> dict[str, str]:
    made = {**mpi.environ(os.environ), "SLOWPATH_COUNT_TOOLS": str(engine.program.parent)}
    return {**made, "PATH": f"{mpi.prefix / 'bin'}:{made.get('PATH', '')}", "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def put(mpi: Mpi, environ: dict[str, str], tmp_path: Path) -> Path:
    program = tmp_path / "put"
    words = [str(mpi.prefix / "bin" / "mpicc"), "-O2", "-o", str(program), str(SOURCE)]
    subprocess.run([*words, f"-Wl,-rpath,{mpi.prefix / 'lib'}"], env=environ, check=True, timeout=WATCHDOG_S)
    return program


def counted(words: list[str], environ: dict[str, str]) -> dict[str, Any]:
    """What `slowpath count --json` says of rank 0."""
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    documents = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    processes = [process for document in documents for process in document["processes"]]
    assert sorted(process["rank"] for process in processes) == ["0", "1"]
    rank_0: dict[str, Any] = min(processes, key=lambda process: process["rank"])
    return rank_0


def wish(method: str) -> list[str]:
    options = ["--call", "MPI_Put", "--calls", str(PUTS), "--skip", str(WARM_UP), "--method", method, "--json"]
    return [sys.executable, "-m", "slowpath.cli", "count", *options, "--"]


def outer(mpi: Mpi, put: Path, method: str = "trap") -> list[str]:
    return [*wish(method), str(mpi.mpiexec), "-n", "2", str(put), str(PUTS), str(WARM_UP)]


def inner(mpi: Mpi, put: Path, method: str = "trap") -> list[str]:
    return [str(mpi.mpiexec), "-n", "2", *wish(method), str(put), str(PUTS), str(WARM_UP)]


def test_three_runs_give_the_same(mpi: Mpi, put: Path, environ: dict[str, str]) -> None:
    runs = [counted(outer(mpi, put), environ) for _ in range(3)]
    numbers = [[call["stepped"] for call in run["calls"]] for run in runs]
    assert [len(run) for run in numbers] == [PUTS] * 3
    if mpi.name != "mpich":  # MPICH allocates for each put, so that its count depends on the heap
        assert numbers[0] == numbers[1] == numbers[2]
    assert all(min(run) > 50 for run in numbers)
    assert runs[0]["calls_met"] == PUTS + WARM_UP
    assert runs[0]["shares"][0]["library"].startswith("libmpi")
    total = sum(share["stepped"] for share in runs[0]["shares"])
    assert total == sum(numbers[0])


def test_before_and_after_the_launcher_and_from_outside(mpi: Mpi, put: Path, environ: dict[str, str]) -> None:
    expected = counted(outer(mpi, put), environ)
    others = [counted(inner(mpi, put), environ), counted(outer(mpi, put, "ptrace"), environ)]
    others.append(counted(inner(mpi, put, "ptrace"), environ))
    for other in others:
        assert len(other["calls"]) == PUTS
        own = {share["function"]: share["stepped"] for share in other["shares"] if "libmpi" in share["library"]}
        assert own == {
            share["function"]: share["stepped"] for share in expected["shares"] if "libmpi" in share["library"]
        }
    assert others[1]["method"] == "ptrace"


def test_any_program_and_any_function(slowpath: Slowpath, engine: Engine) -> None:
    tools = {"SLOWPATH_COUNT_TOOLS": str(engine.program.parent)}
    done = slowpath("count", "--call", "getpid", "--", "/bin/sh", "-c", "echo from the program", env=tools)
    assert done.returncode in (0, 4)
    assert "from the program" in done.stdout
    done = slowpath("count", "--call", "malloc", "--calls", "3", "--", "/bin/ls", "/", env=tools)
    assert done.returncode == 0
    assert "malloc in " in done.stdout
    assert "3 calls counted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--call", "MPI_Put", "--", "no-such-program"], 2, "no such program"),
        (["--", "/bin/true"], 2, "--call"),
        (["--call", "MPI_Put"], 2, "COMMAND"),
        (["--call", "MPI_Put", "--calls", "0", "--", "/bin/true"], 2, "--calls"),
        (["--call", "MPI_Put", "--", "/bin/true"], 4, "no process that was started here"),
        (["--call", "MPI_Put", "--method", "ptrace", "--", "/bin/true"], 4, "no process that was started here"),
        (["--call", "MPI_Put", "--", "/bin/false"], 4, "exit code 1"),
        (["--call", "memcpy", "--", "/bin/ls"], 4, "could be counted"),
    ],
)
def test_errors_are_one_line(slowpath: Slowpath, engine: Engine, arguments: list[str], code: int, text: str) -> None:
    done = slowpath("count", *arguments, env={"SLOWPATH_COUNT_TOOLS": str(engine.program.parent)})
    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("slowpath: error:")]
    assert len(errors) == 1
    assert text in errors[0]
    assert "Traceback" not in done.stderr
