# SPDX-License-Identifier: Apache-2.0
"""Standard output and error of every command, through which no control character reaches a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO, cast

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

    @property
    def buffer(self) -> CleanedBytes:
        """As a text stream's; click writes bytes there."""
        return CleanedBytes(self.uncleaned.buffer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.uncleaned, name)


class CleanedBytes:
    """The binary side of a `Cleaned` stream; what it is given is UTF-8, such as JSON."""

    def __init__(self, uncleaned: BinaryIO) -> None:
        self.uncleaned = uncleaned

    def write(self, data: bytes) -> int:
        """As a binary stream's."""
        words = data.decode("utf-8", "surrogateescape")
        self.uncleaned.write(clean.stream(words).encode("utf-8", "surrogateescape"))
        return len(data)

    def flush(self) -> None:
        """As a binary stream's."""
        self.uncleaned.flush()


@contextlib.contextmanager
def cleaned_streams() -> Iterator[None]:
    """Inside, sys.stdout and sys.stderr are `Cleaned`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Cleaned(one)) if one is not None else one for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
