# SPDX-License-Identifier: Apache-2.0
"""Whether anything moves in a program that runs: when any of its ranks last began or ended an MPI call.

What a program spends its time in MPI on, while it runs; and when nothing moves, who waits for whom.

A thread reads the records that the ranks write. It takes at most a twentieth of one processor's time: a long record is
looked at less often.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from slowpath.core.errors import RecordError
from slowpath.core.units import seconds
from slowpath.watch.analysis import watched
from slowpath.watch.folder import record_files
from slowpath.watch.record.job import Moved, moved
from slowpath.watch.record.reader import read_parts
from slowpath.watch.results import WatchResults
from slowpath.watch.standstill import standstill
from slowpath.watch.verdict import account_words

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


EVERY_S: Final = 3.0
MOST_SHARE: Final = 0.05  # of one processor
QUIET_S: Final = 5.0  # without a call, from which a look says who waits


class Live(threading.Thread):
    """Prints lines until `stop`.  Args: tell: what prints a line."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        super().__init__(name="live", daemon=True)
        self.folder, self.tell = folder, tell
        self._over = threading.Event()
        self._began = time.monotonic()

    def run(self) -> None:
        """Look again and again."""
        took_s = 0.0
        while not self._over.wait(max(EVERY_S, took_s / MOST_SHARE)):
            began, used = time.monotonic(), time.thread_time()
            lines = live_lines(self.folder, began - self._began, time.time())
            took_s = time.thread_time() - used
            if not self._over.is_set():
                for line in lines:
                    self.tell(line)

    def stop(self) -> None:
        """Print nothing from now on."""
        self._over.set()


def live_lines(folder: Path, since_start_s: float, now_s: float) -> list[str]:
    """Return what is known now; nothing before MPI_Init has returned on some rank.  Args: now_s: realtime."""
    try:
        found = watched(folder)
    except RecordError:
        return []
    results = found.results
    if not results.ranks:
        return []
    lines = [f"live, {seconds(since_start_s)}: {_share(results)}"]
    still = standstill(found.attributed, now_s, QUIET_S)
    if still is not None:
        lines.append(f"live, nothing moved for {seconds(still.quiet_s)}: {still.text}")
    return lines


def _share(results: WatchResults) -> str:
    mpi_s = sum(rank.mpi_s for rank in results.ranks)
    whole_s = sum(rank.span_s for rank in results.ranks)
    share = f"{100 * mpi_s / whole_s:.0f} % of the time is MPI" if whole_s > 0 else "no call has returned yet"
    words = account_words(results.accounts, whole_s / len(results.ranks))
    return f"{share}. {words}" if words else share
