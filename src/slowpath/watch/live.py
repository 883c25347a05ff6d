# SPDX-License-Identifier: Apache-2.0
"""What a program spends its time in MPI on, while it runs; and when nothing moves, who waits for whom.

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
from slowpath.watch.results import WatchResults
from slowpath.watch.standstill import standstill
from slowpath.watch.verdict import account_words

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
        watch = watched(folder)
    except RecordError:
        return []
    results = watch.results
    if not results.ranks:
        return []
    lines = [f"live, {seconds(since_start_s)}: {_share(results)}"]
    still = standstill(watch.attributed, now_s, QUIET_S)
    if still is not None:
        lines.append(f"live, nothing moved for {seconds(still.quiet_s)}: {still.text}")
    return lines


def _share(results: WatchResults) -> str:
    mpi_s = sum(rank.mpi_s for rank in results.ranks)
    whole_s = sum(rank.span_s for rank in results.ranks)
    share = f"{100 * mpi_s / whole_s:.0f} % of the time is MPI" if whole_s > 0 else "no call has returned yet"
    words = account_words(results.accounts, whole_s / len(results.ranks))
    return f"{share}. {words}" if words else share
