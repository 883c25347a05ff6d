# SPDX-License-Identifier: Apache-2.0
"""Standard output and error of every command, through which no control character reaches a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from slowpath.core import clean


class Cleaned:
    """A text stream that passes on what it is given, cleaned. uncleaned: for what draws on the terminal itself."""

    def __init__(self, uncleaned: TextIO) -> None:
        self.uncleaned = uncleaned

    def write(self, words: str) -> int:
        """As a text stream's."""
        self.uncleaned.write(clean.stream(words))
        return len(words)

    def writelines(self, lines: list[str]) -> None:
        """As a text stream's."""
        for words in lines:
            self.write(words)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.uncleaned, name)


@contextlib.contextmanager
def cleaned_streams() -> Iterator[None]:
    """Inside, sys.stdout and sys.stderr are `Cleaned`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Cleaned(one)) if one is not None else one for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
