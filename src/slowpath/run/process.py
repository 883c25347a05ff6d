# SPDX-License-Identifier: Apache-2.0
"""Starting the launches of a job, watching them, saving the stacks of what hangs, and ending all of their processes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from slowpath.core import guard
from slowpath.core.signals import as_job, as_user_had, held_back
from slowpath.core.units import whole_number
from slowpath.mpi.launchers import RANK_VARIABLES
from slowpath.mpi.probe import Child, ask

MARKER = "SLOWPATH_JOB"


def start_users(
    command: Sequence[str],
    environ: Mapping[str, str],
    mask: set[signal.Signals] | set[int],
) -> Child:
    """Start the user's command with the user's streams, open files, dispositions of signals and signal mask.

    Args: mask: the signals that the user blocked.
    Raises: OSError.
    """
    with held_back():
        return Child(list(command), env=dict(environ), close_fds=False, preexec_fn=as_user_had(mask))


def marked_processes(job: str, proc: Path = Path("/proc")) -> list[int]:
    """Living processes that carry `job` in their environment."""
    needle = f"{MARKER}={job}".encode()
    processes = []
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # A zombie's environ is empty; another user's can't be read.
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                processes.append(int(entry.name))
        except OSError:
            continue
    return processes


@dataclass(frozen=True)
class Leftover:
    """A job that still runs. owner: the slowpath that waits for it; None: it is gone, nobody waits."""

    job: str
    processes: tuple[int, ...]
    owner: int | None


def leftovers_of(run: Path) -> list[Leftover]:
    """Jobs on this node that write into the folder `run`: those whose command lines name a file in it."""
    inside, proc = os.fsencode(run.absolute()) + b"/launches/", Path("/proc")
    marks = {
        mark
        for entry in proc.iterdir()
        if entry.name.isdigit() and inside in _read(entry / "cmdline") and (mark := _mark(entry)) is not None
    }
    leftovers = []
    for mark in sorted(marks):
        pids = marked_processes(mark, proc)
        parents = {_parent(proc / str(pid)) for pid in pids} - set(pids) - {None, os.getpid()}
        owner = next((pid for pid in sorted(filter(None, parents)) if _is_slowpath(proc / str(pid))), None)
        leftovers.append(Leftover(mark, tuple(pids), owner))
    return leftovers


def _mark(entry: Path) -> str | None:
    head = f"{MARKER}=".encode()
    parts = _read(entry / "environ").split(b"\0")
    return next((part[len(head) :].decode("ascii", "replace") for part in parts if part.startswith(head)), None)


def _parent(entry: Path) -> int | None:
    fields = _read(entry / "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None


def _is_slowpath(entry: Path) -> bool:
    """Whether a process is a slowpath: one that waits for a launch, and no shell that happens to be its parent."""
    return any(part.endswith(b"slowpath") or part == b"slowpath.cli" for part in _read(entry / "cmdline").split(b"\0"))


def _read(path: Path) -> bytes:
    """Return the content; empty where the process is gone, or is another user's."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def end_job(group: int | None, job: str, grace_s: float) -> None:
    """SIGTERM to what is left of the job, SIGKILL after `grace_s` to what ignores it.

    group: process group of the launcher, None once its leader is collected. Returns at once if nothing is left.
    """
    if not _left(group, job):
        return
    if grace_s > 0:
        _send(group, job, signal.SIGTERM)
        # A suspended process takes SIGTERM only when it goes on.
        _send(group, job, signal.SIGCONT)
        if _gone_within(group, job, grace_s):
            return
    # A process may fork between the look and the kill, so look again until none is left.
    for _ in range(20):
        _send(group, job, signal.SIGKILL)
        if _gone_within(group, job, 0.1):
            return


def _left(group: int | None, job: str) -> bool:
    """Whether any process of the job still runs. A zombie that only waits to be collected does not count."""
    return bool(marked_processes(job)) or (group is not None and _running(group))


def _running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in ("Z", "X")


def _gone_within(group: int | None, job: str, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while _left(group, job):
        if time.monotonic() >= end:
            return False
        time.sleep(0.02)
    return True


def _send(group: int | None, job: str, number: signal.Signals) -> None:
    if group is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in marked_processes(job):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


MOST_RANKS = 16  # of one node; more show nothing new
ONE_LIMIT_S = 10.0
ALL_LIMIT_S = 30.0
FRAMES_SHOWN = 4


@dataclass(frozen=True)
class Debugger:
    """A program that prints the stacks of a process, and how it is asked to."""

    name: str
    argv: Callable[[int], Sequence[str]]


def _gdb(pid: int) -> Sequence[str]:
    settings = ("set pagination off", "set print frame-arguments none", "set width 0")
    asked = [word for text in (*settings, "thread apply all backtrace 40") for word in ("-ex", text)]
    return ["gdb", "-nx", "-batch", "-p", str(pid), *asked]


# Best first. gdb names functions that eu-stack can't where only .symtab is there; pstack is gdb's on most systems.
DEBUGGERS: tuple[Debugger, ...] = (
    Debugger("gdb", _gdb),
    Debugger("eu-stack", lambda pid: ["eu-stack", "-n", "40", "-p", str(pid)]),
    Debugger("pstack", lambda pid: ["pstack", str(pid)]),
)
# "#1  0x00007f in MPI_Recv () from libmpi.so", "#0  main (argc=1) at x.cpp:3", "#2  0x00007f MPI_Recv"
_FRAME = re.compile(r"#(\d+)\s+(?:0x[0-9a-f]+ (?:in )?)?([\w:~@.$<>*&, -]*?[\w>])(?:@\S+)?(?: \(.*| - .*|)$")
_FIRST = re.compile(r"^(?:Thread \d+ |PID |#0)", re.MULTILINE)  # before it gdb introduces itself
_STATES = {"R": "running", "S": "waiting", "D": "waiting for a device", "T": "stopped", "t": "traced", "Z": "dead"}


def save_stacks(job: str, path: Path, search: str | None = None, proc: Path = Path("/proc")) -> None:
    """Write the stacks of the job's ranks on this node into `path`: a line on each rank, a blank line, then all.

    search: folders for the debugger, as in PATH; None: those of this process.
    Raises nothing: what can't be had is stated in the file, and a file that can't be written is left out.
    """
    ranks = sorted((rank, pid) for pid in marked_processes(job, proc) if (rank := _rank_of(pid, proc)) is not None)
    debugger = next((debugger for debugger in DEBUGGERS if shutil.which(debugger.name, path=search)), None)
    end = time.monotonic() + ALL_LIMIT_S
    heads, bodies = [], []
    for rank, pid in ranks[:MOST_RANKS]:
        text, why_not = _stack(debugger, pid, min(ONE_LIMIT_S, end - time.monotonic()))
        where = innermost(text) if text else why_not
        heads.append(f"rank {rank} (process {pid}, {_state(pid, proc)}): {where}")
        bodies.append(f"==== rank {rank}, process {pid}, waits in the kernel at {_kernel(pid, proc)} ====\n{text}")
    if len(ranks) > MOST_RANKS:
        heads.append(f"{len(ranks) - MOST_RANKS} more ranks on this node: not looked at")
    if not ranks:
        heads.append("no rank on this node")
    with contextlib.suppress(OSError):
        path.write_text(guard.text("\n".join([*heads, "", *bodies])) + "\n", encoding="utf-8")


def innermost(text: str) -> str:
    """The innermost frames of the first thread that a debugger printed, up to the MPI call: "poll < MPI_Recv"."""
    # gdb prints threads from the last to the first, which is the one that called main.
    main = re.split(r"^(?=Thread 1 |TID )", text, flags=re.MULTILINE)
    names: list[str] = []
    for line in main[1 if text.startswith("PID") and len(main) > 1 else -1].splitlines():
        frame = _FRAME.match(line.strip())
        if frame is None:
            continue
        names.append(frame[2].split("(")[0].strip())
        if re.fullmatch(r"P?MPIX?_\w+", names[-1]):
            break
    if not names:
        return "no frames"
    shown = names if len(names) <= FRAMES_SHOWN else [*names[: FRAMES_SHOWN - 1], "...", names[-1]]
    return " < ".join(shown)


def _stack(debugger: Debugger | None, pid: int, limit_s: float) -> tuple[str, str]:
    """Return what the debugger printed, or nothing and why."""
    if debugger is None:
        return "", f"no stack without {', '.join(debugger.name for debugger in DEBUGGERS)}"
    if limit_s <= 0:
        return "", f"no stack within {ALL_LIMIT_S:g} s"
    try:
        # No look-up of debug information over a network while a job hangs.
        done = ask(debugger.argv(pid), {**os.environ, "DEBUGINFOD_URLS": "", "LC_ALL": "C"}, limit_s)
    except subprocess.TimeoutExpired:
        return "", f"no stack within {limit_s:.0f} s"
    except OSError as error:
        return "", f"no stack: {debugger.name}: {error.strerror or error}"
    text = done.stdout.decode("utf-8", "replace")
    first = _FIRST.search(text)
    if first is None:
        printed = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return "", f"no stack: {debugger.name}: {printed[-1][:200] if printed else 'printed none'}"
    return text[first.start() :], ""


def _rank_of(pid: int, proc: Path) -> int | None:
    try:
        content = (proc / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    return rank_in(dict(part.partition("=")[::2] for part in content.decode("utf-8", "replace").split("\0")))


def rank_in(environ: Mapping[str, str]) -> int | None:
    """The rank that a launcher gave a process; None: it is no rank."""
    given = next((environ[name] for name in RANK_VARIABLES if name in environ), "")
    return whole_number(given)


def _state(pid: int, proc: Path) -> str:
    try:
        letter = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "gone"
    return _STATES.get(letter, letter)


def _kernel(pid: int, proc: Path) -> str:
    try:
        return (proc / str(pid) / "wchan").read_text().strip() or "no place"
    except OSError:
        return "an unknown place"


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
    for match in re.finditer(r"(?:signal|Signal:?|SIGNAL:)\s*(?:\w+ \()?(\d+)\b", text):
        if int(match.group(1)) not in (signal.SIGTERM, signal.SIGKILL):
            return _name(int(match.group(1)))
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
    progress.  stacks: takes the stacks of a job that hangs (slowpath.run.process).  stdin: file that it reads; None:
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


def run_jobs(jobs: Sequence[LaunchedJob]) -> list[Outcome]:
    """Start all jobs, which have no node in common, wait for their ends, and end by force what is at a limit.

    Ctrl-C does not reach the jobs (each has its own session); it ends the wait and all that still run, and these are
    interrupted. A second one while they are being ended skips the grace period. If this process dies, their launchers
    get SIGTERM. Returns: how each ended, in the order of the jobs.
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
        outcome = _outcome(process.returncode, stopped, job.stdout, job.stderr, wall_s)
        self._outcome = replace(outcome, is_late=self._is_late)

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
        return Outcome("hung", None, None, "the launcher does not end, even when killed", wall_s)
    if code == 0:
        return Outcome("ok", 0, None, None, wall_s)
    # Hydra writes its account of a bad termination on stdout, Open MPI on stderr.
    text = _tail(stderr) + "\n" + _tail(stdout)
    by = signal_in(code, text)
    ended = "failed" if code in DECIDED_EXITS and by is None else "crashed"
    reason = failure_line(text) or (f"ended by {by}" if by else f"exit code {code} without a message")
    return Outcome(ended, code, by, reason, wall_s)


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64 * 1024))
        return file.read().decode("utf-8", "replace")
