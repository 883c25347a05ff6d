# SPDX-License-Identifier: Apache-2.0
"""An exit code that can't be seen is an error, wherever a process is waited for; it is never 0."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slowpath.core.errors import SlowpathError
from slowpath.core.signals import exit_codes_kept, handled, stop_signals
from slowpath.mpi.probe import Child, ExitUnseen, ask, output_of
from slowpath.run.process import JobLimits, run_job
from slowpath.watch.prove.rerun import Compared, Started, rerun
from slowpath.watch.start.environment import run_to_end

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


def test_a_child_that_somebody_else_collected_has_no_exit_code() -> None:
    calls: list[Callable[[Child], object]] = [Child.poll, Child.wait, lambda one: one.wait(60), Child.communicate]
    for call in calls:
        child = Child(FAILS, stdout=subprocess.PIPE)
        os.waitpid(child.pid, 0)
        with pytest.raises(ExitUnseen):
            call(child)
        assert child.stdout is not None
        child.stdout.close()


def test_exit_codes_and_signals_are_as_subprocess_has_them() -> None:
    for program, code in (("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -9)):
        child = Child([sys.executable, "-S", "-c", program])
        assert (child.wait(60), child.wait(), child.poll(), child.returncode) == (code,) * 4
    child = Child([sys.executable, "-S", "-c", "import time; time.sleep(1000)"])
    assert child.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.01)
    child.kill()
    assert child.wait() == -signal.SIGKILL


@pytest.mark.usefixtures("lost")
def test_within_a_command_exit_codes_are_kept_and_afterwards_all_is_as_before(tmp_path: Path) -> None:
    with exit_codes_kept():
        assert run_to_end(FAILS, os.environ).code == 7
    assert signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN


def test_a_handler_that_python_does_not_know_is_put_back() -> None:
    """Of a library: its address is where it was. In another process, since a library can't be unloaded."""
    program = """
import ctypes, signal
from slowpath.core.signals import handled
from slowpath.core.signals import stop_signals
library = ctypes.CDLL(None)
library.signal.restype, library.signal.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p]
address = ctypes.cast(library.abs, ctypes.c_void_p).value
library.signal(signal.SIGTERM, address)
def now():
    found = library.signal(signal.SIGTERM, None)
    library.signal(signal.SIGTERM, found)
    return found
with handled({signal.SIGTERM: signal.SIG_IGN}):
    with stop_signals():
        pass
    assert now() == 1, now()
print(now() == address)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "True\n", done.stderr


def test_signals_are_put_back_when_something_fails_inside() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with pytest.raises(ValueError, match="inside"), handled({signal.SIGUSR1: lambda *_: None}), stop_signals():
        raise ValueError("inside")
    assert signal.getsignal(signal.SIGUSR1) is before
