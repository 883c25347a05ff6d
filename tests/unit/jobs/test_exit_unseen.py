# SPDX-License-Identifier: Apache-2.0
"""An exit code that can't be seen is an error, wherever a process is waited for; it is never 0."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slowpath.core.errors import SlowpathError
from slowpath.core.signals import exit_codes_kept
from slowpath.mpi.probe import ExitUnseen, ask, output_of
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


@pytest.mark.usefixtures("lost")
def test_within_a_command_exit_codes_are_kept_and_afterwards_all_is_as_before(tmp_path: Path) -> None:
    with exit_codes_kept():
        assert run_to_end(FAILS, os.environ).code == 7
    assert signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
