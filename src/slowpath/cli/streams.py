# SPDX-License-Identifier: Apache-2.0
"""Standard streams of every command: what happens when output can't be written, and which characters pass.

stdout holds results. When its reader goes away (`| head`), the command ends quietly with exit code 141. Any other
failure to write prints one line on stderr and gives exit code 4, whatever the command found. stderr holds progress and
errors; output that it can't take is dropped and changes nothing. No control character reaches a terminal.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, cast

from slowpath.core import guard

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXIT_NO_READER = 141  # 128 + SIGPIPE, as a shell reports a program that the signal ends
EXIT_REFUSED = 4
# Of commands that failed for another reason: that one is what the user has to know.
_FAILED = (EXIT_REFUSED, 70, 130)
STDERR_PATIENCE_S = 1.0  # for a non-blocking stderr whose reader is slow


class OutputLost(BaseException):
    """stdout can't be written any more. It is no Exception, so that no command handles it."""


class _Raw(io.FileIO):
    """Raw stdout or stderr. Drops all output after the first failure, with which stdout ends the command."""

    failure: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write as FileIO does, and wait for the reader of a non-blocking descriptor.  Raises: OutputLost."""
        is_stdout, written = self.fileno() == 1, None
        try:
            while self.failure is None and (written := super().write(data)) is None:
                if not select.select((), (self,), (), None if is_stdout else STDERR_PATIENCE_S)[1]:
                    break
        except OSError as error:
            self.failure = error
            if is_stdout:
                raise OutputLost from error
        return memoryview(data).nbytes if written is None else written


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


def _install() -> _Raw:
    """Open closed standard descriptors, and replace the standard streams by ones that never cause a traceback."""
    # In the wrong direction for 0 and 1: whoever reads or writes there gets EBADF, as from a closed one. A file that
    # is opened later must not get their numbers.
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)
    results = _Raw(1, "w", closefd=False)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = _text(results, sys.stdout, line_buffered=results.isatty())
    sys.stderr = _text(_Raw(2, "w", closefd=False), sys.stderr, line_buffered=True)
    return results


def _text(raw: io.FileIO, before: TextIO | None, line_buffered: bool) -> io.TextIOWrapper:
    encoding = (before and before.encoding) or "utf-8"
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=line_buffered)


class Cleaned:
    """A text stream that removes control characters. `uncleaned` is for code that draws on the terminal itself."""

    def __init__(self, uncleaned: TextIO) -> None:
        self.uncleaned = uncleaned

    def write(self, words: str) -> int:
        """Write cleaned text, and return the number of characters given."""
        self.uncleaned.write(guard.text(words))
        return len(words)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.uncleaned, name)


@contextlib.contextmanager
def cleaned_streams() -> Iterator[None]:
    """Make sys.stdout and sys.stderr `Cleaned` while the context is active."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Cleaned(stream)) if stream is not None else stream for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
