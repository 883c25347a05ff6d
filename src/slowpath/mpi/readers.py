# SPDX-License-Identifier: Apache-2.0
"""Prefixes of variables that one MPI library reads and no other one does. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.mpi.libraries import MPI_LIBRARIES, TITLES

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
