# SPDX-License-Identifier: Apache-2.0
"""How many cores and nodes this job may use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from slowpath.mpi.batch_systems import find_allocation


def allowed_cores(system: Path = Path("/sys/devices/system/cpu")) -> int:
    """Physical cores among the processors that this process may run on; processors where no cores are reported.

    Launchers count cores, not hardware threads, when they decide that there are more ranks than places.
    """
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            siblings = (system / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        cores.add(siblings)
    return len(cores)


def allocated_nodes(environ: Mapping[str, str]) -> int:
    """Nodes of the batch system's allocation; 1 without one.  Raises: as find_allocation."""
    found = find_allocation(environ)
    return found.nodes if found else 1
