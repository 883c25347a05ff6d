# SPDX-License-Identifier: Apache-2.0
"""Running one job: its own session, its output in files, a watchdog, and an end that leaves nothing behind.

Nothing here runs while the job does, but a wait that wakes once a second: the cores belong to the measurement.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.launch.leftovers import MARKER, end_job
from slowpath.launch.telling import signal_in, telling_line

WAKE_S = 1.0
# Hydra needs a moment to pass a signal on to its proxies and clean up /dev/shm.
GRACE_S = 3.0
# The engine's own exit codes besides 0 (docs/engine-interface.md): it ended by decision, it did not crash.
DECIDED_EXITS = (1, 2, 4)


@dataclass(frozen=True)
class Limits:
    """total_s: wall time of the job.  idle_s: time without growth of any watched file.  None: no limit."""

    total_s: float | None = None
    idle_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended. ended: ok, failed (it said so), crashed, hung, interrupted, not started.

    return_code is the launcher's, negative for a signal as in subprocess, None if it could not be started.
    """

    ended: str
    return_code: int | None
    signal: str | None
    reason: str | None
    wall_s: float


def run_job(
    argv: Sequence[str],
    environ: Mapping[str, str],
    stdout: Path,
    stderr: Path,
    watch: Sequence[Path],
    limits: Limits,
) -> Outcome:
    """Start `argv`, wait for its end, and end it by force where a limit or Ctrl-C says so.

    stdout, stderr: files that take its output whole.  watch: files that grow as long as it makes progress.
    Ctrl-C does not reach the job (it has its own session); it ends the wait, and the outcome says interrupted.
    A second one while the job is being ended skips the grace period.
    """
    job = uuid.uuid4().hex
    begun = time.monotonic()
    with stdout.open("wb") as out, stderr.open("wb") as err:
        try:
            process = subprocess.Popen(
                list(argv),
                env={**environ, MARKER: job},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            reason = f"{argv[0]} could not be started: {error.strerror or error}"
            return Outcome("not started", None, None, reason, time.monotonic() - begun)
        stopped = _wait(process, watch, limits, begun)
        _end(process, job, gently=stopped is not None)
    wall_s = time.monotonic() - begun
    return _outcome(process.returncode, stopped, stdout, stderr, wall_s)


def _wait(
    process: subprocess.Popen[bytes], watch: Sequence[Path], limits: Limits, begun: float
) -> tuple[str, str] | None:
    """None when the job ended by itself, else (hung or interrupted, why)."""
    try:
        sizes = _sizes(watch)
        grew = begun
        while not _ended_within(process, WAKE_S):
            now = time.monotonic()
            seen = _sizes(watch)
            if seen != sizes:
                sizes, grew = seen, now
            if limits.idle_s is not None and now - grew > limits.idle_s:
                return "hung", f"no progress for {limits.idle_s:g} s"
            if limits.total_s is not None and now - begun > limits.total_s:
                return "hung", f"not done after {limits.total_s:g} s"
    except KeyboardInterrupt:
        return "interrupted", "stopped by the user"
    return None


def _ended_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait without polling where the kernel can (pidfd_open(2), Linux 5.3), else as subprocess does."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        poller.poll(seconds * 1000)
    finally:
        os.close(descriptor)
    return process.poll() is not None


def _end(process: subprocess.Popen[bytes], job: str, gently: bool) -> None:
    """End what is left of the job; every rank of it is gone from this node afterwards, in time or by force."""
    # Once collected, its id may be another's: then only the marker tells.
    group = process.pid if process.returncode is None else None
    try:
        end_job(group, job, GRACE_S if gently else 0.5)
    except KeyboardInterrupt:
        end_job(group, job, 0.0)
    process.wait()


def _sizes(paths: Sequence[Path]) -> list[int]:
    return [path.stat().st_size if path.exists() else -1 for path in paths]


def _outcome(code: int, stopped: tuple[str, str] | None, stdout: Path, stderr: Path, wall_s: float) -> Outcome:
    if stopped is not None:
        return Outcome(stopped[0], code, None, stopped[1], wall_s)
    if code == 0:
        return Outcome("ok", 0, None, None, wall_s)
    # Hydra writes its account of a bad termination on stdout, Open MPI on stderr.
    text = _tail(stderr) + "\n" + _tail(stdout)
    signal = signal_in(code, text)
    ended = "failed" if code in DECIDED_EXITS and signal is None else "crashed"
    reason = telling_line(text) or (f"ended by {signal}" if signal else f"exit code {code} without a message")
    return Outcome(ended, code, signal, reason, wall_s)


def _tail(path: Path, limit_bytes: int = 64 * 1024) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - limit_bytes))
        return file.read().decode("utf-8", "replace")
