# SPDX-License-Identifier: Apache-2.0
"""The batch system's allocation, if this is one."""

from __future__ import annotations

import os

from slowpath.doctor.check import Check
from slowpath.launch.cores import allocated_nodes

# The variable that each batch system sets inside an allocation.
JOBS = (
    ("Slurm", "SLURM_JOB_ID"),
    ("PBS", "PBS_JOBID"),
    ("Flux", "FLUX_JOB_ID"),
    ("LSF", "LSB_JOBID"),
    ("Grid Engine", "JOB_ID"),
    ("Cobalt", "COBALT_JOBID"),
)


def allocation() -> Check:
    """Batch system, job and number of nodes."""
    for name, variable in JOBS:
        if os.environ.get(variable):
            nodes = allocated_nodes(os.environ)
            value = f"{name} job {os.environ[variable]}, {nodes} node{'s' if nodes > 1 else ''}"
            return Check("allocation", value, "ok", "slowpath run uses this allocation; it never submits a job itself")
    return Check("allocation", "none", "ok", "not inside a batch job: ranks run on this machine")
