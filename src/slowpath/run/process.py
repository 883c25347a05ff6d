# SPDX-License-Identifier: Apache-2.0
"""Running one job: its own session, its output in files, a watchdog, and an end that leaves nothing behind.

Nothing here runs while the job does, but a wait that wakes once a second: the cores belong to the measurement.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from slowpath.mpi.failure_line import failure_line, signal_in
from slowpath.run.leftovers import MARKER, end_job
from slowpath.run.stacks import save_stacks

WAKE_S = 1.0
# Hydra needs a moment to pass a signal on to its proxies and clean up /dev/shm.
GRACE_S = 3.0
# A process that even SIGKILL does not end (it waits for a device) is given up, not waited for.
UNKILLABLE_S = 5.0
PR_SET_PDEATHSIG = 1  # prctl(2)
# The engine's own exit codes besides 0 (docs/reference/engine-interface.md): it ended by decision, it did not crash.
DECIDED_EXITS = (1, 2, 4)


@dataclass(frozen=True)
class JobLimits:
    """total_s: wall time of the job.  idle_s: time without growth of any watched file, during which this process ran
    itself: time in which all was suspended does not count.  None: no limit.
    """

    total_s: float | None = None
    idle_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended. ended: ok, failed (it reported so), crashed, hung, interrupted, not started.

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
    limits: JobLimits,
    stacks: Path | None = None,
) -> Outcome:
    """Start `argv`, wait for its end, and end it by force at a limit or Ctrl-C.

    stdout, stderr: files that take its output whole.  watch: files that grow as long as it makes progress.
    stacks: takes the stacks of a job that hangs (slowpath.run.stacks).
    Ctrl-C does not reach the job (it has its own session); it ends the wait, and the outcome is interrupted.
    A second one while the job is being ended skips the grace period. If this process dies, the launcher gets SIGTERM.
    """
    job = uuid.uuid4().hex
    begun = time.monotonic()
    try:
        with stdout.open("wb") as out, stderr.open("wb") as err:
            try:
                process = _start(argv, {**environ, MARKER: job}, out, err)
            except OSError as error:
                reason = f"{argv[0]} could not be started: {error.strerror or error}"
                return Outcome("not started", None, None, reason, time.monotonic() - begun)
            stopped = _wait(process, watch, limits, begun)
            if stopped is not None and stopped[0] == "hung" and stacks is not None:
                stopped = _look(job, stacks, environ) or stopped
            _end(process, job, gently=stopped is not None)
    except BaseException:
        # Ctrl-C in the very moment of the start, or a defect: whatever it was, the job goes with it.
        end_job(None, job, 0.0)
        raise
    return _outcome(process.returncode, stopped, stdout, stderr, time.monotonic() - begun)


def _start(argv: Sequence[str], environ: Mapping[str, str], out: BinaryIO, err: BinaryIO) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(argv),
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
        preexec_fn=_dying_with(os.getpid()),
    )


def _dying_with(parent: int) -> Callable[[], None]:
    """What the launcher does before it begins: ask for SIGTERM when slowpath itself is killed (prctl(2)).

    The launcher then ends its ranks, as it does when a user presses Ctrl-C; nobody else would.
    """
    # Loaded here: a forked child must not load libraries.
    prctl = getattr(ctypes.CDLL(None), "prctl", None)

    def ask() -> None:
        if prctl is not None:
            prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # it died before the request

    return ask


def _wait(
    process: subprocess.Popen[bytes], watch: Sequence[Path], limits: JobLimits, begun: float
) -> tuple[str, str] | None:
    """None when the job ended by itself, else (hung or interrupted, why)."""
    try:
        sizes = _sizes(watch)
        idle_s, last = 0.0, begun
        while not _ended_within(process, WAKE_S):
            now = time.monotonic()
            seen = _sizes(watch)
            # A wake that comes late was suspended, and so may have been the job: that is no sign of a hang.
            idle_s = 0.0 if seen != sizes else idle_s + min(now - last, 2 * WAKE_S)
            sizes, last = seen, now
            if limits.idle_s is not None and idle_s > limits.idle_s:
                return "hung", f"no progress for {limits.idle_s:g} s"
            if limits.total_s is not None and now - begun > limits.total_s:
                return "hung", f"not done after {limits.total_s:g} s"
    except KeyboardInterrupt:
        return "interrupted", "stopped by the user"
    return None


def _look(job: str, stacks: Path, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Save the stacks of a job that hangs. Ctrl-C meanwhile is one: then (interrupted, why)."""
    try:
        save_stacks(job, stacks, environ.get("PATH"))
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
    grace_s = GRACE_S if gently else 0.5
    while True:
        try:
            # Once collected, its id may be another's: then only the marker is sure.
            end_job(process.pid if process.returncode is None else None, job, grace_s)
            process.wait(UNKILLABLE_S)
            return
        except subprocess.TimeoutExpired:
            return
        except KeyboardInterrupt:
            grace_s = 0.0


def _sizes(paths: Sequence[Path]) -> list[int]:
    return [_size(path) for path in paths]


def _size(path: Path) -> int:
    """-1: not there, or not to be seen, as on a file server that is away for a moment."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _outcome(code: int | None, stopped: tuple[str, str] | None, stdout: Path, stderr: Path, wall_s: float) -> Outcome:
    if stopped is not None:
        return Outcome(stopped[0], code, None, stopped[1], wall_s)
    if code is None:
        return Outcome("hung", None, None, "the launcher can't be ended, not even by SIGKILL", wall_s)
    if code == 0:
        return Outcome("ok", 0, None, None, wall_s)
    # Hydra writes its account of a bad termination on stdout, Open MPI on stderr.
    text = _tail(stderr) + "\n" + _tail(stdout)
    by = signal_in(code, text)
    ended = "failed" if code in DECIDED_EXITS and by is None else "crashed"
    reason = failure_line(text) or (f"ended by {by}" if by else f"exit code {code} without a message")
    return Outcome(ended, code, by, reason, wall_s)


def _tail(path: Path, limit_bytes: int = 64 * 1024) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - limit_bytes))
        return file.read().decode("utf-8", "replace")
