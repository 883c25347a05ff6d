# SPDX-License-Identifier: Apache-2.0
"""Starting a program beside the jobs that are measured: the user's own, or another slowpath."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from slowpath.core.signals import as_user_had, held_back
from slowpath.mpi.probe import Child


def start_users(
    command: Sequence[str],
    environ: Mapping[str, str],
    mask: set[signal.Signals] | set[int],
) -> Child:
    """Start the user's command with the user's streams, open files, dispositions of signals and signal mask.

    Args: mask: the signals that the user blocked.
    Raises: OSError.
    """
    with held_back():
        return Child(list(command), env=dict(environ), close_fds=False, preexec_fn=as_user_had(mask))
