# SPDX-License-Identifier: Apache-2.0
"""Starting a program beside the jobs that are measured: the user's own, or another slowpath."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

from slowpath.core.signals import Action, as_user_had, handled, held_back
from slowpath.mpi.child import Child

# Whatever asks the program to stop becomes KeyboardInterrupt: Ctrl-C, a batch system's SIGTERM, a closed terminal.

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


def start_users(
    command: Sequence[str],
    environ: Mapping[str, str],
    mask: set[signal.Signals] | set[int],
    stdout: int | None = None,
) -> Child:
    """Start the user's command with the user's streams, open files, dispositions of signals and signal mask.

    Args: mask: the signals that the user blocked.  stdout: another descriptor for it.
    Raises: OSError.
    """
    with held_back():
        return Child(list(command), env=dict(environ), stdout=stdout, close_fds=False, preexec_fn=as_user_had(mask))


def start_piped(argv: Sequence[str], environ: Mapping[str, str]) -> Child:
    """Start a program whose stdout and stderr this process reads.  Raises: OSError."""
    return Child(list(argv), env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
