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


def end_job(group: int | None, job: str, grace_s: float) -> None:
    """SIGTERM to what is left of the job, SIGKILL after `grace_s` to what ignores it.

    group: process group of the launcher, None once its leader is collected. Returns at once if nothing is left.
    """
    if not _left(group, job):
        return
    if grace_s > 0:
        _send(group, job, signal.SIGTERM)
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
