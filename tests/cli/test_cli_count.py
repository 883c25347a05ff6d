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
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")

Slowpath = Callable[..., subprocess.CompletedProcess[str]]
SOURCE = Path(__file__).parents[2] / "engine" / "studies" / "counting" / "tests" / "put.c"
PUTS, WARM_UP = 16, 20


@pytest.fixture
def environ(mpi: Mpi) -> dict[str, str]:
    made = mpi.environ(os.environ)
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


OPTIONS = ["--call", "MPI_Put", "--calls", str(PUTS), "--skip", str(WARM_UP), "--json"]
COUNT = [sys.executable, "-m", "slowpath.cli", "count", *OPTIONS, "--"]


def outer(mpi: Mpi, put: Path) -> list[str]:
    return [*COUNT, str(mpi.mpiexec), "-n", "2", str(put), str(PUTS), str(WARM_UP)]


def inner(mpi: Mpi, put: Path) -> list[str]:
    return [str(mpi.mpiexec), "-n", "2", *COUNT, str(put), str(PUTS), str(WARM_UP)]


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


def test_before_and_after_the_launcher(mpi: Mpi, put: Path, environ: dict[str, str]) -> None:
    expected, other = counted(outer(mpi, put), environ), counted(inner(mpi, put), environ)
    assert len(other["calls"]) == PUTS
    own, others = (
        {share["function"]: share["stepped"] for share in made["shares"] if "libmpi" in share["library"]}
        for made in (expected, other)
    )
    assert own == others


def test_any_program_and_any_function(slowpath: Slowpath) -> None:
    done = slowpath("count", "--call", "getpid", "--", "/bin/sh", "-c", "echo from the program")
    assert done.returncode in (0, 4)
    assert "from the program" in done.stdout
    done = slowpath("count", "--call", "malloc", "--calls", "3", "--", "/bin/ls", "/")
    assert done.returncode == 0
    assert "malloc in " in done.stdout
    assert "3 calls counted" in done.stdout


def test_a_rise_above_the_threshold_has_its_exit_code(slowpath: Slowpath, tmp_path: Path) -> None:
    words = ["count", "--call", "malloc", "--calls", "3"]
    first = slowpath(*words, "--json", "--", "/bin/ls", "/")
    assert first.returncode == 0, first.stderr
    (tmp_path / "old.json").write_text(first.stdout)
    again = slowpath(*words, "--compare", str(tmp_path / "old.json"), "--", "/bin/ls", "/")
    assert again.returncode == 0, again.stderr
    assert "NOT MORE: malloc executes at most 1 % more instructions" in again.stdout
    document = json.loads(first.stdout)
    for call in document["processes"][0]["calls"]:
        call["stepped"] -= 1
    (tmp_path / "less.json").write_text(json.dumps(document))
    words += ["--compare", str(tmp_path / "less.json"), "--threshold", "0.1%", "--json"]
    more = slowpath(*words, "--", "/bin/ls", "/")
    assert more.returncode == 1, more.stderr
    assert json.loads(more.stdout.splitlines()[-1])["comparison"]["outcome"] == "more"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--call", "MPI_Put", "--", "no-such-program"], 2, "no such program"),
        (["--", "/bin/true"], 2, "--call"),
        (["--call", "MPI_Put"], 2, "COMMAND"),
        (["--call", "MPI_Put", "--calls", "0", "--", "/bin/true"], 2, "--calls"),
        (["--call", "MPI_Put", "--compare", "/nonexistent", "--", "/bin/true"], 4, "is missing"),
        (["--call", "MPI_Put", "--", "/bin/true"], 4, "no process here has a function"),
        (["--call", "MPI_Put", "--", "/bin/false"], 4, "exit code 1"),
        (["--call", "memcpy", "--", "/bin/ls"], 4, "counted (reasons above)"),
    ],
)
def test_errors_are_one_line(slowpath: Slowpath, arguments: list[str], code: int, text: str) -> None:
    done = slowpath("count", *arguments)
    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("slowpath: error:")]
    assert len(errors) == 1
    assert text in errors[0]
    assert "Traceback" not in done.stderr
