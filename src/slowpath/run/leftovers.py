# SPDX-License-Identifier: Apache-2.0
"""Ending every process of a job on this node, those that left its process group included.

A launcher may start its ranks in sessions of their own, and a launcher that dies leaves them to init. So each job
carries a marker in its environment, which its processes inherit, and /proc/PID/environ shows (proc(5)).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

MARKER = "SLOWPATH_JOB"


def marked_processes(job: str, proc: Path = Path("/proc")) -> list[int]:
    """Living processes that carry `job` in their environment."""
    needle = f"{MARKER}={job}".encode()
    found = []
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # A zombie's environ is empty; another user's can't be read.
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@dataclass(frozen=True)
class Leftover:
    """A job that still runs. owner: the slowpath that waits for it; None: it is gone, nobody waits."""

    job: str
    processes: tuple[int, ...]
    owner: int | None


def leftovers_of(run: Path, proc: Path = Path("/proc")) -> list[Leftover]:
    """Jobs on this node that write into the folder `run`: those whose command lines name a file in it."""
    inside = os.fsencode(run.absolute()) + b"/launches/"
    marks = {
        mark
        for entry in proc.iterdir()
        if entry.name.isdigit() and inside in _read(entry / "cmdline") and (mark := _mark(entry)) is not None
    }
    found = []
    for mark in sorted(marks):
        pids = marked_processes(mark, proc)
        parents = {_parent(proc / str(pid)) for pid in pids} - set(pids) - {None, os.getpid()}
        owner = next((pid for pid in sorted(filter(None, parents)) if _is_slowpath(proc / str(pid))), None)
        found.append(Leftover(mark, tuple(pids), owner))
    return found


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
