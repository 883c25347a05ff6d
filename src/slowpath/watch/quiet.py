# SPDX-License-Identifier: Apache-2.0
"""Whether anything moves in a program that runs: when any of its ranks last began or ended an MPI call."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from slowpath.core.errors import RecordError
from slowpath.watch.folder import record_files
from slowpath.watch.record.job import Moved, moved
from slowpath.watch.record.reader import read_parts

MOST_LOOKS: Final = 0.01  # of the time, spent on looking


class QuietRanks:
    """Call it to learn whether nothing moved for `limit_s` while some rank waits in a call."""

    def __init__(self, folder: Path, limit_s: float) -> None:
        self.folder, self.limit_s = folder, limit_s
        self._next_s = time.monotonic() + limit_s

    def __call__(self) -> bool:
        """Look, at the earliest when the limit can be over, and not more often than looking is cheap."""
        began = time.monotonic()
        if began < self._next_s:
            return False
        quiet_s = quiet_for(self.folder, time.time())
        took_s = time.monotonic() - began
        self._next_s = began + max(took_s / MOST_LOOKS, min(self.limit_s - (quiet_s or 0.0), 1.0))
        return quiet_s is not None and quiet_s >= self.limit_s


def quiet_for(folder: Path, now_s: float) -> float | None:
    """Seconds for which nothing moved; None: no rank waits in a call, or it is not known.  Args: now_s: realtime."""
    found: list[Moved] = []
    for path in record_files(folder):
        try:
            header, parts = read_parts(path, ("lanes", "current"))
        except RecordError:
            continue
        one = moved(header, parts["lanes"], parts["current"])
        if one is not None:
            found.append(one)
    if not any(one.is_in_call for one in found):
        return None
    return max(now_s - max(one.at_s for one in found), 0.0)
