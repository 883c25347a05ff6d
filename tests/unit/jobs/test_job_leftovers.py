# SPDX-License-Identifier: Apache-2.0
"""A killed slowpath takes its job with it; a suspended one sees no hang; what is left is found by its run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from wakes import Job, by_own_clock

from slowpath.run import process
from slowpath.run.process import MARKER, JobLimits, leftovers_of, run_job
from slowpath.run.reopen import end_leftovers

SLEEP = "import time; time.sleep(1000)"


def comes(true: Callable[[], object]) -> bool:
    """Whether it comes true; what has not after minutes never does."""
    end = time.monotonic() + 300
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_killed_slowpath_takes_its_job_with_it(tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = (
        "import os; from pathlib import Path; from slowpath.run.process import JobLimits, run_job; here = Path('.');"
        "argv = ['/bin/sh', '-c', 'echo $$ > told; exec sleep 1000'];"
        "run_job(argv, dict(os.environ), here / 'out', here / 'err', [], JobLimits())"
    )
    slowpath = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    assert comes(lambda: told.exists() and told.read_text().strip())
    launcher = int(told.read_text())
    slowpath.kill()
    slowpath.wait()
    assert comes(lambda: not runs(launcher))


def test_time_in_which_slowpath_was_suspended_is_no_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(wake: int, job: Job) -> float:
        """The first wake comes long after its time; before the second the job ends."""
        if wake == 1:
            return 1000.0
        end.touch()
        job.wait()
        return process.WAKE_S

    end = tmp_path / "end"
    wakes = by_own_clock(monkeypatch, at)
    job = ["/bin/sh", "-c", f"while [ ! -e '{end}' ]; do sleep 0.02; done"]
    outcome = run_job(job, dict(os.environ), tmp_path / "o", tmp_path / "e", [], JobLimits(idle_s=4 * process.WAKE_S))
    assert outcome.ended == "ok"
    assert wakes == [2]


def rank_of(run: Path) -> list[str]:
    return [sys.executable, "-c", SLEEP, "--out", str(run / "launches" / "000001")]


def test_what_a_killed_slowpath_left_is_ended(tmp_path: Path) -> None:
    environ = {**os.environ, MARKER: f"left{os.getpid()}"}
    rank = subprocess.Popen(rank_of(tmp_path), env=environ)
    other = subprocess.Popen(rank_of(tmp_path / "other"), env={**environ, MARKER: f"other{os.getpid()}"})
    try:
        assert comes(lambda: [job.processes for job in leftovers_of(tmp_path)] == [(rank.pid,)])
        said: list[str] = []
        end_leftovers(tmp_path, said.append)
        assert comes(lambda: not runs(rank.pid))
        assert runs(other.pid)
        assert said == ["ended processes that an earlier launch left behind: 1"]
    finally:
        for started in (rank, other):
            started.kill()
            started.wait()
