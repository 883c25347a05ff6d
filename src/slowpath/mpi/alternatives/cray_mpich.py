# SPDX-License-Identifier: Apache-2.0
"""Choices of Cray MPICH, which has variables of its own, by its documentation: none was run. Pure."""

from __future__ import annotations

from slowpath.mpi.alternatives.alternative import (
    ANY_JOB,
    EVERY_CALL,
    GPU,
    INSIDE,
    NODES,
    ONE_NODE,
    Alternative,
    Operation,
    Where,
)
from slowpath.mpi.applies import AppliesTo

_LONG: tuple[Operation, ...] = ("long messages", "one-sided")
_COLLECTIVE: tuple[Operation, ...] = ("MPI_Allreduce", "MPI_Bcast", "MPI_Barrier")
_BETWEEN: tuple[Operation, ...] = ("messages between nodes",)
_MR = "https://ofiwg.github.io/libfabric/main/man/fi_mr.3.html"
_CXI = "https://ofiwg.github.io/libfabric/main/man/fi_cxi.7.html"
_CRAY = "https://cpe.ext.hpe.com/docs/latest/mpt/mpich/intro_mpi.html"


def _cray(
    name: str,
    variables: dict[str, str],
    does: str,
    operations: tuple[Operation, ...],
    where: Where = ANY_JOB,
    source: str = _CRAY,
) -> Alternative:
    seen = "MPICH_ENV_DISPLAY=1 prints what holds" if source == _CRAY else "FI_LOG_LEVEL=info prints what holds"
    return Alternative(
        name, AppliesTo("craympich", ">=8"), variables, does, operations, where, seen, source, known="documented"
    )


CRAY_MPICH: tuple[Alternative, ...] = (
    _cray(
        "single copy CMA",
        {"MPICH_SMP_SINGLE_COPY_MODE": "CMA"},
        "messages inside a node are copied once, by CMA",
        _LONG,
        ONE_NODE,
    ),
    _cray(
        "single copy XPMEM",
        {"MPICH_SMP_SINGLE_COPY_MODE": "XPMEM"},
        "messages inside a node are copied once, by XPMEM",
        _LONG,
        ONE_NODE,
    ),
    _cray(
        "single copy none",
        {"MPICH_SMP_SINGLE_COPY_MODE": "NONE"},
        "messages inside a node are copied twice, through shared memory",
        _LONG,
        ONE_NODE,
    ),
    _cray(
        "single copy from 64 KiB",
        {"MPICH_SMP_SINGLE_COPY_SIZE": "65536"},
        "messages inside a node are copied once from 64 KiB on",
        INSIDE,
        ONE_NODE,
    ),
    _cray(
        "GPU support off",
        {"MPICH_GPU_SUPPORT_ENABLED": "0"},
        "no message asks whether its buffer is GPU memory",
        EVERY_CALL,
    ),
    _cray(
        "GPU by copies",
        {"MPICH_GPU_IPC_ENABLED": "0"},
        "no message maps GPU memory of another process",
        ("GPU memory",),
        GPU,
    ),
    _cray(
        "collectives by messages",
        {"MPICH_SHARED_MEM_COLL_OPT": "0"},
        "collectives do not go through shared memory of their own",
        _COLLECTIVE,
        ONE_NODE,
    ),
    _cray(
        "collectives of MPICH",
        {"MPICH_COLL_OPT_OFF": "1"},
        "collectives are MPICH's and not Cray's",
        _COLLECTIVE,
    ),
    _cray(
        "NIC by NUMA node",
        {"MPICH_OFI_NIC_POLICY": "NUMA"},
        "each rank takes the NIC of its NUMA node",
        _BETWEEN,
        NODES,
    ),
    _cray(
        "NIC in turn",
        {"MPICH_OFI_NIC_POLICY": "ROUND-ROBIN"},
        "ranks take NICs in turn",
        _BETWEEN,
        NODES,
    ),
    _cray(
        "asynchronous progress",
        {"MPICH_ASYNC_PROGRESS": "1"},
        "a thread of each rank makes progress",
        EVERY_CALL,
    ),
    *(
        _cray(
            f"registrations watched by {monitor}",
            {"FI_MR_CACHE_MONITOR": monitor},
            f"registered memory is kept, and {monitor} watches what the program frees",
            _BETWEEN,
            NODES,
            _MR,
        )
        for monitor in ("memhooks", "userfaultfd", "kdreg2")
    ),
    *(
        _cray(
            f"matching by {mode}",
            {"FI_CXI_RX_MATCH_MODE": mode},
            f"receives are matched in {mode}",
            _BETWEEN,
            NODES,
            _CXI,
        )
        for mode in ("hardware", "software", "hybrid")
    ),
    _cray(
        "rendezvous from 64 KiB",
        {"FI_CXI_RDZV_THRESHOLD": "65536"},
        "messages between nodes go by rendezvous from 64 KiB on",
        _BETWEEN,
        NODES,
        _CXI,
    ),
)
