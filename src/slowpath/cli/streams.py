# SPDX-License-Identifier: Apache-2.0
"""Standard streams of every command: what happens when output can't be written, and which characters pass.

stdout holds results. When its reader goes away (`| head`), the command ends quietly with exit code 141. Any other
failure to write prints one line on stderr and gives exit code 4, whatever the command found. stderr holds progress and
errors; output that it can't take is dropped and changes nothing. No control character reaches a terminal.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from slowpath.core import clean
from slowpath.core.clean import escape

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXIT_NO_READER = 141  # 128 + SIGPIPE, as a shell reports a program that the signal ends
EXIT_REFUSED = 4
# Of commands that failed for another reason: that one is what the user has to know.
_FAILED = (EXIT_REFUSED, 70, 130)
STDERR_PATIENCE_S = 1.0  # for a non-blocking stderr whose reader is slow
_BUFFER_BYTES = 64 * 1024
_READABLE = "slowpath-readable"
_PLAIN = {
    "µ": "u",
    "μ": "u",
    "×": "x",
    "→": "->",
    "–": "-",
    "−": "-",
    "…": "...",
    "·": ".",
    "±": "+-",
    "≥": ">=",
    "≤": "<=",
}


class OutputLost(BaseException):
    """stdout can't be written any more. It is no Exception, so that no command handles it."""


class _Results(io.FileIO):
    """Raw stdout. Keeps the first failure, which ends the command, and drops all later output."""

    failure: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write as FileIO does, and wait for the reader of a non-blocking descriptor.  Raises: OutputLost."""
        size = memoryview(data).nbytes
        if self.failure is not None:
            return size
        try:
            while (written := super().write(data)) is None:  # a non-blocking pipe that is full
                _wait_for(self.fileno(), None)
        except OSError as error:
            self.failure = error
            raise OutputLost from error
        return written


class _BestEffort(io.FileIO):
    """Raw stderr. Drops output that can't be written."""

    _lost = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write as FileIO does; raise nothing."""
        size = memoryview(data).nbytes
        if self._lost:
            return size
        try:
            written: int | None = super().write(data)
            if written is None and _wait_for(self.fileno(), STDERR_PATIENCE_S):
                written = super().write(data)
        except OSError:
            self._lost = True
            return size
        return size if written is None else written


class _AsciiText(io.TextIOWrapper):
    """A text stream for ASCII locales. It calls its encoding UTF-8, because click bypasses a stream named ASCII."""

    def write(self, text: str, /) -> int:
        """Write as TextIOWrapper does, in ASCII characters."""
        super().write(text.encode("ascii", _READABLE).decode("ascii"))
        return len(text)


def guarded(command: Callable[[], int]) -> int:
    """Run `command` with streams that can fail, and return its exit code, or that of a lost stdout.

    Replaces sys.stdin, sys.stdout and sys.stderr for the rest of the process.
    """
    stdout = _install()
    code = 0
    try:
        code = command()
        sys.stdout.flush()
        os.close(os.dup(stdout.fileno()))  # a network file system reports a full disk at the first close
    except OutputLost:
        pass
    except OSError as error:
        stdout.failure = stdout.failure or error
    if stdout.failure is None or code in _FAILED:
        return code
    if stdout.failure.errno == errno.EPIPE:
        return EXIT_NO_READER
    sys.stderr.write(
        f"slowpath: error: stdout can't be written: {stdout.failure.strerror}; the output is not whole: "
        "make room or send it elsewhere, then run it again (measured runs are kept in their folders)\n"
    )
    return EXIT_REFUSED


def readable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding lacks: by a plain spelling in text, by an equivalent escape in JSON.

    A byte of a file's name that is not a character is written as it was read.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost, is_json = error.object[error.start : error.end], error.object.lstrip()[:1] in ("{", "[")
    if not is_json and all("\udc80" <= character <= "\udcff" for character in lost) and error.encoding != "ascii":
        return bytes(ord(character) - 0xDC00 for character in lost), error.end
    return "".join(
        escape(character) if is_json else _PLAIN.get(character) or escape(character) for character in lost
    ), error.end


def _install() -> _Results:
    """Open closed standard descriptors, and replace the standard streams by ones that never cause a traceback."""
    # In the wrong direction for 0 and 1: whoever reads or writes there gets EBADF, as from a closed one. A file that
    # is opened later must not get their numbers.
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)
    codecs.register_error(_READABLE, readable)
    results = _Results(1, "w", closefd=False)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = _text(results, sys.stdout, line_buffered=results.isatty())
    sys.stderr = _text(_BestEffort(2, "w", closefd=False), sys.stderr, line_buffered=True)
    return results


def _text(raw: io.FileIO, before: TextIO | None, line_buffered: bool) -> io.TextIOWrapper:
    encoding = (before and before.encoding) or "utf-8"
    is_ascii = codecs.lookup(encoding).name == "ascii"
    kind, name = (_AsciiText, "utf-8") if is_ascii else (io.TextIOWrapper, encoding)
    return kind(io.BufferedWriter(raw, _BUFFER_BYTES), name, _READABLE, line_buffering=line_buffered)


def _wait_for(descriptor: int, seconds: float | None) -> bool:
    """Return whether the descriptor is ready to write, or to fail, within `seconds`. None waits without limit."""
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    return bool(poller.poll(None if seconds is None else seconds * 1000))


class Cleaned:
    """A text stream that removes control characters. `uncleaned` is for code that draws on the terminal itself."""

    def __init__(self, uncleaned: TextIO) -> None:
        self.uncleaned = uncleaned

    def write(self, words: str) -> int:
        """Write cleaned text, and return the number of characters given."""
        self.uncleaned.write(clean.stream(words))
        return len(words)

    def writelines(self, lines: list[str]) -> None:
        """Write each line cleaned."""
        for words in lines:
            self.write(words)

    @property
    def buffer(self) -> CleanedBytes:
        """Return the binary side, to which click writes bytes."""
        return CleanedBytes(self.uncleaned.buffer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.uncleaned, name)


class CleanedBytes:
    """The binary side of a `Cleaned` stream. Takes UTF-8, such as JSON."""

    def __init__(self, uncleaned: BinaryIO) -> None:
        self.uncleaned = uncleaned

    def write(self, data: bytes) -> int:
        """Write cleaned bytes, and return the number of bytes given."""
        words = data.decode("utf-8", "surrogateescape")
        self.uncleaned.write(clean.stream(words).encode("utf-8", "surrogateescape"))
        return len(data)

    def flush(self) -> None:
        """Flush the stream below."""
        self.uncleaned.flush()


@contextlib.contextmanager
def cleaned_streams() -> Iterator[None]:
    """Make sys.stdout and sys.stderr `Cleaned` while the context is active."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Cleaned(stream)) if stream is not None else stream for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
