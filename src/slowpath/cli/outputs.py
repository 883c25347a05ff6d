# SPDX-License-Identifier: Apache-2.0
"""Where output goes and what becomes of it when nobody takes it: decided here, once, for every command.

stdout holds results. A reader that went away (`| head`) ends the command quietly with exit code 141; any other output
that could not be written is one line and exit code 4, whatever the command found. stderr holds progress and errors: it
is best effort, and that it is lost ends and changes nothing.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

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
    """stdout takes no more. Not an Exception: no command decides what becomes of it."""


class _Results(io.FileIO):
    """stdout: the first failure ends the command and is kept; what is written afterwards is dropped."""

    failure: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """As FileIO, and waits for a reader where the descriptor would not.  Raises: OutputLost."""
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
    """stderr: what can't be written is dropped."""

    _lost = False

    def write(self, data: ReadableBuffer, /) -> int:
        """As FileIO; raises nothing."""
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
    """For an ASCII locale. Its encoding is named UTF-8, which its bytes are: click writes past a stream named ASCII."""

    def write(self, text: str, /) -> int:
        """As TextIOWrapper, in ASCII characters."""
        super().write(text.encode("ascii", _READABLE).decode("ascii"))
        return len(text)


def guarded(command: Callable[[], int]) -> int:
    """Run `command` with streams that can fail, and return its exit code or that of a lost stdout.

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
    """Handler of what an encoding lacks: a plain spelling in text, an escape of the same meaning in JSON.

    A byte of a file's name that is no character is written as it was read.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost, is_json = error.object[error.start : error.end], error.object.lstrip()[:1] in ("{", "[")
    if not is_json and all("\udc80" <= character <= "\udcff" for character in lost) and error.encoding != "ascii":
        return bytes(ord(character) - 0xDC00 for character in lost), error.end
    return "".join(escape(one) if is_json else _PLAIN.get(one) or escape(one) for one in lost), error.end


def _install() -> _Results:
    """Open what is closed, and put streams over 0, 1 and 2 that end no command by a traceback."""
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
    """Whether it takes data, or fails at once, within `seconds`; None: however long it takes."""
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    return bool(poller.poll(None if seconds is None else seconds * 1000))
