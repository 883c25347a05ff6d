# SPDX-License-Identifier: Apache-2.0
"""Which launcher a user's command begins with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from slowpath.mpi.identify import identify
from slowpath.mpi.probe import output_of
from slowpath.watch.start.environment import LAUNCHERS

_ANYONES = ("mpiexec", "mpirun")  # each library has one of these names


def launcher_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Name in mpi.launchers; empty: the command begins with something else, as a script or the program alone."""
    name = os.path.basename(command[0])
    if name.split(".")[0] not in LAUNCHERS:
        return ""
    if name.split(".")[0] not in _ANYONES:
        return name
    said = output_of([command[0], "--version"], environ)
    return identify(said or "", name).launcher
