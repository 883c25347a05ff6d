# SPDX-License-Identifier: Apache-2.0
"""Progress lines on stderr. On a terminal, the last line may be overwritten, for builds that take long."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import TextIO

import click

from slowpath.core.guard import drawn_on, text
from slowpath.core.guard import line as one_line


def teller(quiet: bool = False, stream: TextIO | None = None) -> Callable[[str], None]:
    """Return the function that prints lines for the user. With `quiet` it prints nothing."""
    stream = stream or sys.stderr
    if quiet:
        return lambda _: None
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return TerminalLines(stream)
    return lambda line: click.echo(line, file=stream)


class TerminalLines:
    """Prints lines that remain, and one line at the end that is overwritten."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = drawn_on(stream)
        self._drawn = 0

    def __call__(self, line: str) -> None:
        """Print a line that remains."""
        self.passing("")
        click.echo(text(line), file=self._stream)

    def passing(self, line: str) -> None:
        """Draw `line` over the one drawn before. An empty line clears it."""
        line = one_line(line)[: max(0, shutil.get_terminal_size().columns - 1)]
        if not line and not self._drawn:
            return
        self._stream.write("\r" + line.ljust(self._drawn) + ("" if line else "\r"))
        self._stream.flush()
        self._drawn = len(line)
