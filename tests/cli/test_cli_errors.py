# SPDX-License-Identifier: Apache-2.0
"""Wrong input: one line that says what and what to do, and the right exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.cli import main
from slowpath.core.errors import RecordError
from watchdog import WATCHDOG_S

Slowpath = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["rn"], 2, "did you mean 'run'?"),
        (["xyzzy"], 2, "choose from: run, diagnose, watch"),
        (["run", "--bogus"], 2, "--bogus"),
        (["run", "--ranks", "0"], 2, "--ranks"),
        (["run", "--budget", "soon"], 2, "write for example 90s, 10m or 1h"),
        (["run", "--budget", "0"], 2, "write for example 90s, 10m or 1h"),
        (["run", "chekup"], 2, "checkup"),
        (["run", "--mpi", "/nowhere"], 2, "/nowhere"),
        (["report"], 2, "RUN"),
        (["report", "nowhere"], 4, "nowhere"),
        (["report", "x", "--format", "pdf"], 2, "pdf"),
        (["run", "--resume", "nowhere"], 4, "nowhere"),
        (["run", "checkup", "--resume", "nowhere"], 2, "leave out campaign"),
        (["run", "--trust"], 2, "--trust needs --resume"),
        (["run", "--nodes", "2"], 2, "need --script"),
        (["import", "nowhere.txt"], 4, "nowhere.txt"),
        (["mpi", "explode"], 2, "explode"),
        (["mpi", "install", "cuda", "--from", "nowhere"], 2, "nowhere"),
    ],
)
def test_wrong_input(slowpath: Slowpath, arguments: list[str], code: int, said: str) -> None:
    done = slowpath(*arguments)
    assert done.returncode == code
    first = done.stderr.splitlines()[0]
    assert first.startswith("slowpath: error: ")
    assert said in first
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_no_mpi_at_all(slowpath: Slowpath, tmp_path: Path) -> None:
    done = slowpath("run", env={"SLOWPATH_MPI": str(tmp_path)})
    assert done.returncode == 2
    assert "SLOWPATH_MPI" in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RecordError("bad record"), 4, "slowpath: error: bad record"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("oops"), 70, "a defect of slowpath"),
    ],
)
def test_what_becomes_of_errors(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(main.slowpath, "main", fail)
    assert main.exit_code([]) == code
    printed = capsys.readouterr().err
    assert said in printed
    assert ("Traceback" in printed) == (code == 70)


def test_campaigns_are_listed(slowpath: Slowpath) -> None:
    listed = slowpath("run", "--list")
    assert listed.returncode == 0
    assert any(line.startswith("checkup ") for line in listed.stdout.splitlines())


def started(tmp_path: Path, before: str, *words: str) -> tuple[int, str]:
    """`python -m slowpath.cli` behind some lines; exit code and standard error."""
    program = f"import sys; sys.argv = ['slowpath', *{list(words)}]\n{before}\nfrom runpy import run_module\n"
    program += "run_module('slowpath.cli', run_name='__main__', alter_sys=True)\n"
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("imported", ["slowpath.cli.main", "click", "slowpath.core.signals", "slowpath.cli.run"])
def test_an_interrupt_while_it_starts_ends_with_130(imported: str, tmp_path: Path) -> None:
    before = f"""
import os, signal
class Finder:
    def find_spec(self, name, *_):
        if name == "{imported}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
    code, said = started(tmp_path, before, "run", "--list")
    assert (code, said.strip()) == (130, "slowpath: error: interrupted")


def test_an_interrupt_within_exec_ends_with_130_and_not_by_sigint(tmp_path: Path) -> None:
    """As one does that comes while an import makes a dataclass."""
    before = """
import slowpath.cli.main as cli
def interrupted(words):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130
cli.exit_code = interrupted
"""
    assert started(tmp_path, before) == (130, "")
