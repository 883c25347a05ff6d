# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries that Slowpath knows by name. Pure.

What else is known of a library is in the other tables of this part, each row for the library, versions and transport
that it states (mpi.applies): settings, tunings, switches; its launchers are in library_launchers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class MpiLibrary:
    """One MPI library.

    name           as everywhere in Slowpath, and in campaigns (core.plan.LIBRARIES)
    title          as it calls itself
    abi            binary interface of the library that programs link, where no file name shows it
    prefixes       of environment variables that steer it
    gpu_variables  variables by which it looks for GPU memory at all, or remembers what it found
    """

    name: str
    title: str
    abi: str
    prefixes: tuple[str, ...]
    gpu_variables: tuple[str, ...] = ()


MPI_LIBRARIES: tuple[MpiLibrary, ...] = (
    MpiLibrary(
        "mpich",
        "MPICH",
        "mpich",
        ("MPICH_", "MPIR_", "HYDRA_"),
        ("MPICH_GPU_SUPPORT_ENABLED", "MPIR_CVAR_ENABLE_GPU"),
    ),
    MpiLibrary("openmpi", "Open MPI", "openmpi", ("OMPI_", "PRTE_", "PMIX_", "OPAL_"), ("OMPI_MCA_accelerator",)),
    MpiLibrary("intelmpi", "Intel MPI", "mpich", ("I_MPI_",), ("I_MPI_OFFLOAD",)),
)
# Variables of what lies below the libraries: UCX, libfabric and its providers.
TRANSPORT_PREFIXES = ("UCX_", "FI_")
TRANSPORT_GPU_VARIABLES = ("UCX_MEMTYPE_CACHE", "PSM3_GPUDIRECT")

TITLES = {library.name: library.title for library in MPI_LIBRARIES}
PREFIXES = (*(prefix for library in MPI_LIBRARIES for prefix in library.prefixes), *TRANSPORT_PREFIXES)
GPU_VARIABLES = frozenset(
    (*(name for library in MPI_LIBRARIES for name in library.gpu_variables), *TRANSPORT_GPU_VARIABLES)
)

# SONAME of the library that programs link: an engine runs under every library that provides the same one.
ABI_OF_SONAME = {
    "libmpi.so.12": "mpich",  # MPICH ABI initiative: MPICH, Intel MPI, MVAPICH, Cray MPICH
    "libmpich.so.12": "mpich-debian",  # Debian renames the library, so its programs run with no other
    "libmpi.so.40": "openmpi",
    "libmpi.so.80": "openmpi6",
}
STANDARD_SONAME = "libmpi_abi.so.1"  # MPI-5.0, chapter 20


def sonames_of(abi: str) -> tuple[str, ...]:
    """Names of the libraries with this binary interface."""
    return tuple(soname for soname, name in ABI_OF_SONAME.items() if name == abi)


def abi_of(file_names: Iterable[str], library: str) -> str:
    """Name of the binary interface, from the file names in the library folders; by library if none shows it."""
    names = set(file_names)
    for soname, abi in ABI_OF_SONAME.items():
        if soname in names:
            return abi
    return next((known.abi for known in MPI_LIBRARIES if known.name == library), "unknown")
