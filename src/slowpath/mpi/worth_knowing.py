# SPDX-License-Identifier: Apache-2.0
"""Variables that change what a library does and that no campaign, switch or remedy sets: for the documentation."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.mpi.applies import AppliesTo


@dataclass(frozen=True)
class WorthKnowing:
    """One variable. default: as the library prints it, empty where that is not known.  source: where it was read."""

    variable: str
    applies: AppliesTo
    does: str
    default: str
    source: str


_CRAY = AppliesTo("craympich", ">=8.1")
_PRINTED = "printed by 8.1.17 with MPICH_ENV_DISPLAY=1 (OLCF's Crusher)"
_CSCS = "CSCS's documentation of Cray MPICH"

WORTH_KNOWING: tuple[WorthKnowing, ...] = (
    WorthKnowing(
        "MPICH_ENV_DISPLAY", _CRAY, "1: rank 0 prints every variable of the library with its value", "0", _PRINTED
    ),
    WorthKnowing("MPICH_VERSION_DISPLAY", _CRAY, "1: rank 0 prints the version that was really loaded", "0", _PRINTED),
    WorthKnowing(
        "MPICH_GPU_SUPPORT_ENABLED",
        _CRAY,
        "1: GPU memory in MPI calls. The program has to be linked with the GTL library, as CC does where a "
        "craype-accel module is loaded; MPI_Init fails otherwise. XPMEM is off with it",
        "0",
        f"{_CSCS}; its reproducer of slow pinned memory",
    ),
    WorthKnowing(
        "MPICH_GPU_MANAGED_MEMORY_SUPPORT_ENABLED",
        _CRAY,
        "1: managed memory in MPI calls",
        "",
        "job scripts for Frontier (8.1.31)",
    ),
    WorthKnowing("MPICH_GPU_NO_ASYNC_COPY", _CRAY, "1: copies of GPU memory are not asynchronous", "0", _PRINTED),
    WorthKnowing(
        "MPICH_GPU_EAGER_REGISTER_HOST_MEM",
        _CRAY,
        "1: the library's shared memory is registered with the GPU, for short messages from its memory",
        "1",
        _PRINTED,
    ),
    WorthKnowing(
        "MPICH_OFI_STARTUP_CONNECT",
        _CRAY,
        "1: connections between all ranks are made in MPI_Init, not at the first message of each pair",
        "0",
        _PRINTED,
    ),
    WorthKnowing(
        "MPICH_OFI_NIC_POLICY",
        _CRAY,
        "which network card a rank takes on nodes of several: BLOCK, ROUND-ROBIN, NUMA, GPU, USER with "
        "MPICH_OFI_NIC_MAPPING",
        "NUMA",
        f"{_PRINTED}; GPU in job scripts for LUMI",
    ),
    WorthKnowing("MPICH_OFI_NUM_NICS", _CRAY, "how many network cards of a node are used", "", _PRINTED),
    WorthKnowing(
        "FI_MR_CACHE_MONITOR",
        _CRAY,
        "how libfabric notices that registered memory was freed; disabled: every long message registers anew",
        "",
        _CSCS,
    ),
    WorthKnowing(
        "MPICH_ALLOC_MEM_PG_SZ", _CRAY, "page size of MPI_Alloc_mem and MPI_Win_allocate, bytes", "4096", _PRINTED
    ),
)
