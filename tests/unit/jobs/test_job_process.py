# SPDX-License-Identifier: Apache-2.0
"""Jobs of small scripts: their ends, their limits, and that nothing stays behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from wakes import Job, by_own_clock

from slowpath.run import process
from slowpath.run.process import JobLimits, Outcome, run_job


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    monkeypatch.setattr(process, "WAKE_S", 0.1)


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
    told = tmp_path / "told"

    def at(_: int, __: Job) -> float:
        time.sleep(0.02)
        return process.WAKE_S if told.exists() and told.read_text() else 0.0

    by_own_clock(monkeypatch, at)
    program = tmp_path / "escape.py"
    program.write_text(ESCAPE.format(path=str(told)))
    last = "exec sleep 1000" if limit.idle_s else "exit 0"
    script = f"'{sys.executable}' '{program}' & while [ ! -s '{told}' ]; do sleep 0.05; done; {last}"
    outcome = job(tmp_path, script, limit)
    assert outcome.ended == ("hung" if limit.idle_s else "ok")
    assert ends(int(told.read_text()))


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
