# SPDX-License-Identifier: Apache-2.0
"""The user's command: whether this user watched it, and how it runs.

It runs as the shell would run it: its streams, its terminal and its open files are its own. Signals that ask this
process to stop, or that jobs send to programs, go on to the command. Ctrl-C reaches it by itself, as all of the
terminal's foreground; only one that was sent to this process alone (si_code says so) is handed on.

A folder may come from anybody, and must not decide what `slowpath prove` runs. A list of hashes lies next to the
engines, in a folder that nobody else may write; watch.json is only believed where its command, its working folder and
its stdin are on it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.files import append_at_once
from slowpath.core.owners import make_place, require_place, why_not_trusted
from slowpath.mpi.child import Child
from slowpath.run.engine.cache import VARIABLE, engines_folder
from slowpath.run.starting import start_users
from slowpath.watch.folder import WatchInfo

FILE = "commands"
_FOLDER = "watch"


def remember(info: WatchInfo, environ: Mapping[str, str]) -> None:
    """Put a command on the list; where that can't be written, nothing is: proving it then takes --trust."""
    path = _path(environ)
    with contextlib.suppress(OSError, EnvironmentFailure):
        require_place(path.parent, "commands", VARIABLE, environ)
        make_place(path.parent)
        if not is_known(info, environ):
            append_at_once(path, _hash(info) + "\n")


def is_known(info: WatchInfo, environ: Mapping[str, str]) -> bool:
    """Whether this user watched exactly this command there, and nobody else could have put it on the list."""
    path = _path(environ)
    try:
        require_place(path.parent, "commands", VARIABLE, environ)
        if why_not_trusted(path.stat(), environ) is not None:
            return False
        return _hash(info) in path.read_text(encoding="ascii").split()
    except (OSError, UnicodeError, EnvironmentFailure):
        return False


def _path(environ: Mapping[str, str]) -> Path:
    return engines_folder(environ).parent / _FOLDER / FILE


def _hash(info: WatchInfo) -> str:
    return hashlib.sha256(msgspec.json.encode([info.command, info.working_folder, info.stdin])).hexdigest()


NOT_FOUND, NOT_STARTED = 127, 126  # as the shell has them (POSIX, Shell Command Language, 2.8.2)
BY_SIGNAL = 128
HANDED_ON = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH),
)
_ASKS_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
STOPPED = 124  # as of timeout(1)
GRACE_S = 10.0  # that a program which hangs has to end
WAKE_S = 1.0  # it looks so often, whatever became of SIGCHLD
_FROM_THE_KERNEL = 0x80  # SI_KERNEL of sigaction(2): the terminal's


class NotFound(UsageError):
    """There is no such program."""

    exit_code = NOT_FOUND


class NotStarted(EnvironmentFailure):
    """The system refuses to start it."""

    exit_code = NOT_STARTED


@dataclass(frozen=True)
class CommandEnd:
    """How a command ended. code: its exit code; None: a signal ended it.  interrupted: it was asked to stop.

    until: CLOCK_REALTIME in seconds when it was first asked to stop, else when it ended.  hung: it was stopped since
    nothing moved.
    """

    code: int | None
    signal: int | None
    wall_s: float
    interrupted: bool
    until: float
    hung: bool = False

    @property
    def shell_code(self) -> int:
        """As a shell reports it; never 0 where it was stopped, so that no job script takes a hang for success."""
        if self.hung and self.code == 0:
            return STOPPED
        return self.code if self.code is not None else BY_SIGNAL + (self.signal or 0)


def require_program(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Raises: NotFound, NotStarted: the command can't be started."""
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        if os.path.isfile(command[0]):
            raise NotStarted(f"{command[0]}: is not an executable program; write the command after --")
        raise NotFound(f"{command[0]}: no such program; after -- write the command as you would start it")


def run_to_end(
    command: Sequence[str], environ: Mapping[str, str], hangs: Callable[[], bool] | None = None
) -> CommandEnd:
    """Start `command` in this process group and wait for its end; only from the main thread.

    Args:   hangs: asked every second; where it says yes, the command is asked to stop, and killed GRACE_S later.
    Raises: NotFound, NotStarted.  ExitUnseen: it ended, and nobody can say how.
    """
    waited = {*HANDED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        begun = time.monotonic()
        child = _start(command, environ, before)
        interrupted, until, killed_at = False, None, None
        while True:
            if (code := child.poll()) is not None:
                wall_s = time.monotonic() - begun
                break
            heard = signal.sigtimedwait(waited, WAKE_S)
            if heard is None or heard.si_signo == signal.SIGCHLD:
                if killed_at is not None and time.monotonic() >= killed_at:
                    os.kill(child.pid, signal.SIGKILL)
                elif killed_at is None and hangs is not None and until is None and hangs():
                    until, killed_at = time.time(), time.monotonic() + GRACE_S
                    os.kill(child.pid, signal.SIGTERM)
                continue
            number = signal.Signals(heard.si_signo)
            if number in _ASKS_TO_STOP:
                interrupted, until = True, until or time.time()
            if heard.si_code != _FROM_THE_KERNEL:
                os.kill(child.pid, number)
    finally:
        while signal.sigtimedwait(set(HANDED_ON), 0) is not None:  # or it would end us while we conclude
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return CommandEnd(
        code if code >= 0 else None,
        -code if code < 0 else None,
        wall_s,
        interrupted,
        until or time.time(),
        killed_at is not None,
    )


def _start(command: Sequence[str], environ: Mapping[str, str], mask: set[signal.Signals] | set[int]) -> Child:
    try:
        return start_users(command, environ, mask)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise NotFound(f"{command[0]}: no such program, or its interpreter is missing") from error
        raise NotStarted(f"{command[0]} can't be started: {error.strerror or error}") from error
