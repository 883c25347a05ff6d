# SPDX-License-Identifier: Apache-2.0
"""Telling the user how far the run is: on stderr, a bar on a terminal, plain lines elsewhere.

Nothing is drawn while a launch runs: the cores belong to the measurement.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from slowpath.core.guard import drawn_on, line
from slowpath.core.guard import text as clean_text

if TYPE_CHECKING:
    from rich.progress import Progress as RichBar

PLAIN_EVERY_S = 10.0
_MOVED_RATIO = 1.5  # of the time left over what was said before: so much is said at once


class Progress(Protocol):
    """What `execute` reports to. `done` and `total` count planned launches; left_s is None while unknown."""

    def step(self, done: int, total: int, left_s: float | None, running: str) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class Quiet:
    """Notes only: a failure must be seen."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def step(self, done: int, total: int, left_s: float | None, running: str) -> None:
        """Ignore the step: nothing is shown."""

    def note(self, text: str) -> None:
        """One line."""
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Do nothing: nothing was shown."""


class Plain(Quiet):
    """A line now and then, for logs."""

    def __init__(self, stream: TextIO | None = None, every_s: float = PLAIN_EVERY_S) -> None:
        super().__init__(stream)
        self._every_s = every_s
        self._last: float | None = None
        self._end: float | None = None  # as it was said last

    def step(self, done: int, total: int, left_s: float | None, running: str) -> None:
        """A line at the first and last step, else every `every_s` seconds, or where the time left changed."""
        now = time.monotonic()
        before_s = self._end - now if self._end is not None else None
        moved = left_s is not None and before_s is not None and self._has_moved(left_s, max(0.0, before_s))
        if done < total and self._last is not None and now - self._last < self._every_s and not moved:
            return
        self._last = now
        self._end = now + left_s if left_s is not None else None
        left = f", {duration(left_s)} left" if left_s is not None and done < total else ""
        if left and moved and before_s is not None:
            left += f" (estimated before: {duration(max(0.0, before_s))})"
        self.note(f"launch {done} of {total} done{left}" if done else f"{total} launches{left}")

    def _has_moved(self, left_s: float, before_s: float) -> bool:
        low, high = sorted((left_s, before_s))
        return high > _MOVED_RATIO * low and high - low > self._every_s


class ProgressBar:
    """A bar on a terminal, redrawn between launches only."""

    def __init__(self, stream: TextIO | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichBar

        self._bar: RichBar = RichBar(
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=drawn_on(stream or sys.stderr)),
            auto_refresh=False,  # its thread would wake ten times a second on a measured core
            transient=True,
        )
        self._task = self._bar.add_task("", total=1)
        self._bar.start()

    def step(self, done: int, total: int, left_s: float | None, running: str) -> None:
        """Redraw."""
        left = f"{duration(left_s)} left  " if left_s is not None else ""
        self._bar.update(self._task, completed=done, total=total, description=f"{left}{line(running)}")
        self._bar.refresh()

    def note(self, text: str) -> None:
        """A line above the bar."""
        self._bar.console.print(clean_text(text), markup=False, highlight=False)

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()


def choose(quiet: bool, stream: TextIO | None = None) -> Progress:
    """The progress that fits the stream: nothing, lines or a bar."""
    stream = stream or sys.stderr
    if quiet:
        return Quiet(stream)
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return ProgressBar(stream)
    return Plain(stream)


def duration(seconds: float) -> str:
    """ "1 h 02 min", "3 min 20 s" or "45 s"."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"
