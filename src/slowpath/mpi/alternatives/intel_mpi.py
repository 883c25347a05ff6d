# SPDX-License-Identifier: Apache-2.0
"""Choices of Intel MPI. Names: `impi_info -a` and the library of 2021.18.1. Pure."""

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
    Operation,
    Where,
)
from slowpath.mpi.applies import AppliesTo
from slowpath.mpi.forced_algorithms import ALGORITHMS, forced

_REFERENCE = "https://www.intel.com/content/www/us/en/docs/mpi-library/developer-reference-linux/2021-17/"
_FABRICS = f"{_REFERENCE}communication-fabrics-control.html"
_SHM = f"{_REFERENCE}shared-memory-control.html"
_ADJUST = f"{_REFERENCE}i-mpi-adjust-family-environment-variables.html"
_OTHER = f"{_REFERENCE}other-environment-variables.html"
_LONG: tuple[Operation, ...] = ("long messages", "one-sided")
_COLLECTIVE: tuple[Operation, ...] = ("MPI_Allreduce", "MPI_Bcast", "MPI_Barrier")
_OF: Mapping[str, tuple[Operation, ...]] = {
    "allreduce": ("MPI_Allreduce",),
    "bcast": ("MPI_Bcast",),
    "barrier": ("MPI_Barrier",),
}
_DEBUG = "I_MPI_DEBUG=10 prints what holds"


def _row(
    name: str,
    variables: dict[str, str],
    does: str,
    operations: tuple[Operation, ...] = EVERY_CALL,
    where: Where = ANY_JOB,
    source: str = _OTHER,
) -> Alternative:
    variables = {key if key.startswith("FI_") else f"I_MPI_{key}": value for key, value in variables.items()}
    return Alternative(name, AppliesTo("intelmpi", ">=2019"), variables, does, operations, where, _DEBUG, source)


INTEL_MPI: tuple[Alternative, ...] = (
    _row("fabrics shm", {"FABRICS": "shm"}, "shared memory alone; one node", INSIDE, ONE_NODE, _FABRICS),
    _row("fabrics ofi", {"FABRICS": "ofi"}, "messages inside a node go by libfabric", source=_FABRICS),
    _row("fabrics shm:ofi", {"FABRICS": "shm:ofi"}, "shared memory inside a node, libfabric beyond", source=_FABRICS),
    *(
        _row(
            f"provider {provider}",
            {"FABRICS": "shm:ofi", "FI_PROVIDER": provider},
            f"messages between nodes go by libfabric's provider {provider}",
            ("messages between nodes",),
            NODES,
            _FABRICS,
        )
        for provider in ("tcp", "verbs", "mlx", "psm3", "efa")
    ),
    _row(
        "libfabric of the system",
        {"OFI_LIBRARY_INTERNAL": "0"},
        "the system's libfabric is loaded and not Intel's",
        ("messages between nodes",),
        NODES,
        _FABRICS,
    ),
    _row("shm by CMA", {"SHM_CMA": "1"}, "long messages inside a node are copied by CMA", _LONG, ONE_NODE, _SHM),
    _row("shm without CMA", {"SHM_CMA": "0"}, "no message is copied by CMA", _LONG, ONE_NODE, _SHM),
    *(
        _row(
            f"shm for {kind}",
            {"SHM": kind},
            f"shared memory as for {what}",
            INSIDE,
            ONE_NODE,
            _SHM,
        )
        for kind, what in (
            ("bdw_sse", "Broadwell, with SSE"),
            ("bdw_avx2", "Broadwell, with AVX2"),
            ("skx_avx2", "Skylake, with AVX2"),
            ("skx_avx512", "Skylake, with AVX-512"),
            ("icx", "Ice Lake"),
        )
    ),
    _row(
        "shm cells of 128 KiB",
        {"SHM_CELL_FWD_SIZE": "131072"},
        "messages through shared memory go in cells of 128 KiB",
        INSIDE,
        ONE_NODE,
        _SHM,
    ),
    _row(
        "shm cells of 16 KiB",
        {"SHM_CELL_FWD_SIZE": "16384"},
        "messages through shared memory go in cells of 16 KiB",
        INSIDE,
        ONE_NODE,
        _SHM,
    ),
    _row("shm heap on", {"SHM_HEAP": "1"}, "malloc gives memory that both ranks can reach", _LONG, ONE_NODE, _SHM),
    _row("shm heap off", {"SHM_HEAP": "0"}, "malloc is the C library's", _LONG, ONE_NODE, _SHM),
    _row("shm pauses less", {"SHM_PAUSE": "0"}, "waiting for shared memory does not pause", INSIDE, ONE_NODE, _SHM),
    _row("own malloc off", {"MALLOC": "0"}, "malloc is the C library's"),
    _row("wait mode", {"WAIT_MODE": "1"}, "ranks that wait sleep until a message comes"),
    _row("no wait mode", {"WAIT_MODE": "0"}, "ranks that wait look for messages and do not sleep"),
    *(
        _row(f"thread yield {kind}", {"THREAD_YIELD": kind}, f"ranks that wait {does}")
        for kind, does in (
            ("0", "do nothing else"),
            ("1", "pause"),
            ("2", "call sched_yield"),
            ("3", "sleep"),
        )
    ),
    _row("spin once", {"SPIN_COUNT": "1"}, "ranks that wait look once before they yield"),
    _row("spin long", {"SPIN_COUNT": "2000"}, "ranks that wait look 2000 times before they yield"),
    _row("no pause", {"PAUSE_COUNT": "0"}, "ranks that wait look without a pause"),
    _row("asynchronous progress", {"ASYNC_PROGRESS": "1"}, "a thread of each rank makes progress"),
    _row("no asynchronous progress", {"ASYNC_PROGRESS": "0"}, "no thread makes progress beside the program's"),
    _row(
        "collectives by messages",
        {"COLL_INTRANODE": "pt2pt"},
        "collectives inside a node are made of messages",
        _COLLECTIVE,
        ONE_NODE,
    ),
    _row(
        "collectives by shared memory",
        {"COLL_INTRANODE": "shm"},
        "collectives inside a node go through shared memory of their own",
        _COLLECTIVE,
        ONE_NODE,
    ),
    _row("GPU support off", {"OFFLOAD": "0"}, "no message asks whether its buffer is GPU memory", EVERY_CALL, GPU),
    *(
        Alternative(
            name=f"adjust {collective} {number}",
            applies=AppliesTo("intelmpi", ">=2019"),
            variables=forced("intelmpi", collective, number),
            does=f"MPI_{collective.capitalize()} takes algorithm {number} at every length",
            operations=_OF[collective],
            where=ANY_JOB,
            seen=_DEBUG,
            source=_ADJUST,
        )
        for collective in _OF
        for number in ALGORITHMS["intelmpi"][collective]
    ),
)
