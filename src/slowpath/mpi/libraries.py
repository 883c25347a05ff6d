# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries that Slowpath knows by name. Pure.

What else is known of a library is in the other tables of this part, each row for the library, versions and transport
that it states (mpi.applies): settings, tunings, switches; its launchers are in library_launchers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slowpath.mpi.applies import AppliesTo, version_text

BY_NAME = "identified by name; not run on it"


@dataclass(frozen=True)
class MpiLibrary:
    """One MPI library.

    name           as everywhere in Slowpath, and in campaigns (core.plan.LIBRARIES)
    title          as it calls itself
    abi            binary interface of the library that programs link, where no file name shows it
    prefixes       of environment variables that steer it
    text           what MPI_Get_library_version returns; its group is the version, where the text has one
    run            with what it was run, or BY_NAME
    base           name of the library that it was made from; "": it is one of its own. Rows for that one do not hold
                   for this one: each library has rows of its own
    gpu_variables  variables by which it looks for GPU memory at all, or remembers what it found
    version_variable, prefix_variables  variables of its environment module: the version, the folder that holds lib
    source         of `text` and of the module's variables
    """

    name: str
    title: str
    abi: str
    prefixes: tuple[str, ...]
    text: re.Pattern[str]
    run: str
    base: str = ""
    gpu_variables: tuple[str, ...] = ()
    version_variable: str = ""
    prefix_variables: tuple[str, ...] = ()
    source: str = ""

    def is_loaded(self, environ: Mapping[str, str]) -> bool:
        """Whether its environment module is loaded."""
        return bool(self.version_variable and environ.get(self.version_variable))


# Those that others were made from stand last: MPICH's own words are in the texts of ParaStation MPI, Open MPI's in
# those of Spectrum MPI.
MPI_LIBRARIES: tuple[MpiLibrary, ...] = (
    MpiLibrary(
        "craympich",
        "Cray MPICH",
        "mpich-cray",
        ("MPICH_", "MPIR_", "CRAY_MPICH_", "GTL_"),
        re.compile(r"CRAY MPICH version (\d+\.\d+(?:\.\d+)?)"),
        "not run; a stand-in: MPICH 5.0.2 that answers as 8.1.29 and 9.0.1 do, with CC and srun (tests/slurm)",
        "mpich",
        (
            "MPICH_GPU_SUPPORT_ENABLED",
            "MPICH_GPU_MANAGED_MEMORY_SUPPORT_ENABLED",
            "MPICH_GPU_IPC_ENABLED",
            "MPICH_GPU_NO_ASYNC_COPY",
        ),
        version_variable="CRAY_MPICH_VERSION",
        prefix_variables=("CRAY_MPICH_PREFIX", "CRAY_MPICH_DIR", "MPICH_DIR"),
        source="printed by 8.1.25 and 9.0.1 (MPI.jl's documentation of Perlmutter, DragonHPC's examples)",
    ),
    MpiLibrary(
        "mvapich",
        "MVAPICH",
        "mpich",
        ("MV2_", "MVP_", "MPIR_"),
        re.compile(r"^MVAPICH2? Version\s*:\s*(\d[\w.]*)", re.MULTILINE),
        BY_NAME,
        "mpich",
        ("MV2_USE_CUDA", "MV2_USE_ROCM"),
        source="printed by 2.3.6 (MPIPreferences.jl's tests)",
    ),
    MpiLibrary(
        "parastation",
        "ParaStation MPI",
        "mpich",
        ("PSP_", "MPIR_"),
        # MPICH's words, with its own device and its own version as MPICH's custom information.
        re.compile(r"^MPICH Device:\s*psp\b(?:[\s\S]*?^MPICH Custom Information:[ \t]*(?:psmpi-?)?(\d[\w.]*))?", re.M),
        BY_NAME,
        "mpich",
        ("PSP_CUDA",),
        source="its source: the device psp of github.com/ParaStation/psmpi",
    ),
    MpiLibrary(
        "fujitsumpi",
        "Fujitsu MPI",
        "fujitsu",
        ("OMPI_", "PLE_", "FLIB_"),
        re.compile(r"FUJITSU MPI Library (\d[\w.]*)"),
        BY_NAME,
        "openmpi",
        source="printed by 4.0.0 (MPIPreferences.jl's tests)",
    ),
    MpiLibrary(
        "spectrummpi",
        "IBM Spectrum MPI",
        "spectrum",
        ("OMPI_", "PAMI_", "PMIX_", "OPAL_"),
        re.compile(r"IBM Spectrum MPI[^\n]*?ident: (\d+(?:\.\d+)*)"),
        BY_NAME,
        "openmpi",
        source="printed by 10.03.01 (MPIPreferences.jl's tests)",
    ),
    MpiLibrary(
        "mpich",
        "MPICH",
        "mpich",
        ("MPICH_", "MPIR_", "HYDRA_"),
        re.compile(r"^MPICH2? Version:\s*(\d[\w.]*)", re.MULTILINE),
        "run: 5.0.2",
        gpu_variables=("MPICH_GPU_SUPPORT_ENABLED", "MPIR_CVAR_ENABLE_GPU"),
    ),
    MpiLibrary(
        "openmpi",
        "Open MPI",
        "openmpi",
        ("OMPI_", "PRTE_", "PMIX_", "OPAL_"),
        re.compile(r"^Open MPI v(\d[\w.]*)", re.MULTILINE),
        "run: 5.0.11 and 4.1.4. HPC-X is this library with UCX: by HPCX_MPI_DIR, not run",
        gpu_variables=("OMPI_MCA_accelerator",),
    ),
    MpiLibrary(
        "intelmpi",
        "Intel MPI",
        "mpich",
        ("I_MPI_",),
        re.compile(r"^Intel\(R\) MPI Library (\d[\w.]*)", re.MULTILINE),
        "run: 2021.18",
        gpu_variables=("I_MPI_OFFLOAD",),
    ),
)
# Variables of what lies below the libraries: UCX, libfabric and its providers.
TRANSPORT_PREFIXES = ("UCX_", "FI_")
# Of what else lies on a message's way: the provider's and the card's libraries, the GPU's runtime, the C library.
BELOW_PREFIXES = (
    *("UCC_", "HCOLL_", "SHARP_", "PSM2_", "PSM3_", "RDMAV_", "MLX4_", "MLX5_", "GDRCOPY_", "NCCL_", "RCCL_"),
    *("CUDA_", "HSA_", "HIP_", "ROCR_", "MALLOC_", "GLIBC_TUNABLES"),
)
TRANSPORT_GPU_VARIABLES = ("UCX_MEMTYPE_CACHE", "PSM3_GPUDIRECT")

TITLES = {library.name: library.title for library in MPI_LIBRARIES}
PREFIXES = tuple(
    dict.fromkeys((*(prefix for library in MPI_LIBRARIES for prefix in library.prefixes), *TRANSPORT_PREFIXES))
)
GPU_VARIABLES = frozenset(
    (*(name for library in MPI_LIBRARIES for name in library.gpu_variables), *TRANSPORT_GPU_VARIABLES)
)

# SONAME of the library that programs link: an engine runs under every library that provides the same one.
ABI_OF_SONAME = {
    "libmpi.so.12": "mpich",  # MPICH ABI initiative: MPICH, Intel MPI, MVAPICH, ParaStation MPI
    "libmpich.so.12": "mpich-debian",  # Debian renames the library, so its programs run with no other
    "libmpi.so.40": "openmpi",
    "libmpi.so.80": "openmpi6",
}
# Cray MPICH has one for each compiler (libmpi_gnu_123.so.12, libmpi_cray.so.12); programs that were linked with
# libmpi.so.12 run with those of the module cray-mpich-abi alone.
CRAY_SONAME = re.compile(r"libmpi_(?:allinea|amd|aocc|cray|gnu|intel|nvidia|pgi)\w*\.so\.12")
STANDARD_SONAME = "libmpi_abi.so.1"  # MPI-5.0, chapter 20


def library_named(name: str) -> MpiLibrary | None:
    """The library of this name; None for one that is not known."""
    return next((library for library in MPI_LIBRARIES if library.name == name), None)


def abi_of_soname(soname: str) -> str | None:
    """Name of the binary interface that a program asks for which needs this library; None: it is no MPI's."""
    return "mpich-cray" if CRAY_SONAME.fullmatch(soname) else ABI_OF_SONAME.get(soname)


def sonames_of(abi: str) -> tuple[str, ...]:
    """Names of the libraries with this binary interface."""
    return tuple(soname for soname, name in ABI_OF_SONAME.items() if name == abi)


def abi_of(file_names: Iterable[str], library: str) -> str:
    """Name of the binary interface, from the file names in the library folders; by library if none shows it."""
    names = set(file_names)
    for soname, abi in ABI_OF_SONAME.items():
        if soname in names:
            return abi
    known = library_named(library)
    return known.abi if known else "unknown"


def words_of(applies: AppliesTo) -> str:
    """`Open MPI from 2, below 5, over UCX`."""
    name, transport = applies.library, applies.transport
    if name is None:
        return "every library" + (f" over {transport.upper()}" if transport else "")
    words = [TITLES.get(name, name) + (f" from {version_text(applies.first)}" if any(applies.first) else "")]
    words += [f"below {version_text(applies.below)}"] if applies.below else []
    words += [f"over {transport.upper()}"] if transport else []
    return ", ".join(words)


_ONE_READER: Mapping[str, str] = {
    "I_MPI_": "intelmpi",
    "OMPI_MCA_": "openmpi",
    "MV2_": "mvapich",
    "MVP_": "mvapich",
    "PSP_": "parastation",
}


def of_another(name: str, library: str) -> str | None:
    """`Open MPI reads it, and this is MPICH`; None: this library, or what was made from it, may read the variable.

    Args: library: name of the MPI; "unknown": it may read anything.
    """
    reader = next((reader for prefix, reader in _ONE_READER.items() if name.startswith(prefix)), None)
    if reader is None or _reads(library, reader):
        return None
    return f"{TITLES[reader]} reads it, and this is {TITLES.get(library, library)}"


def _reads(library: str, reader: str) -> bool:
    base = next((mpi_library.base for mpi_library in MPI_LIBRARIES if mpi_library.name == library), "")
    return library == "unknown" or reader in (library, base)
