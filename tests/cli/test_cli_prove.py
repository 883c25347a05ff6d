# SPDX-License-Identifier: Apache-2.0
"""slowpath prove on a real MPI program whose speed depends on a variable, and on one that hangs or fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowpath.cli.main import exit_code
from slowpath.mpi.find import find_mpi
from slowpath.watch.folder import WatchInfo, read_watch, write_watch
from slowpath.watch.start.environment import remember
from watchdog import WATCHDOG_S

Slowpath = Callable[..., subprocess.CompletedProcess[str]]
# Rank 1 makes rank 0 wait, unless FAST is set.
SOURCE = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
    int rank, value = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && getenv("FAST") == NULL) sleep(1);
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) printf("result 42\\ntime %d\\n", (int)getpid());
    MPI_Finalize();
}
"""


def watch_of(folder: Path, *command: str) -> Path:
    """A watch of a command, without any record."""
    watch = folder / "watch"
    watch.mkdir()
    info = WatchInfo(
        slowpath="1",
        command=command,
        started="2026-01-31T12:00:00+00:00",
        working_folder=str(folder),
        host="here",
        library="/lib/libslowpath-watch.so",
        wall_s=0.3,
        exit_code=0,
    )
    write_watch(watch, info)
    return watch


def proofs(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(done.stdout)
    return document


@pytest.mark.needs("minutes")
def test_a_variable_that_makes_a_program_faster_is_proven_and_one_that_does_not_is_not(
    slowpath: Slowpath, tmp_path: Path
) -> None:
    mpi = find_mpi("embedded")
    environ = mpi.environ(os.environ)
    (tmp_path / "app.c").write_text(SOURCE)
    wrapper = mpi.prefix / "bin" / "mpicc"
    subprocess.run(
        [wrapper, "-o", "app", "app.c", f"-Wl,-rpath,{mpi.prefix / 'lib'}"],
        cwd=tmp_path,
        env=environ,
        check=True,
        timeout=WATCHDOG_S,
    )
    watch = watch_of(tmp_path, str(mpi.mpiexec), "-n", "2", "./app")
    done = slowpath(
        "prove", str(watch), "--try", "FAST=1", "--trust", "--ignore", "^time", "--budget", "10m", "--json",
        "--minimum-effect", "20%",  # FAST takes most away, however long a busy machine needs to start two ranks
        env=environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    (proof,) = proofs(done)
    assert proof["verdict"] == "proven"
    assert proof["saved_s"] > 0.1
    assert proof["compared"] == ["stdout"]
    assert len({run["output_sha256"] for run in proof["runs"]}) == 1
    assert json.loads((watch / "proof-1" / "proof.json").read_text())["verdict"] == "proven"
    done = slowpath("prove", str(watch), "--trust", "--try", "MPIR_CVAR_NO_SUCH_THING=1", env=environ)
    assert done.returncode == 1
    assert ": not taken" in done.stdout
    assert "MPICH has no such variable" in done.stdout


@pytest.mark.parametrize(
    ("program", "limit", "words"),
    [
        ("import sys; sys.exit(3)", "900s", "unwatched program fails"),
        ("import time; time.sleep(1000)", "0.5s", "not done after 0.5 s"),
    ],
)
def test_a_command_that_fails_or_hangs_is_one_line(
    slowpath: Slowpath, tmp_path: Path, program: str, limit: str, words: str
) -> None:
    watch = watch_of(tmp_path, sys.executable, "-c", program)
    done = slowpath("prove", str(watch), "--try", "A=1", "--limit", limit, "--quiet", "--trust")
    assert done.returncode == 4
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "without code changes"),
        (("--remedy", "none-such"), "unknown remedy"),
        (("--remedy", "huge-pages", "--try", "A=1"), "can't be combined"),
        (("--try", "A"), "write NAME=VALUE"),
        (("--try", "A=1", "--ignore", "("), "no regular expression"),
    ],
)
def test_what_is_not_asked_well_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    watch = watch_of(tmp_path, sys.executable, "-c", "pass")
    assert exit_code(["prove", str(watch), "--trust", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


def test_a_command_that_the_user_did_not_watch_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWPATH_CACHE_DIR", str(tmp_path / "cache"))
    watch = watch_of(tmp_path, sys.executable, "-c", "open('ran', 'w')")
    words = ["prove", str(watch), "--try", "A=1", "--dry-run"]
    assert exit_code(words) == 4
    assert "names a command that you did not watch" in capsys.readouterr().err
    info = read_watch(watch)
    remember(info, os.environ)
    assert exit_code(words) == 0
    write_watch(watch, msgspec.structs.replace(info, working_folder="/elsewhere"))
    assert exit_code(words) == 4
    write_watch(watch, info)
    (tmp_path / "cache" / "watch" / "commands").chmod(0o666)  # anybody could have written it
    assert exit_code(words) == 4


def test_dry_run_shows_what_would_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch = watch_of(tmp_path, sys.executable, "-c", "pass")
    assert exit_code(["prove", str(watch), "--remedy", "keep-freed-memory", "--dry-run", "--trust"]) == 0
    assert "export GLIBC_TUNABLES=" in capsys.readouterr().out
    assert not list(watch.glob("proof-*"))
