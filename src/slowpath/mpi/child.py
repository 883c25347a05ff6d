# SPDX-License-Identifier: Apache-2.0
"""A program that was started, and how it ended: what nobody saw is an error, never an exit code.

Where another part of this process collected the child, or the kernel did by itself, waitpid(2) gives ECHILD, and
subprocess makes 0 of it. So the end is looked at with waitid(2) before subprocess collects it.
"""

from __future__ import annotations

import os
import subprocess
import time

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
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | options)
        except ChildProcessError:
            raise ExitUnseen(
                f"{self._name()}: ended, but its exit code is lost, because a preloaded library or another part of "
                "this process collects children; start it without that library"
            ) from None
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def _collect(self, code: int) -> None:
        super().wait()
        self.returncode = code

    def _name(self) -> str:
        words = self.args
        if isinstance(words, (str, bytes, os.PathLike)):
            return os.fsdecode(words)
        return os.fsdecode(next(iter(words)))
