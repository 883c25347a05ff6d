# SPDX-License-Identifier: Apache-2.0
"""The experiment `nccl`: MPI on device memory next to NCCL, in one process, on the same buffers and stream."""

from __future__ import annotations

from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.metric import Metric
from slowpath.experiments.nccl.cost import nccl_recorded_bytes, nccl_seconds
from slowpath.experiments.nccl.metrics import calls, first_use

_CALLS = (
    Metric(
        "gpu_call_s",
        "s",
        "lower",
        "one call on the slowest rank, from the call to the end of the work that it left on the stream",
        bandwidth=True,
    ),
    Metric("gpu_submit_s", "s", "lower", "inside the library's call, on the slowest rank"),
    Metric("gpu_wait_s", "s", "lower", "from the call's return to the end of the stream's work, on the slowest rank"),
)
STEP_MEANINGS = {
    "load": "the library is opened and its functions are found, once a process",
    "unique_id": "rank 0 makes the id of the communicator; where kernels are loaded at once, NCCL loads them here",
    "share_id": "the ranks agree that all have the library, and MPI_Bcast of the id",
    "runtime": "NCCL's own CUDA runtime starts on every rank, and all wait for the last one",
    "init": "ncclCommInitRank; NVSHMEM: nvshmemx_hostlib_init_attr; MPI: MPI_Comm_dup of the world",
    "buffers": "NVSHMEM: buffers in its symmetric heap, and the data is copied there",
    "one_element": "the first call, with one element of a small buffer: what the library connects and loads when it is "
    "first used",
    "first_call": "the first call with the message and its buffers",
    "init_kernels": "inside init, as NCCL reports it in steps of 10 ms: kernels",
    "init_alloc": "inside init, as NCCL reports it: allocations",
    "init_bootstrap": "inside init, as NCCL reports it: the ranks find each other",
    "init_allgathers": "inside init, as NCCL reports it: the ranks exchange what they are",
    "init_topo": "inside init, as NCCL reports it: the topology is found",
    "init_graphs": "inside init, as NCCL reports it: rings and trees are searched",
    "init_connections": "inside init, as NCCL reports it: the ranks connect",
    "init_rest": "inside init, as NCCL reports it: what it has no word for",
}
_FIRST_USE = (
    Metric(
        "gpu_first_use_s",
        "s",
        "lower",
        "all named steps of a first use together: from before the library is opened to the end of the first call with "
        "the message",
    ),
    *(Metric(f"gpu_{name}_s", "s", "lower", meaning) for name, meaning in STEP_MEANINGS.items()),
    Metric(
        "gpu_named_ratio",
        "1",
        "higher",
        "the part of a first use that has a name: all steps, and of NCCL's init what NCCL itself names",
    ),
    Metric("gpu_later_call_s", "s", "lower", "a call after the first one, on the slowest rank"),
)

NCCL = Experiment(
    name="nccl",
    patterns=(Pattern("calls", calls, _CALLS), Pattern("first_use", first_use, _FIRST_USE)),
    roles={
        "pattern": "setting",
        "library": "setting",
        "operation": "setting",
        "message_bytes": "covariate",
        "buffer_bytes": "covariate",
        "overalloc_bytes": "covariate",
        "allocations": "effort",
        "samples": "effort",
        "time_limit_s": "effort",
        "warmup_s": "effort",
        "validate": "effort",
    },
    seconds=nccl_seconds,
    recorded_bytes=nccl_recorded_bytes,
    views=("nccl",),
    brief={"samples": "40", "time_limit_s": "0.01", "warmup_s": "0.003"},
)
