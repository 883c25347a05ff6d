# SPDX-License-Identifier: Apache-2.0
"""Asking another program a short question, with a time limit, and without leaving anything of it behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.errors import EnvironmentFailure

_FIRST_LOOK_S, _LAST_LOOK_S = 0.0005, 0.05


class ExitUnseen(EnvironmentFailure):
    """A program ended, and how can't be found out."""


class Child(subprocess.Popen[bytes]):
    """A started program, used as Popen; poll, wait and communicate raise ExitUnseen where the exit code was lost."""

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None: it runs.  Raises: ExitUnseen."""
        if self.returncode is None and (code := self._seen(os.WNOHANG)) is not None:
            self._collect(code)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code.  Raises: subprocess.TimeoutExpired, ExitUnseen."""
        if self.returncode is None:
            self._collect(self._ended_within(timeout))
        return self.returncode

    def _ended_within(self, timeout: float | None) -> int:
        if timeout is None:
            while (code := self._seen(0)) is None:
                pass
            return code
        end, look_s = time.monotonic() + timeout, _FIRST_LOOK_S
        while (code := self._seen(os.WNOHANG)) is None:
            left_s = end - time.monotonic()
            if left_s <= 0:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(min(look_s, left_s))
            look_s = min(2 * look_s, _LAST_LOOK_S)
        return code

    def _seen(self, options: int) -> int | None:
        """The exit code of a child that nobody collected yet; None: it runs."""
        try:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | options)
        except ChildProcessError:
            raise ExitUnseen(
                f"{self._name()}: ended, but its exit code is lost to a preloaded library; start it without that "
                "library"
            ) from None
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def _collect(self, code: int) -> None:
        super().wait()
        self.returncode = code

    def _name(self) -> str:
        words = self.args
        if isinstance(words, (str, bytes, os.PathLike)):
            return os.fsdecode(words)
        return os.fsdecode(next(iter(words)))


# A launcher that hangs on a question (a dead batch system behind it, say) must not hang us.
QUESTION_LIMIT_S = 20.0
_REAP_S = 2.0


@dataclass(frozen=True)
class Answer:
    """How a program ended and what it printed. stderr is empty where both went into stdout."""

    return_code: int
    stdout: bytes
    stderr: bytes


def ask(
    argv: Sequence[str],
    environ: Mapping[str, str],
    limit_s: float = QUESTION_LIMIT_S,
    given: bytes = b"",
    together: bool = False,
) -> Answer:
    """Run `argv` in a session of its own and wait for its end.

    At the limit, and when this process is interrupted, all of its process group is ended: a script's children too.
    Args: given: for its stdin.  together: stderr goes into stdout.
    Raises: OSError: it can't be started.  subprocess.TimeoutExpired.  ExitUnseen.
    """
    process = Child(
        list(argv),
        env=dict(environ),
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(given or None, limit_s)
    except BaseException:
        end_group(process)
        raise
    return Answer(process.returncode, stdout, stderr or b"")


def end_group(process: Child) -> None:
    """End by force a process that leads a group, and its group; its pipes are closed, whoever else holds them.

    As long as it is not waited for, its number can't be another's. Raises nothing.
    """
    if process.returncode is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired, ExitUnseen):  # it waits for a device
            process.wait(_REAP_S)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def output_of(argv: Sequence[str], environ: Mapping[str, str], limit_s: float = QUESTION_LIMIT_S) -> str | None:
    """Return what `argv` prints on stdout and stderr together; None if it can't be run, fails, or takes over
    `limit_s`.
    """
    try:
        done = ask(argv, environ, limit_s, together=True)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.return_code == 0 else None
