# SPDX-License-Identifier: Apache-2.0
"""How far a build is, read from its log: a line that is drawn anew on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

Tell = Callable[[str], None]
PLAIN_EVERY_S = 10.0
# What make and Ninja print before each command.
_SHARE = re.compile(r"^\[ *(?:(\d+)%|(\d+)/(\d+))\]", re.MULTILINE)
_TAIL_BYTES = 4096


@runtime_checkable
class PassingLines(Protocol):
    """What a terminal offers on top of lines that remain."""

    def passing(self, line: str) -> None:
        """Draw `line` over the one that this drew before; an empty one clears it."""


class BuildMeter:
    """Reports a build that writes `log`; `look` is called several times a second."""

    def __init__(self, log: Path, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._tell, self._clock = log, tell, clock
        self._terminal = tell if isinstance(tell, PassingLines) else None
        self._begun = self._last = clock()

    def look(self) -> None:
        """Show how far the log is."""
        now = self._clock()
        if self._terminal is not None:
            self._terminal.passing(self._line(now))
        elif now - self._last >= PLAIN_EVERY_S:
            self._last = now
            self._tell(self._line(now))

    def close(self) -> None:
        """Take the passing line away."""
        if self._terminal is not None:
            self._terminal.passing("")

    def _line(self, now: float) -> str:
        share = share_done(_tail(self._log))
        far = "configuring" if share is None else f"{share:.0%} compiled"
        return f"building the engine: {far}, {now - self._begun:.0f} s"


def share_done(log: str) -> float | None:
    """Share of the build's commands that have begun; None: it is not compiling yet."""
    every = list(_SHARE.finditer(log))
    if not every:
        return None
    last = every[-1]
    return int(last[1]) / 100 if last[1] else int(last[2]) / max(1, int(last[3]))


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
