# SPDX-License-Identifier: Apache-2.0
"""Choices of MPICH. Names: MPI_T of MPICH 5.0.2. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.mpi.alternatives.alternative import (
    ANY_JOB,
    EVERY_CALL,
    GPU,
    INSIDE,
    NODES,
    ONE_NODE,
    Alternative,
    Known,
    Operation,
    Where,
)
from slowpath.mpi.applies import AppliesTo

_CH4 = "https://github.com/pmodels/mpich/tree/main/src/mpid/ch4"
_COLL = "https://github.com/pmodels/mpich/tree/main/src/mpi/coll"
_LONG: tuple[Operation, ...] = ("long messages", "one-sided")
_COLLECTIVE: tuple[Operation, ...] = ("MPI_Allreduce", "MPI_Bcast", "MPI_Barrier")
_OF: Mapping[str, tuple[Operation, ...]] = {
    "allreduce": ("MPI_Allreduce",),
    "bcast": ("MPI_Bcast",),
    "barrier": ("MPI_Barrier",),
}
_BETWEEN: tuple[Operation, ...] = ("messages between nodes",)


def _row(
    name: str,
    value: tuple[str, str],
    does: str,
    operations: tuple[Operation, ...],
    where: Where = ANY_JOB,
    versions: str = ">=4.2",
    source: str = _CH4,
    seen: str = "",
    known: Known = "listed",
) -> Alternative:
    """A row of one control variable, less its prefix."""
    variable = f"MPIR_CVAR_{value[0]}"
    return Alternative(
        name=name,
        applies=AppliesTo("mpich", versions),
        variables={variable: value[1]},
        does=does,
        operations=operations,
        where=where,
        seen=seen or f"MPI_T reads {variable} back",
        source=source,
        needs=(variable,),
        known=known,
    )


_PATHS = (
    _row("netmod ofi", ("CH4_NETMOD", "ofi"), "messages between nodes go by libfabric", _BETWEEN, NODES),
    _row("netmod ucx", ("CH4_NETMOD", "ucx"), "messages between nodes go by UCX", _BETWEEN, NODES),
    _row("local", ("NOLOCAL", "0"), "messages inside a node take shared memory", EVERY_CALL, ONE_NODE),
    _row(
        "no local",
        ("NOLOCAL", "1"),
        "messages inside a node take the network module and its own shared memory, if it has any",
        EVERY_CALL,
        ONE_NODE,
    ),
    _row(
        "CMA on",
        ("CH4_CMA_ENABLE", "1"),
        "long messages inside a node are copied once, by CMA",
        _LONG,
        ONE_NODE,
        seen="process_vm_readv in a trace of the receiver",
    ),
    _row(
        "CMA off",
        ("CH4_CMA_ENABLE", "0"),
        "long messages inside a node are copied twice, through shared memory (POSIX)",
        _LONG,
        ONE_NODE,
        seen="no process_vm_readv in a trace of the receiver",
    ),
    _row(
        "XPMEM on",
        ("CH4_XPMEM_ENABLE", "1"),
        "long messages inside a node are copied once, by XPMEM, where it is built in",
        _LONG,
        ONE_NODE,
    ),
    _row("XPMEM off", ("CH4_XPMEM_ENABLE", "0"), "no message is copied by XPMEM", _LONG, ONE_NODE),
    *(
        _row(
            f"CMA from {limit}",
            ("CH4_IPC_CMA_P2P_THRESHOLD", limit),
            f"messages inside a node from {limit} B on are copied once, by CMA",
            INSIDE,
            ONE_NODE,
        )
        for limit in ("2048", "32768", "131072")
    ),
    *(
        _row(
            f"cells of {size}",
            ("CH4_SHM_POSIX_IQUEUE_CELL_SIZE", size),
            f"messages inside a node go through shared memory in cells of {size} B",
            INSIDE,
            ONE_NODE,
        )
        for size in ("16384", "65536")
    ),
    _row(
        "256 cells",
        ("CH4_SHM_POSIX_IQUEUE_NUM_CELLS", "256"),
        "each process has 256 cells of shared memory for messages inside a node",
        INSIDE,
        ONE_NODE,
    ),
    _row(
        "cells of the receiver",
        ("GENQ_SHMEM_POOL_FREE_QUEUE_SENDER_SIDE", "0"),
        "cells of shared memory are the receiver's",
        INSIDE,
        ONE_NODE,
    ),
    _row(
        "cells of the sender",
        ("GENQ_SHMEM_POOL_FREE_QUEUE_SENDER_SIDE", "1"),
        "cells of shared memory are the sender's",
        INSIDE,
        ONE_NODE,
    ),
    _row(
        "topology in shared memory",
        ("CH4_SHM_POSIX_TOPO_ENABLE", "1"),
        "shared memory follows the machine's topology",
        INSIDE,
        ONE_NODE,
    ),
    _row(
        "one-sided keeps targets",
        ("CH4_RMA_MEM_EFFICIENT", "0"),
        "what is known of a target is kept until the window is freed",
        ("one-sided",),
    ),
    _row(
        "one-sided drops targets",
        ("CH4_RMA_MEM_EFFICIENT", "1"),
        "what is known of a target is dropped at the end of each epoch",
        ("one-sided",),
    ),
)
_COLLECTIVES = (
    _row(
        "collectives of MPICH alone",
        ("DEVICE_COLLECTIVES", "none"),
        "no device has collectives of its own: none goes through shared memory",
        _COLLECTIVE,
        source=_COLL,
    ),
    _row(
        "collectives of the device",
        ("DEVICE_COLLECTIVES", "all"),
        "the device's own collectives are preferred",
        _COLLECTIVE,
        source=_COLL,
    ),
    _row(
        "shared collectives at once",
        ("POSIX_NUM_COLLS_THRESHOLD", "0"),
        "collectives go through shared memory from a communicator's first call on",
        _COLLECTIVE,
        ONE_NODE,
    ),
    _row(
        "shared collectives never",
        ("POSIX_NUM_COLLS_THRESHOLD", "1000000"),
        "collectives do not go through shared memory of their own",
        _COLLECTIVE,
        ONE_NODE,
    ),
    *(
        _row(
            f"{collective} inside a node {algorithm}",
            (f"{collective.upper()}_POSIX_INTRA_ALGORITHM", algorithm),
            does,
            _OF[collective],
            ONE_NODE,
        )
        for collective in _OF
        for algorithm, does in (
            ("release_gather", f"MPI_{collective.capitalize()} goes through shared memory of its own inside a node"),
            ("mpir", f"MPI_{collective.capitalize()} is made of messages inside a node"),
        )
    ),
    *(
        _row(
            f"{collective} {algorithm}",
            (f"{collective.upper()}_INTRA_ALGORITHM", algorithm),
            f"MPI_{collective.capitalize()} takes {algorithm.replace('_', ' ')} at every length",
            _OF[collective],
            source=_COLL,
        )
        for collective, algorithms in (
            (
                "allreduce",
                ("smp", "recursive_doubling", "recursive_multiplying", "reduce_scatter_allgather", "recexch", "ring"),
            ),
            (
                "bcast",
                ("binomial", "smp", "scatter_recursive_doubling_allgather", "scatter_ring_allgather", "tree"),
            ),
            ("barrier", ("smp", "k_dissemination", "recexch")),
        )
        for algorithm in algorithms
    ),
)
_PROGRESS = (
    _row("GPU support off", ("ENABLE_GPU", "0"), "no message asks whether its buffer is GPU memory", EVERY_CALL),
    _row("progress throttle", ("CH4_PROGRESS_THROTTLE", "1"), "ranks that wait sleep now and then", EVERY_CALL),
    _row("no progress throttle", ("CH4_PROGRESS_THROTTLE", "0"), "ranks that wait do not sleep", EVERY_CALL),
    _row("no progress thread", ("ASYNC_PROGRESS", "0"), "no thread makes progress beside the program's", EVERY_CALL),
    _row("no global progress", ("CH4_GLOBAL_PROGRESS", "0"), "only the own interface is polled", EVERY_CALL),
    _row("never yield", ("POLLS_BEFORE_YIELD", "0"), "ranks that wait do not give their processor away", EVERY_CALL),
    _row("yield at once", ("POLLS_BEFORE_YIELD", "1"), "ranks that wait give their processor away", EVERY_CALL),
    _row(
        "poll shared memory always",
        ("POSIX_POLL_FREQUENCY", "0"),
        "waiting in collectives through shared memory does not yield",
        _COLLECTIVE,
        ONE_NODE,
    ),
    _row(
        "poll shared memory rarely",
        ("POSIX_POLL_FREQUENCY", "1"),
        "waiting in collectives through shared memory yields each time",
        _COLLECTIVE,
        ONE_NODE,
    ),
    _row(
        "GPU by IPC at every length",
        ("CH4_IPC_GPU_P2P_THRESHOLD", "0"),
        "messages from GPU memory of any length map the sender's allocation",
        ("GPU memory",),
        GPU,
    ),
    _row(
        "GPU handles not kept",
        ("CH4_IPC_GPU_HANDLE_CACHE", "disabled"),
        "mappings of GPU memory are made anew for each message",
        ("GPU memory",),
        GPU,
    ),
)
_OFI = (
    _row(
        "ofi eager limit 64 KiB",
        ("CH4_OFI_EAGER_THRESHOLD", "65536"),
        "messages by libfabric up to 64 KiB are eager",
        _BETWEEN,
        NODES,
    ),
    _row(
        "ofi one NIC",
        ("CH4_OFI_MAX_NICS", "1"),
        "messages by libfabric take one NIC",
        _BETWEEN,
        NODES,
    ),
    _row(
        "ofi striping",
        ("CH4_OFI_ENABLE_MULTI_NIC_STRIPING", "1"),
        "long messages by libfabric are spread over NICs",
        _BETWEEN,
        NODES,
    ),
)
MPICH: tuple[Alternative, ...] = (*_PATHS, *_COLLECTIVES, *_PROGRESS, *_OFI)
