# SPDX-License-Identifier: Apache-2.0
"""Which environment variables a record keeps: the one list. Pure.

A variable that steers MPI and is not on the list is recorded by its name and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from slowpath.core.guard import why_secret
from slowpath.mpi.libraries import BELOW_PREFIXES, PREFIXES

VARIABLES = "variables"  # of the machine, in run.json: name -> value
NOT_RECORDED = "variables_not_recorded"  # name -> why there is no value
NOT_LISTED = "not on the list of variables that are recorded"
NOT_FITTING = "its value is not one line of printable characters"
LONGEST_VALUE = 4096

# PMIx has its tuning below PMIX_MCA_; what else begins with PMIX_ belongs to one job: addresses, name spaces, cookies.
_LIBRARIES = "|".join(re.escape("PMIX_MCA_" if prefix == "PMIX_" else prefix) for prefix in PREFIXES)
# Words of names that are one job's own: where its daemons listen, and what its processes know one another by.
_ONE_JOB = re.compile(r"(?:^|_)(?:URI|URL|UUID|HNP|CONTACT)(?:_|$)|precondition_transports", re.IGNORECASE)
_RECORDED = re.compile(
    rf"(?:{_LIBRARIES})\w+|(?:CUDA|SLOWPATH|OMP|MALLOC|OPENBLAS|GOTO|BLIS|MKL)_\w+|GLIBC_TUNABLES|LD_PRELOAD"
    r"|(?:CUDA|HIP|ROCR|NVIDIA)_VISIBLE_DEVICES|UCX_NET_DEVICES|FI_\w+_IFACE|MPICH_OFI_NIC_\w+"
    r"|SLURM_(?:(?:JOB|STEP)_GPUS|(?:JOB_|STEP_)?NODELIST|SUBMIT_HOST|SUBMIT_DIR|CONF|NTASKS\w*|NPROCS|NNODES"
    r"|JOB_NUM_NODES|STEP_NUM_\w+|STEP_TASKS_PER_NODE|CPUS_\w+|JOB_CPUS_\w+|TASKS_PER_NODE|MEM_PER_\w+"
    r"|THREADS_PER_CORE|CORE_SPEC|GPUS\w*|CPU_BIND\w*|MEM_BIND\w*|GPU_BIND|HINT|DISTRIBUTION|MPI_TYPE|NETWORK"
    r"|OVERCOMMIT|OVERSUBSCRIBE|EXACT|WHOLE|CPU_FREQ_REQ|TRES_PER_TASK|PROCID|LOCALID|NODEID|PRIO_PROCESS"
    r"|RESTART_COUNT|TOPOLOGY_ADDR\w*|JOB_?ID|STEP_?ID|JOB_(?:NAME|PARTITION|QOS|ACCOUNT|USER)|CLUSTER_NAME"
    r"|ARRAY_(?:JOB|TASK)_ID)|SLURMD_NODENAME"
    r"|PBS_(?:O_HOST|NODEFILE|O_WORKDIR|JOBID|JOBNAME|QUEUE|O_QUEUE|NP|NUM_NODES|NUM_PPN|NODENUM|TASKNUM|VNODENUM)"
    r"|FLUX_(?:JOB_ID|JOB_NNODES|JOB_SIZE|TASK_RANK|TASK_LOCAL_ID)"
)
# Variables that steer MPI, its transports, threads or the BLAS: without them a run can't be explained, so the name of
# each is recorded even where its value is not.
STEERING_PREFIXES = (
    *PREFIXES,
    *BELOW_PREFIXES,
    *("SLURM_", "PBS_", "FLUX_", "SLOWPATH_", "OMP_", "LD_PRELOAD"),
    *("OPENBLAS_", "GOTO_", "BLIS_", "MKL_"),
)


def why_not(name: str, value: str) -> str | None:
    """Why the value of a variable is not recorded; None: it is."""
    if secret := why_secret(name, value):
        return secret
    if _ONE_JOB.search(name) or not _RECORDED.fullmatch(name):
        return NOT_LISTED
    return None if len(value) <= LONGEST_VALUE and value.isprintable() else NOT_FITTING


def recorded_variables(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that steer MPI: those whose value is recorded, and the reason why each other one is not."""
    steering = {name: value for name, value in sorted(environ.items()) if name.startswith(STEERING_PREFIXES)}
    hidden = {name: reason for name, value in steering.items() if (reason := why_not(name, value))}
    return {name: value for name, value in steering.items() if name not in hidden}, hidden
