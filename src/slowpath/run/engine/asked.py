# SPDX-License-Identifier: Apache-2.0
"""Asking a program of ours, with one error for all that keeps it from answering."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.probe import Answer, ask


def answer_of(argv: Sequence[str], environ: Mapping[str, str], limit_s: float, given: bytes = b"") -> Answer:
    """How `argv` ended and what it printed; `given` is its stdin.  Raises: EnvironmentFailure: no start, no end."""
    try:
        return ask(argv, environ, limit_s, given)
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(f"{' '.join(argv)}: took over {limit_s:g} s") from None
    except OSError as error:
        raise EnvironmentFailure(f"{argv[0]} can't be started: {error.strerror or error}") from error
