# SPDX-License-Identifier: Apache-2.0
"""Variables by which a library does better what it can: the remedies that are variables are made from these rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.mpi.applies import AppliesTo


@dataclass(frozen=True)
class Tuning:
    """One library's way.

    name     for people, unique
    purpose  what it is for, as findings.remedies.variables knows it: the same for every library that has it
    source   where the library documents the variables
    only     parameter -> values of the cells that it is for; empty: any
    phrase   what stands after "Use"; None: the variables themselves
    """

    name: str
    purpose: str
    applies: AppliesTo
    variables: Mapping[str, str]
    source: str
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    phrase: str | None = None


# The numbers are those that ompi_info --all lists: recursive doubling in all three.
OPEN_MPI_LOGARITHMIC: Mapping[str, str] = {
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_scan_algorithm": "2",
    "OMPI_MCA_coll_tuned_exscan_algorithm": "2",
    "OMPI_MCA_coll_tuned_barrier_algorithm": "3",
}

# A reduce and a broadcast, by the numbers that ompi_info --all lists.
OPEN_MPI_UNSPLIT_ALLREDUCE: Mapping[str, str] = {
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_allreduce_algorithm": "2",
}

TUNINGS: tuple[Tuning, ...] = (
    Tuning(
        "asynchronous progress of MPICH",
        "asynchronous progress",
        AppliesTo("mpich", ">=3.2"),
        {"MPIR_CVAR_ASYNC_PROGRESS": "1"},
        "MPICH: MPIR_CVAR_ASYNC_PROGRESS",
    ),
    Tuning(
        "asynchronous progress of Intel MPI",
        "asynchronous progress",
        AppliesTo("intelmpi", ">=2019"),
        {"I_MPI_ASYNC_PROGRESS": "1"},
        "Intel MPI Library Developer Reference, Asynchronous Progress Control",
    ),
    Tuning(
        "larger cache of GPU handles in MPICH",
        "larger handle cache",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_CH4_IPC_GPU_MAX_CACHE_ENTRIES": "1024"},
        "MPICH: MPIR_CVAR_CH4_IPC_GPU_MAX_CACHE_ENTRIES",
    ),
    Tuning(
        "handle cache of UCX",
        "handle cache",
        AppliesTo("openmpi", transport="ucx"),
        {"UCX_CUDA_IPC_CACHE": "y"},
        "UCX: UCX_CUDA_IPC_CACHE",
    ),
    Tuning(
        "asynchronous progress of Cray MPICH",
        "asynchronous progress",
        AppliesTo("craympich", ">=8"),
        {"MPICH_ASYNC_PROGRESS": "1"},
        "HPE Cray MPICH: MPICH_ASYNC_PROGRESS; 8.1.17 prints 0 as its default",
    ),
    Tuning(
        "larger cache of GPU handles in Cray MPICH",
        "larger handle cache",
        AppliesTo("craympich", ">=8.1"),
        {"MPICH_GPU_IPC_CACHE_MAX_SIZE": "1000"},
        "HPE Cray MPICH: MPICH_GPU_IPC_CACHE_MAX_SIZE; 50 by default, 1000 in job scripts for Frontier (8.1.30, 9.0.1)",
    ),
    Tuning(
        "GPU memory without IPC in Cray MPICH",
        "no mapping of GPU memory",
        AppliesTo("craympich", ">=8.1"),
        {"MPICH_GPU_IPC_ENABLED": "0"},
        "HPE Cray MPICH: MPICH_GPU_IPC_ENABLED; 8.1.17 prints 1 as its default",
    ),
    Tuning(
        "later opening of shared-memory collectives in MPICH",
        "later opening",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "1000000"},
        "MPICH: MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD, 5 by default",
        phrase="MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD=1000000 for short-lived communicators",
    ),
    Tuning(
        "more memory for shared-memory collectives in MPICH",
        "more memory for collectives",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_COLL_SHM_LIMIT_PER_NODE": "131072"},
        "MPICH: MPIR_CVAR_COLL_SHM_LIMIT_PER_NODE, 65536 KiB by default",
    ),
    Tuning(
        "logarithmic algorithms in Open MPI",
        "logarithmic algorithms",
        AppliesTo("openmpi", ">=4"),
        OPEN_MPI_LOGARITHMIC,
        "Open MPI: coll_tuned_scan_algorithm, coll_tuned_exscan_algorithm, coll_tuned_barrier_algorithm",
        {"collective": ("scan", "exscan", "barrier")},
        "Open MPI's logarithmic algorithms",
    ),
    Tuning(
        "allreduce that does not count elements in Open MPI",
        "allreduce by bytes",
        AppliesTo("openmpi", ">=5"),
        OPEN_MPI_UNSPLIT_ALLREDUCE,
        "Open MPI: coll_tuned_allreduce_algorithm; issue 12550",
        {"collective": ("allreduce",)},
        "an allreduce that does not count elements",
    ),
)
