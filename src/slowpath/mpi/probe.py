# SPDX-License-Identifier: Apache-2.0
"""Asking another program a short question, with a time limit, and without leaving anything of it behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.mpi.child import Child, ExitUnseen

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
