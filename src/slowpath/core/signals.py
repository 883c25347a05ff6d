# SPDX-License-Identifier: Apache-2.0
"""What this process does on a signal, for a while, and what the programs that it starts do.

A program inherits which signals are ignored and which are blocked (execve(2)). Slowpath needs SIGCHLD as the system has
it by default: where it is ignored, the kernel throws exit codes away (wait(2)). The user's program gets back what the
user had; programs that Slowpath needs for itself start with nothing blocked, and with the signals that end a job.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

Action = Callable[[int, FrameType | None], Any] | int | signal.Handlers
# Python ignores these two from its first moment on, so whether the user did can't be seen in this process.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# These shells ignore none of the two on their own account, and pass on what they ignore (POSIX, 2.12 and 2.15, trap).
_SHELLS = ("sh", "bash", "dash", "ksh", "mksh", "ash", "busybox")
_END_A_JOB = (signal.SIGTERM, signal.SIGCHLD)
_BYTES = 4096  # more than any C library's struct sigaction
_ignored_by_user: set[signal.Signals] = set()


@contextlib.contextmanager
def handled(actions: Mapping[signal.Signals, Action]) -> Iterator[None]:
    """Inside, these signals do as given; afterwards what they did before, whoever installed that.

    Only in the main thread, else nothing is changed. Python does not know a handler that a library installed
    (signal.getsignal gives None, or what was before it), so the C library puts that back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    put_back: list[Callable[[], object]] = []
    try:
        for number, action in actions.items():
            undo = _undo(number)
            signal.signal(number, action)
            put_back.append(undo)
        yield
    finally:
        for undo in reversed(put_back):
            undo()


@contextlib.contextmanager
def exit_codes_kept() -> Iterator[None]:
    """Inside, the kernel keeps how a child ended until it is waited for, whatever SIGCHLD was set to."""
    ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    with handled({signal.SIGCHLD: signal.SIG_DFL}):
        if ignored:
            _ignored_by_user.add(signal.SIGCHLD)
        try:
            yield
        finally:
            _ignored_by_user.discard(signal.SIGCHLD)


@contextlib.contextmanager
def held_back() -> Iterator[set[signal.Signals] | set[int]]:
    """Inside, no signal reaches this thread, nor a child before it says so. Gives the mask as it was."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def as_user_had(mask: set[signal.Signals] | set[int]) -> Callable[[], None]:
    """What a child does before it becomes the user's program; to be started while signals are held back.

    mask: that the user had.
    """
    ignored = {*_ignored_by_user, *(number for number in IGNORED_BY_PYTHON if _shell_ignores(number))}

    def prepare() -> None:
        _reset(ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    return prepare


def as_job() -> None:
    """Prepare a child for a job of ours, which has to end when it is asked to."""
    _reset(set())
    for number in _END_A_JOB:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _reset(ignored: set[signal.Signals]) -> None:
    """No handler of ours, so that a signal that comes now ends the child, as it would end the program."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)) or number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def _undo(number: signal.Signals) -> Callable[[], object]:
    python, kept = signal.getsignal(number), ctypes.create_string_buffer(_BYTES)
    sigaction = getattr(ctypes.CDLL(None), "sigaction", None)
    is_kept = sigaction is not None and sigaction(int(number), None, kept) == 0

    def undo() -> None:
        signal.signal(number, signal.SIG_DFL if python is None else python)
        if sigaction is not None and is_kept:
            sigaction(int(number), kept, None)

    return undo


def _shell_ignores(number: signal.Signals) -> bool:
    """Whether the parent is a shell that ignores the signal, and so hands that on."""
    parent = Path(f"/proc/{os.getppid()}")
    try:
        if (parent / "comm").read_text().strip() not in _SHELLS:
            return False
        row = next(line for line in (parent / "status").read_text().splitlines() if line.startswith("SigIgn:"))
        return bool(int(row.split()[1], 16) >> (number - 1) & 1)
    except (OSError, StopIteration, ValueError, IndexError):
        return False


STOPPING = (signal.SIGTERM, signal.SIGHUP)
# A session that closes sends both, one after the other; the second must not cut what the first one made us save.
ONE_REQUEST_S = 2.0


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP raise KeyboardInterrupt as SIGINT does; afterwards all is as before.

    One that is ignored stays so: `nohup slowpath run` outlives its terminal. Ctrl-C is heard, too, where a preloaded
    library has a handler for SIGINT, which keeps Python from installing its own.
    """
    last_s = -ONE_REQUEST_S

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        now_s, before_s, last_s = time.monotonic(), last_s, time.monotonic()
        if now_s - before_s >= ONE_REQUEST_S:
            raise KeyboardInterrupt

    actions: dict[signal.Signals, Action] = {
        number: stop for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN
    }
    if signal.getsignal(signal.SIGINT) is None:
        actions[signal.SIGINT] = signal.default_int_handler
    with handled(actions):
        yield
