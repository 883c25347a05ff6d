# SPDX-License-Identifier: Apache-2.0
"""Where a job hangs: what debuggers print in a few words, and real ranks that wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slowpath.run import process as stacks
from slowpath.run.process import MARKER, Debugger, JobLimits, innermost, run_job, save_stacks

GDB = """Thread 2 (Thread 0x7f1 (LWP 12) "async"):
#0  0x00007f11 in epoll_wait () from /lib/libc.so.6
Thread 1 (Thread 0x7f0 (LWP 11) "engine"):
#0  0x00007f30 in poll () from /lib/libc.so.6
#1  0x00007f31 in MPIDI_CH4_progress.isra.0 (...) at ch4.c:12
#2  0x00007f32 in MPID_Recv () from libmpi.so.12
#3  0x00007f33 in wait_for (...)
#4  0x00007f34 in PMPI_Recv () from libmpi.so.12
#5  0x00005531 in slowpath::one_way(slowpath::Context&, int) (...) at one_way.cpp:3
#6  main (...) at main.cpp:1
"""


def test_innermost_goes_to_the_mpi_call_of_the_first_thread() -> None:
    assert innermost(GDB) == "poll < MPIDI_CH4_progress.isra.0 < MPID_Recv < ... < PMPI_Recv"


@pytest.fixture
def rank() -> subprocess.Popen[bytes]:
    """A rank that waits."""
    program = [sys.executable, "-c", "import time; time.sleep(100)"]
    process = subprocess.Popen(program, env={**os.environ, MARKER: f"stacks{os.getpid()}", "PMI_RANK": "1"})
    yield process
    process.kill()
    process.wait()


def shell(script: str) -> tuple[Debugger, ...]:
    return (Debugger("sh", lambda pid: ["sh", "-c", script]),)


def test_states_and_stacks_are_saved(
    rank: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "DEBUGGERS", shell("echo '#0  poll ()'; echo '#1  MPI_Recv ()'"))
    rank.send_signal(signal.SIGSTOP)
    while Path(f"/proc/{rank.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)
    save_stacks(f"stacks{os.getpid()}", tmp_path / "stacks")
    text = (tmp_path / "stacks").read_text()
    assert text.splitlines()[0] == f"rank 1 (process {rank.pid}, stopped): poll < MPI_Recv"
    assert "#1  MPI_Recv ()" in text.partition("\n\n")[2]


def test_a_hang_leaves_its_stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "DEBUGGERS", shell("echo '#0  MPI_Send ()'"))
    outcome = run_job(
        ["/bin/sleep", "1000"],
        {**os.environ, "PMI_RANK": "0"},
        tmp_path / "out",
        tmp_path / "err",
        [],
        JobLimits(idle_s=0.1),
        tmp_path / "stacks",
    )
    assert outcome.ended == "hung"
    assert "rank 0 (process " in (tmp_path / "stacks").read_text()
