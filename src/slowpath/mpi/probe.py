# SPDX-License-Identifier: Apache-2.0
"""Asking another program a short question, with a time limit."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

# A launcher that hangs on a question (a dead batch system behind it, say) must not hang us.
QUESTION_LIMIT_S = 20.0


def output_of(argv: Sequence[str], environ: Mapping[str, str], limit_s: float = QUESTION_LIMIT_S) -> str | None:
    """What `argv` prints on stdout and stderr together; None if it can't be run, fails, or takes over `limit_s`."""
    try:
        done = subprocess.run(
            list(argv),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
