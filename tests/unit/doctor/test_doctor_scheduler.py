# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of the batch system; which one it is, is tested in tests/unit/mpi."""

from __future__ import annotations

import pytest

from slowpath.doctor.registry import allocation


@pytest.mark.parametrize(
    ("environ", "value"),
    [
        ({}, "none"),
        ({"JOB_ID": "7"}, "none"),
        ({"SLURM_JOB_ID": "7"}, "Slurm job 7, 1 node"),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]"}, "Slurm job 7, 3 nodes"),
        ({"PBS_JOBID": "7.server"}, "PBS job 7.server, 1 node"),
        ({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "a 2 b 2"}, "LSF job 7, 2 nodes"),
        ({"FLUX_URI": "x", "FLUX_JOB_NNODES": "2", "FLUX_JOB_ID": "f3"}, "Flux job f3, 2 nodes"),
        ({"FLUX_URI": "x", "FLUX_JOB_NNODES": "2"}, "Flux, 2 nodes"),
        ({"JOB_ID": "7", "SGE_TASK_ID": "undefined"}, "Grid Engine job 7, 1 node"),
        ({"COBALT_JOBID": "7", "COBALT_JOBSIZE": "8"}, "Cobalt job 7, 8 nodes"),
    ],
)
def test_each_batch_system_by_its_name(environ: dict[str, str], value: str) -> None:
    found = allocation(environ)
    assert (found.value, found.status) == (value, "ok")
