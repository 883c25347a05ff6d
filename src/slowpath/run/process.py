# SPDX-License-Identifier: Apache-2.0
"""Running one job: its own session, its output in files, a watchdog, and an end that leaves nothing behind.

Nothing here runs while the job does, but a wait that wakes once a second, and then renews the stamp of the folder's
owner where it is time: the cores belong to the measurement. Of a failed job's output, one line says why.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from slowpath.core.signals import as_job, held_back
from slowpath.mpi.probe import Child
from slowpath.run.leftovers import MARKER, end_job
from slowpath.run.stacks import save_stacks

MAX_CHARACTERS = 300

# Best first: what the engine says itself, then what MPI libraries, launchers and the loader are known to say.
PATTERNS = (
    re.compile(r"slowpath-engine: error: .*"),
    re.compile(r"error while loading shared libraries.*"),
    re.compile(r"No components were able to be opened.*"),
    re.compile(r"unsupported PMI version.*"),
    re.compile(r"A prefix was supplied to .*"),
    re.compile(r"not enough slots.*|binding more processes.*|Out of memory.*|No space left on device.*", re.I),
    re.compile(r"KILLED BY SIGNAL: (?!9\b).*|exited on signal.*|Signal: \w.*"),
    re.compile(r"Fatal error in .*"),
    re.compile(r"Assertion .*failed.*", re.I),
    re.compile(r"(?:\[proxy|\[mpiexec)[^\]]*\] (?!.*(?:BAD TERMINATION)).*(?:fail|error|unable|cannot).*", re.I),
    re.compile(r"terminate called.*|Segmentation fault.*|Bus error.*|Killed\b.*|Abort\(\d+\).*"),
    re.compile(r".*\b(?:error|fatal|failed|cannot|unable|not found|no such|refus|denied)\b.*", re.I),
    re.compile(r".*EXIT STRING: .*|.*KILLED BY SIGNAL.*"),
)
# Frames and pleasantries: never the reason.
EMPTY = re.compile(
    r"^[-=*\s#|]*$|YOU CAN IGNORE|CLEANING UP|typically refers|FAQ page|End of error message"
    r"|This is a fatal error; \S+ will now abort"
)


def failure_line(text: str) -> str | None:
    """The line that says why a job failed; its last line that says anything if none is known; None if empty."""
    lines = [line.strip() for line in text.splitlines() if not EMPTY.search(line)]
    for pattern in PATTERNS:
        for line in lines:
            if pattern.search(line):
                return line[:MAX_CHARACTERS]
    return lines[-1][:MAX_CHARACTERS] if lines else None


def signal_in(code: int, text: str) -> str | None:
    """Name of the signal that ended the job, from its return code or what the launcher says; None if none did.

    Hydra's own code for a rank's death is not reliable: it reports the SIGTERM or SIGKILL that it sent to the other
    ranks itself, so those two are believed only from the return code.
    """
    if code < 0:
        return _name(-code)
    if 128 < code < 128 + 65:
        return _name(code - 128)
    for found in re.finditer(r"(?:signal|Signal:?|SIGNAL:)\s*(?:\w+ \()?(\d+)\b", text):
        if int(found.group(1)) not in (signal.SIGTERM, signal.SIGKILL):
            return _name(int(found.group(1)))
    return None


def _name(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


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
class LaunchedJob:
    """One job: its words and variables, the files that take its output whole, and those that grow while it makes
    progress.  stacks: takes the stacks of a job that hangs (slowpath.run.stacks).  stdin: file that it reads; None:
    nothing.  folder: in which it is started; None: this process's.
    """

    argv: Sequence[str]
    environ: Mapping[str, str]
    stdout: Path
    stderr: Path
    watch: Sequence[Path]
    limits: JobLimits
    stacks: Path | None = None
    stdin: Path | None = None
    folder: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended. ended: ok, failed (it reported so), crashed, hung, interrupted, not started.

    return_code is the launcher's, negative for a signal as in subprocess, None if it could not be started.
    wall_s is from its start to its own end; to that of all that it left behind where it was ended by force.
    is_late: it was ended since total_s was over, and made progress until then.
    """

    ended: str
    return_code: int | None
    signal: str | None
    reason: str | None
    wall_s: float
    is_late: bool = False


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

    The arguments are those of Job.
    Ctrl-C does not reach the job (it has its own session); it ends the wait, and the outcome is interrupted.
    A second one while the job is being ended skips the grace period. If this process dies, the launcher gets SIGTERM.
    """
    return run_jobs([LaunchedJob(argv, environ, stdout, stderr, watch, limits, stacks)])[0]


def run_jobs(jobs: Sequence[LaunchedJob]) -> list[Outcome]:
    """Start all jobs, which have no node in common, and wait until each has ended or was ended, as `run_job` does.

    Ctrl-C ends all that still run. Returns: how each ended, in the order of the jobs.
    Raises: ExitUnseen; the jobs are ended.
    """
    running: list[_Running] = []
    try:
        for job in jobs:
            running.append(_Running(job))
        while any(process.still_runs() for process in running):
            _sleep_until_one_ends(running)
    except KeyboardInterrupt:
        return [*(process.interrupted() for process in running), *(_never_started(job) for job in jobs[len(running) :])]
    except BaseException:
        # A defect: whatever it was, the jobs go with it.
        for process in running:
            process.drop()
        raise
    return [process.outcome() for process in running]


def _never_started(job: LaunchedJob) -> Outcome:
    for path in (job.stdout, job.stderr):
        path.touch()
    return Outcome("interrupted", None, None, "stopped by the user", 0.0)


class _Running:
    """One job from its start to its outcome."""

    def __init__(self, job: LaunchedJob) -> None:
        self._job, self._id, self._begun = job, uuid.uuid4().hex, time.monotonic()
        self._outcome: Outcome | None = None
        self._is_late = False  # it made progress until its time was over: its stacks say nothing
        self._over: float | None = None
        self.process: Child | None = None
        with job.stdout.open("wb") as out, job.stderr.open("wb") as err:
            try:
                self.process = _start(job, {**job.environ, MARKER: self._id}, out, err)
            except OSError as error:
                reason = f"{job.argv[0]} could not be started: {error.strerror or error}"
                self._outcome = Outcome("not started", None, None, reason, time.monotonic() - self._begun)
            except BaseException:
                self.drop()  # Ctrl-C in the very moment of the start
                raise
        self._sizes, self._idle_s, self._last = _sizes(job.watch), 0.0, self._begun

    def still_runs(self) -> bool:
        """Whether it is to be waited for; a job at its limit is ended here."""
        if self._outcome is not None or self.process is None:
            return False
        if self.process.poll() is not None:
            self._over = time.monotonic()
            self._finish(None)
            return False
        stopped = self._at_limit()
        if stopped is not None:
            self._finish(stopped)
        return stopped is None

    def _at_limit(self) -> tuple[str, str] | None:
        limits, now, seen = self._job.limits, time.monotonic(), _sizes(self._job.watch)
        # A wake that comes late was suspended, and so may have been the job: that is no sign of a hang.
        self._idle_s = 0.0 if seen != self._sizes else self._idle_s + min(now - self._last, 2 * WAKE_S)
        self._sizes, self._last = seen, now
        if limits.idle_s is not None and self._idle_s > limits.idle_s:
            return "hung", f"no progress for {limits.idle_s:g} s"
        if limits.total_s is not None and now - self._begun > limits.total_s:
            self._is_late = True
            return "hung", f"not done after {limits.total_s:g} s"
        return None

    def _finish(self, stopped: tuple[str, str] | None) -> None:
        job, process = self._job, self.process
        if process is None:
            return
        if stopped is not None and stopped[0] == "hung" and job.stacks is not None and not self._is_late:
            stopped = _look(self._id, job.stacks, job.environ) or stopped
        _end(process, self._id, gently=stopped is not None)
        wall_s = (self._over if self._over is not None else time.monotonic()) - self._begun
        found = _outcome(process.returncode, stopped, job.stdout, job.stderr, wall_s)
        self._outcome = replace(found, is_late=self._is_late)

    def interrupted(self) -> Outcome:
        """Its outcome after Ctrl-C, which ends it if it still runs."""
        if self._outcome is None:
            self._finish(("interrupted", "stopped by the user"))
        return self.outcome()

    def outcome(self) -> Outcome:
        """Return how it ended."""
        if self._outcome is None:
            raise RuntimeError("the job still runs")
        return self._outcome

    def drop(self) -> None:
        """End it without a word."""
        end_job(None, self._id, 0.0)


def _start(job: LaunchedJob, environ: Mapping[str, str], out: BinaryIO, err: BinaryIO) -> Child:
    with open(job.stdin or os.devnull, "rb") as given, held_back():
        return Child(
            list(job.argv),
            env=dict(environ),
            stdin=given,
            stdout=out,
            stderr=err,
            cwd=job.folder,
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
        as_job()

    return ask


def _look(job: str, stacks: Path, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Save the stacks of a job that hangs. Ctrl-C meanwhile is one: then (interrupted, why)."""
    try:
        save_stacks(job, stacks, environ.get("PATH"))
    except KeyboardInterrupt:
        return "interrupted", "stopped by the user"
    return None


def _sleep_until_one_ends(running: Sequence[_Running]) -> None:
    """Sleep until a process ends, at most WAKE_S."""
    alive = [
        process.process for process in running if process.process is not None and process.process.returncode is None
    ]
    if len(alive) == 1:
        _ended_within(alive[0], WAKE_S)
    elif not _one_ends_within(alive, WAKE_S):
        time.sleep(WAKE_S)


def _ended_within(process: Child, seconds: float) -> bool:
    """Wait without polling where the kernel can, else as subprocess does."""
    if not _one_ends_within([process], seconds):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    return process.poll() is not None


def _one_ends_within(processes: Sequence[Child], seconds: float) -> bool:
    """Wait until one of them ends, or for `seconds`. False: the kernel can't (pidfd_open(2), Linux 5.3)."""
    descriptors: list[int] = []
    try:
        for process in processes:
            descriptors.append(os.pidfd_open(process.pid))
        poller = select.poll()
        for descriptor in descriptors:
            poller.register(descriptor, select.POLLIN)
        poller.poll(seconds * 1000)
    except (AttributeError, OSError):
        return False
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return True


def _end(process: Child, job: str, gently: bool) -> None:
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
