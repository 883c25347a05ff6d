# SPDX-License-Identifier: Apache-2.0
"""Signals that slowpath inherits ignored, blocked or handled by a library change no program and no exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faults.inherited import SIGNALS, WAYS, Inherited, handler, inherited
from slowpath.watch.folder import WatchInfo, read_watch, write_watch
from slowpath.watch.proof import read_proof
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")
SLOWPATH = (sys.executable, "-m", "slowpath.cli")
HARMLESS = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc" in line)
STATES = ("grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status")
EVERY = [(way, number) for way in WAYS for number in SIGNALS]


@pytest.fixture(scope="module")
def library(blankless_of_session: Path) -> Path:
    return handler(blankless_of_session)


def run(argv: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "SLOWPATH_CACHE_DIR": str(folder / "cache"), **variables}
    return subprocess.run(
        argv, cwd=folder, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
    )


def watch(*command: str, out: str = "w") -> list[str]:
    return [*SLOWPATH, "watch", "-q", "--library", HARMLESS, "-o", out, "--", *command]


def proof(folder: Path, program: str, *words: str) -> list[str]:
    """A proof of what would be fast if its exit code were not looked at."""
    info = WatchInfo(
        slowpath="1",
        command=(sys.executable, "-S", "-c", program),
        started="2026-01-31T12:00:00+00:00",
        working_folder=str(folder),
        host="here",
        library=HARMLESS,
        wall_s=0.1,
        exit_code=0,
    )
    (folder / "watch").mkdir()
    write_watch(folder / "watch", info)
    return [*SLOWPATH, "prove", str(folder / "watch"), "--trust", "--quiet", "--budget", "20s", *words]


# SIGPIPE has its own test: Python hides it.
@pytest.mark.parametrize("way", WAYS)
def test_a_watched_program_has_the_signals_that_it_has_unwatched(way: str, tmp_path: Path, library: Path) -> None:
    some = [number for number in SIGNALS if number is not signal.SIGPIPE]
    state = Inherited(*(tuple(some) if way == one else () for one in WAYS))
    usual = run(state.around(STATES), tmp_path, **state.variables(library))
    done = run(state.around(watch(*STATES)), tmp_path, **state.variables(library))
    assert usual.stdout.count("Sig") == 2
    assert done.stdout == usual.stdout


@pytest.mark.parametrize("trap", ["trap '' PIPE", ":"])
def test_what_a_shell_ignores_a_watched_program_ignores(trap: str, tmp_path: Path) -> None:
    script = f'{trap}; "$@"; exit $?'
    usual, done = (run(["sh", "-c", script, "sh", *argv], tmp_path) for argv in (list(STATES), watch(*STATES)))
    assert usual.stdout.count("Sig") == 2
    assert done.stdout == usual.stdout


@pytest.mark.parametrize(("way", "number"), EVERY)
def test_the_exit_code_of_a_watched_program_is_seen(
    way: str, number: signal.Signals, tmp_path: Path, library: Path
) -> None:
    state = inherited(way, number)
    argv = watch(sys.executable, "-S", "-c", "import time; time.sleep(0.05); raise SystemExit(7)")
    done = run(state.around(argv), tmp_path, **state.variables(library))
    assert done.returncode == 7, done.stderr
    assert read_watch(tmp_path / "w").exit_code == 7


@pytest.mark.parametrize(
    ("way", "number"), [(way, number) for way in WAYS for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)]
)
def test_a_failing_remedy_is_not_proven(way: str, number: signal.Signals, tmp_path: Path, library: Path) -> None:
    state = inherited(way, number)
    program = "import os, time; 'FAIL' in os.environ and os._exit(9); time.sleep(0.1)"
    done = run(state.around(proof(tmp_path, program, "--try", "FAIL=1")), tmp_path, **state.variables(library))
    assert done.returncode == 1, done.stderr
    assert "exit code 9" in done.stdout
    assert read_proof(tmp_path / "watch" / "proof-1").verdict == "failed"


def test_a_count_ends_as_its_program_does_where_sigchld_is_ignored(tmp_path: Path) -> None:
    program = [sys.executable, "-S", "-c", "raise SystemExit(7)"]
    main = f"""
import os, sys
from slowpath.core.signals import exit_codes_kept
from slowpath.studies.counting.trace import Wish, count_calls
with exit_codes_kept():
    sys.exit(count_calls(Wish("f", 1, 0, 1), {program}, os.environ, False)[0])
"""
    argv = [sys.executable, "-c", main]
    assert run(inherited("ignored", signal.SIGCHLD).around(argv), tmp_path).returncode == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD])
def test_a_library_that_handles_a_signal_ends_no_command(number: signal.Signals, tmp_path: Path, library: Path) -> None:
    state = inherited("handled by a library", number)
    done = run([*SLOWPATH, "campaigns"], tmp_path, **state.variables(library))
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_heard_where_a_library_handles_it(tmp_path: Path, library: Path) -> None:
    state = inherited("handled by a library", signal.SIGINT)
    program = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(1000)"
    done = run(proof(tmp_path, program, "--try", "A=1"), tmp_path, **state.variables(library))
    assert done.returncode == 130, done.stderr
