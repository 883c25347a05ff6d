# SPDX-License-Identifier: Apache-2.0
"""Choices of Open MPI. Names and values: `ompi_info --param all all --level 9` of 5.0.11. Pure."""

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
from slowpath.mpi.forced_algorithms import ALGORITHMS, forced

_DOCS = "https://docs.open-mpi.org/en/v5.0.x/"
_MCA, _SHARED = f"{_DOCS}mca.html", f"{_DOCS}tuning-apps/networking/shared-memory.html"
_COLL, _TCP = f"{_DOCS}tuning-apps/coll-tuned.html", f"{_DOCS}tuning-apps/networking/tcp.html"
_SELECTED = "names the module that each process selects"
_NOW, _FOUR = ">=5", ">=4,<5"


# Control variables of modules that no library here is built with.
_ELSEWHERE = {
    *("btl_smcuda_eager_limit", "smsc_xpmem_priority", "smsc_knem_priority", "coll_hcoll_priority"),
    *("coll_ucc_priority", "coll_xhc_priority", "coll_accelerator_priority"),
}


def _row(
    name: str,
    variables: dict[str, str],
    does: str,
    operations: tuple[Operation, ...] = EVERY_CALL,
    where: Where = ANY_JOB,
    needs: tuple[str, ...] = (),
    seen: str = "",
    source: str = _MCA,
    versions: str = _NOW,
    known: Known = "listed",
    transport: str | None = None,
) -> Alternative:
    """A row of variables without their prefix."""
    framework = next(iter(variables)).split("_")[0]
    return Alternative(
        name=name,
        applies=AppliesTo("openmpi", versions, transport),
        variables={f"OMPI_MCA_{key}": value for key, value in variables.items()},
        does=does,
        operations=operations,
        where=where,
        seen=seen or f"OMPI_MCA_{framework}_base_verbose=10 {_SELECTED}",
        source=source,
        needs=needs,
        known="documented" if _ELSEWHERE & set(needs) else known,
    )


_LONG: tuple[Operation, ...] = ("long messages", "one-sided")
_COLLECTIVE: tuple[Operation, ...] = ("MPI_Allreduce", "MPI_Bcast", "MPI_Barrier")
_OF: Mapping[str, tuple[Operation, ...]] = {
    "allreduce": ("MPI_Allreduce",),
    "bcast": ("MPI_Bcast",),
    "barrier": ("MPI_Barrier",),
}

_MESSAGES = (
    _row("pml ob1", {"pml": "ob1"}, "messages go by ob1 over a BTL, and by no library for networks"),
    _row(
        "pml ob1 over sm",
        {"pml": "ob1", "btl": "self,sm"},
        "messages inside a node take Open MPI's own shared memory",
        where=ONE_NODE,
    ),
    _row("pml cm", {"pml": "cm"}, "messages go by libfabric (MTL)", needs=("mtl_ofi_priority",)),
    _row("pml ucx", {"pml": "ucx"}, "messages go by UCX", needs=("pml_ucx_priority",)),
    _row("btl self,sm", {"btl": "self,sm"}, "messages inside a node take shared memory", where=ONE_NODE),
    _row("btl self,tcp", {"btl": "self,tcp"}, "messages take TCP, inside a node as well", source=_TCP),
    _row("btl ^tcp", {"btl": "^tcp"}, "no message takes TCP"),
    _row("btl ^ofi", {"btl": "^ofi"}, "puts and gets do not go by libfabric", needs=("btl_ofi_mode",)),
    _row("btl ^uct", {"btl": "^uct"}, "puts and gets do not go by UCX's lower layer", needs=("btl_uct_transports",)),
    _row(
        "btl ^smcuda",
        {"btl": "^smcuda"},
        "messages inside a node take sm and not the older module of CUDA builds, which has a higher priority",
        INSIDE,
        ONE_NODE,
        ("btl_smcuda_eager_limit",),
    ),
    _row(
        "btl ^vader",
        {"btl": "^vader"},
        "messages inside a node do not take vader, the shared memory of version 4",
        INSIDE,
        ONE_NODE,
        versions=_FOUR,
        known="documented",
    ),
    _row(
        "part ^persist",
        {"part": "^persist"},
        "the module of partitioned messages is not there to be polled in each progress",
        needs=("part_persist_free_list_num",),
    ),
    _row("mpi_leave_pinned 0", {"mpi_leave_pinned": "0"}, "registrations of memory are not kept", _LONG),
    _row("memory ^patcher", {"memory": "^patcher"}, "no hook watches what the program frees", _LONG),
)
_SINGLE_COPY = (
    _row("smsc cma", {"smsc": "cma"}, "long messages inside a node are copied once, by CMA", _LONG, ONE_NODE),
    _row(
        "smsc none",
        {"smsc": "^cma,xpmem,knem"},
        "long messages inside a node are copied twice, through shared memory",
        _LONG,
        ONE_NODE,
        source=_SHARED,
    ),
    _row(
        "smsc xpmem",
        {"smsc": "xpmem"},
        "long messages inside a node are copied once, by XPMEM",
        _LONG,
        ONE_NODE,
        ("smsc_xpmem_priority",),
        source=_SHARED,
    ),
    _row(
        "smsc knem",
        {"smsc": "knem"},
        "long messages inside a node are copied once, by KNEM",
        _LONG,
        ONE_NODE,
        ("smsc_knem_priority",),
        source=_SHARED,
    ),
    _row(
        "vader single copy none",
        {"btl_vader_single_copy_mechanism": "none"},
        "long messages inside a node are copied twice, through shared memory",
        _LONG,
        ONE_NODE,
        versions=_FOUR,
        known="documented",
    ),
)
_SHARED_MEMORY = (
    *(
        _row(
            f"sm eager limit {limit}",
            {"btl_sm_eager_limit": limit, "btl_sm_rndv_eager_limit": limit},
            f"messages inside a node up to {limit} B are eager",
            INSIDE,
            ONE_NODE,
            source=_SHARED,
            seen="MPI_T reads btl_sm_eager_limit back",
        )
        for limit in ("1024", "16384", "65536")
    ),
    _row(
        "sm fast boxes off",
        {"btl_sm_fbox_threshold": "4294967295"},
        "short messages go through the queue and not through a box for each pair",
        ("short messages",),
        ONE_NODE,
        seen="MPI_T reads btl_sm_fbox_threshold back",
    ),
    _row(
        "sm fast boxes at once",
        {"btl_sm_fbox_threshold": "1"},
        "the first message of a pair already sets its box up",
        ("short messages",),
        ONE_NODE,
        seen="MPI_T reads btl_sm_fbox_threshold back",
    ),
    _row(
        "sm larger fragments",
        {"btl_sm_max_send_size": "262144"},
        "long messages through shared memory go in fragments of 256 KiB",
        _LONG,
        ONE_NODE,
        seen="MPI_T reads btl_sm_max_send_size back",
    ),
    _row("shmem posix", {"shmem": "posix"}, "shared memory comes from shm_open", INSIDE, ONE_NODE),
    _row("shmem sysv", {"shmem": "sysv"}, "shared memory comes from shmget", INSIDE, ONE_NODE),
)
_ONE_SIDED = (
    *(
        _row(
            f"osc {module}",
            {"osc": module},
            does,
            ("one-sided",),
            where,
            (f"osc_{module}_priority",),
            versions=versions,
            known="listed" if versions == _NOW else "documented",
        )
        for module, does, where, versions in (
            ("sm", "windows are shared memory, whatever made them", ONE_NODE, _NOW),
            ("rdma", "windows go by the BTL's own puts and gets", ANY_JOB, _NOW),
            ("ucx", "windows go by UCX", ANY_JOB, _NOW),
            ("pt2pt", "windows go by messages", ANY_JOB, _FOUR),
        )
    ),
    _row("osc ^rdma", {"osc": "^rdma"}, "windows do not go by the BTL's puts and gets", ("one-sided",)),
    _row("osc ^sm", {"osc": "^sm"}, "windows are not shared memory", ("one-sided",), ONE_NODE),
)
_COLLECTIVES = (
    *(
        _row(f"coll ^{module}", {"coll": f"^{module}"}, does, operations, where, (f"coll_{module}_priority",))
        for module, does, operations, where in (
            ("han", "collectives are not split by node", _COLLECTIVE, ANY_JOB),
            ("tuned", "no table of algorithms decides", _COLLECTIVE, ANY_JOB),
            ("sm", "collectives do not go through shared memory of their own", _COLLECTIVE, ONE_NODE),
            ("adapt", "no collective is driven by events", _COLLECTIVE, ANY_JOB),
            ("libnbc", "nonblocking collectives are not there", _COLLECTIVE, ANY_JOB),
            ("sync", "no barrier is put between collectives", _COLLECTIVE, ANY_JOB),
            ("inter", "no module for intercommunicators is there", _COLLECTIVE, ANY_JOB),
            ("hcoll", "collectives do not go by HCOLL", _COLLECTIVE, ANY_JOB),
            ("ucc", "collectives do not go by UCC", _COLLECTIVE, ANY_JOB),
            ("xhc", "collectives are not split by the machine's hierarchy", _COLLECTIVE, ONE_NODE),
        )
    ),
    _row(
        "coll ^accelerator",
        {"coll": "^accelerator"},
        "collectives on GPU memory are not staged through the host by the module that has the highest priority",
        ("GPU memory", "MPI_Allreduce"),
        GPU,
        ("coll_accelerator_priority",),
        source="https://github.com/open-mpi/ompi/issues/12637",
    ),
    _row(
        "coll sm first",
        {"coll_sm_priority": "90"},
        "collectives inside a node go through shared memory of their own",
        _COLLECTIVE,
        ONE_NODE,
        ("coll_sm_priority",),
    ),
    _row(
        "coll han first",
        {"coll_han_priority": "90"},
        "collectives are split by node, on one node as well",
        _COLLECTIVE,
        ANY_JOB,
        ("coll_han_priority",),
        source="https://github.com/open-mpi/ompi/issues/13082",
    ),
    _row(
        "coll adapt first",
        {"coll_adapt_priority": "90"},
        "broadcast and reduce are driven by events",
        ("MPI_Bcast",),
        ANY_JOB,
        ("coll_adapt_priority",),
    ),
    *(
        Alternative(
            name=f"coll tuned {collective} {number}",
            applies=AppliesTo("openmpi", ">=4"),
            variables=forced("openmpi", collective, number),
            does=f"MPI_{collective.capitalize()} takes algorithm {number} at every length",
            operations=_OF[collective],
            where=ANY_JOB,
            seen=f"MPI_T reads coll_tuned_{collective}_algorithm back",
            source=_COLL,
        )
        for collective in _OF
        for number in ALGORITHMS["openmpi"][collective]
    ),
)
_WAITING = (
    _row(
        "yield when idle",
        {"mpi_yield_when_idle": "1"},
        "ranks that wait give their processor away",
        seen="MPI_T reads mpi_yield_when_idle back",
    ),
    _row(
        "never yield",
        {"mpi_yield_when_idle": "0"},
        "ranks that wait do not give their processor away, on a node with more ranks than processors as well",
        seen="MPI_T reads mpi_yield_when_idle back",
    ),
)
_BETWEEN_NODES: tuple[Operation, ...] = ("messages between nodes",)
_TCP_ROWS = (
    _row("tcp two links", {"btl_tcp_links": "2"}, "two connections for each pair", _BETWEEN_NODES, NODES, source=_TCP),
    _row(
        "tcp eager limit 256 KiB",
        {"btl_tcp_eager_limit": "262144", "btl_tcp_rndv_eager_limit": "262144"},
        "messages between nodes up to 256 KiB are eager",
        _BETWEEN_NODES,
        NODES,
        source=_TCP,
    ),
    _row(
        "tcp buffers of the kernel",
        {"btl_tcp_sndbuf": "0", "btl_tcp_rcvbuf": "0"},
        "the kernel chooses the size of the buffers of sockets",
        _BETWEEN_NODES,
        NODES,
        source=_TCP,
    ),
    _row(
        "tcp on {device}",
        {"btl_tcp_if_include": "{device}"},
        "TCP takes one device alone",
        _BETWEEN_NODES,
        NODES,
        source=_TCP,
    ),
    _row(
        "tcp progress thread",
        {"btl_tcp_progress_thread": "1"},
        "a thread of its own moves messages by TCP",
        _BETWEEN_NODES,
        NODES,
        source=_TCP,
    ),
)

OPEN_MPI: tuple[Alternative, ...] = (
    *_MESSAGES,
    *_SINGLE_COPY,
    *_SHARED_MEMORY,
    *_ONE_SIDED,
    *_COLLECTIVES,
    *_WAITING,
    *_TCP_ROWS,
)
