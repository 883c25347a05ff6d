# SPDX-License-Identifier: Apache-2.0
"""Jobs: processes, leftovers, stacks, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from wakes import Job, by_own_clock

from slowpath.core.errors import SlowpathError
from slowpath.core.signals import exit_codes_kept
from slowpath.mpi.probe import ExitUnseen, ask, output_of
from slowpath.run import process
from slowpath.run.process import (
    MARKER,
    Debugger,
    JobLimits,
    LaunchedJob,
    Outcome,
    innermost,
    leftovers_of,
    run_jobs,
    save_stacks,
)
from slowpath.run.reopen import end_leftovers
from slowpath.watch.prove.rerun import Compared, Started, rerun
from slowpath.watch.start.environment import run_to_end


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    monkeypatch.setattr(process, "WAKE_S", 0.1)


def run_job(*words: Any) -> Outcome:
    (outcome,) = run_jobs([LaunchedJob(*words)])
    return outcome


def job(folder: Path, script: str, limits: JobLimits | None = None, watch: list[Path] | None = None) -> Outcome:
    return run_job(
        ["/bin/sh", "-c", script],
        dict(os.environ),
        folder / "out",
        folder / "err",
        watch or [],
        limits or JobLimits(),
    )


def test_ok_and_output_in_files(tmp_path: Path) -> None:
    outcome = job(tmp_path, "echo data; echo note >&2")
    assert (outcome.ended, outcome.return_code, outcome.reason) == ("ok", 0, None)
    assert (tmp_path / "out").read_text() == "data\n"
    assert (tmp_path / "err").read_text() == "note\n"


@pytest.mark.parametrize(
    ("code", "ended"), [(1, "failed"), (2, "failed"), (4, "failed"), (3, "crashed"), (15, "crashed")]
)
def test_exit_codes(tmp_path: Path, code: int, ended: str) -> None:
    outcome = job(tmp_path, f"echo 'error: why' >&2; exit {code}")
    assert (outcome.ended, outcome.return_code, outcome.reason) == (ended, code, "error: why")


def test_signal(tmp_path: Path) -> None:
    outcome = job(tmp_path, "kill -SEGV $$")
    assert (outcome.ended, outcome.signal) == ("crashed", "SIGSEGV")
    assert outcome.reason == "ended by SIGSEGV"


def test_not_started(tmp_path: Path) -> None:
    outcome = run_job([str(tmp_path / "no")], {}, tmp_path / "out", tmp_path / "err", [], JobLimits())
    assert (outcome.ended, outcome.return_code) == ("not started", None)


def test_idle_limit_counts_from_the_last_growth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grows = tmp_path / "events"

    def at(wake: int, _: Job) -> float:
        if wake in (6, 12, 18):
            with grows.open("a") as file:
                file.write("x")
        return process.WAKE_S

    wakes = by_own_clock(monkeypatch, at)
    outcome = job(tmp_path, "exec sleep 1000", JobLimits(idle_s=6.5 * process.WAKE_S), [grows])
    assert outcome.ended == "hung"
    assert wakes == [18 + 7]


def runs(pid: int) -> bool:
    """Whether the process is there and is not a zombie that only waits for its new parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends(pid: int) -> bool:
    """A killed process dies on a processor: it may have to wait for one. One that nobody killed sleeps 1000 s."""
    until = time.monotonic() + 10
    while runs(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not runs(pid)


ESCAPE = (
    "import os, signal, time\n"
    "os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open({path!r}, 'w').write(str(os.getpid())); time.sleep(1000)\n"
)


@pytest.mark.parametrize("limit", [JobLimits(), JobLimits(idle_s=0.6)])
def test_orphans_are_found_and_ended(tmp_path: Path, limit: JobLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in a session of its own that ignores SIGTERM, its parent gone (no limit) or hanging."""
    mark = tmp_path / "told"

    def at(_: int, __: Job) -> float:
        time.sleep(0.02)
        return process.WAKE_S if mark.exists() and mark.read_text() else 0.0

    by_own_clock(monkeypatch, at)
    program = tmp_path / "escape.py"
    program.write_text(ESCAPE.format(path=str(mark)))
    last = "exec sleep 1000" if limit.idle_s else "exit 0"
    script = f"'{sys.executable}' '{program}' & while [ ! -s '{mark}' ]; do sleep 0.05; done; {last}"
    outcome = job(tmp_path, script, limit)
    assert outcome.ended == ("hung" if limit.idle_s else "ok")
    assert ends(int(mark.read_text()))


def interrupting(monkeypatch: pytest.MonkeyPatch, name: str, when: Callable[[], bool]) -> threading.Thread:
    """Sends one Ctrl-C once `when` is true and the function of that name waits for the job."""
    waits, waited_for = threading.Event(), getattr(process, name)

    def call(*arguments: Any) -> Any:
        waits.set()
        return waited_for(*arguments)

    def send() -> None:
        waits.wait()
        while not when():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(process, name, call)
    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_interrupt_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = interrupting(monkeypatch, "_ended_within", lambda: True)
    outcome = job(tmp_path, "exec sleep 1000")
    thread.join()
    assert (outcome.ended, outcome.return_code) == ("interrupted", -signal.SIGTERM)


SLEEP = "import time; time.sleep(1000)"


def comes(true: Callable[[], object]) -> bool:
    """Whether it comes true; what has not after minutes never does."""
    end = time.monotonic() + 300
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_a_killed_slowpath_takes_its_job_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "told"
    program = (
        "import os; from pathlib import Path; from slowpath.run.process import *; here = Path('.');"
        "argv = ['/bin/sh', '-c', 'echo $$ > told; exec sleep 1000'];"
        "run_jobs([LaunchedJob(argv, dict(os.environ), here / 'out', here / 'err', [], JobLimits())])"
    )
    slowpath = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    assert comes(lambda: mark.exists() and mark.read_text().strip())
    launcher = int(mark.read_text())
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
        assert said == ["processes of an earlier launch ended: 1"]
    finally:
        for started in (rank, other):
            started.kill()
            started.wait()


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
    monkeypatch.setattr(process, "DEBUGGERS", shell("echo '#0  poll ()'; echo '#1  MPI_Recv ()'"))
    rank.send_signal(signal.SIGSTOP)
    while Path(f"/proc/{rank.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)
    save_stacks(f"stacks{os.getpid()}", tmp_path / "stacks")
    text = (tmp_path / "stacks").read_text()
    assert text.splitlines()[0] == f"rank 1 (process {rank.pid}, stopped): poll < MPI_Recv"
    assert "#1  MPI_Recv ()" in text.partition("\n\n")[2]


def test_a_hang_leaves_its_stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "DEBUGGERS", shell("echo '#0  MPI_Send ()'"))
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


FAILS = [sys.executable, "-S", "-c", "raise SystemExit(7)"]


@pytest.fixture
def lost() -> Iterator[None]:
    """The kernel collects children by itself."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


def _job(folder: Path) -> object:
    return run_job(FAILS, os.environ, folder / "out", folder / "err", [], JobLimits())


def _rerun(folder: Path) -> object:
    return rerun(FAILS, os.environ, Started(folder, None, Compared(), 60.0), folder / "files")


WAITS: dict[str, Callable[[Path], object]] = {
    "job": _job,
    "rerun": _rerun,
    "watched": lambda folder: run_to_end(FAILS, os.environ),
    "question": lambda folder: ask(FAILS, os.environ),
    "output": lambda folder: output_of(FAILS, os.environ),
}


@pytest.mark.parametrize("kind", WAITS)
@pytest.mark.usefixtures("lost")
def test_a_lost_exit_code_is_one_line_and_exit_code_4(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ExitUnseen, match="its exit code is lost") as raised:
        WAITS[kind](tmp_path)
    assert isinstance(raised.value, SlowpathError)
    assert raised.value.exit_code == 4
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("lost")
def test_within_a_command_exit_codes_are_kept_and_afterwards_all_is_as_before(tmp_path: Path) -> None:
    with exit_codes_kept():
        assert run_to_end(FAILS, os.environ).code == 7
    assert signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
