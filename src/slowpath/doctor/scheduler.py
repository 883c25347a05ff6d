# SPDX-License-Identifier: Apache-2.0
"""The batch system's allocation, if this is one."""

from __future__ import annotations

import os
from collections.abc import Mapping

from slowpath.core.errors import EnvironmentFailure
from slowpath.doctor.check import Check
from slowpath.mpi.batch_systems import HOST_FILE, find_allocation

_USED = "slowpath run uses this allocation; it never submits a job itself"


def allocation(environ: Mapping[str, str] | None = None) -> Check:
    """Batch system, job and number of nodes."""
    try:
        found = find_allocation(os.environ if environ is None else environ)
    except EnvironmentFailure as error:
        return Check("allocation", None, "warn", str(error), "start slowpath on the job's own node, or leave the job")
    if found is None:
        return Check("allocation", "none", "ok", "not inside a batch job: ranks run on this machine")
    job = f" job {found.job}" if found.job else ""
    value = f"{found.title}{job}, {found.nodes} node{'s' if found.nodes > 1 else ''}"
    return Check("allocation", value, "ok", _USED if found.scheduler != HOST_FILE else "launchers use these nodes")
