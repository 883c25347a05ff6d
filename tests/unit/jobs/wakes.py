# SPDX-License-Identifier: Apache-2.0
"""A clock for the watchdog of slowpath.run.process that the test moves: no machine is too slow for it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from slowpath.run import process

Job = subprocess.Popen[bytes]


def by_own_clock(monkeypatch: pytest.MonkeyPatch, at: Callable[[int, Job], float]) -> list[int]:
    """Let the watchdog wake by a clock of its own, which stands still between its wakes.

    at: what happens before the n-th wake (from 1) of a job; returns the seconds since the last one.
    Returns: one entry that counts the wakes.
    """
    now_s, count = [0.0], [0]

    def ended_within(job: Job, _: float) -> bool:
        count[0] += 1
        now_s[0] += at(count[0], job)
        return job.poll() is not None

    monkeypatch.setattr(process, "_ended_within", ended_within)

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        now_s[0] += seconds

    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    return count
