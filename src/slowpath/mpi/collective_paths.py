# SPDX-License-Identifier: Apache-2.0
"""Variables that decide when a library's faster path for collectives opens, and when it closes. Pure.

How "verified" was found out: two ranks on one node time each call on fresh duplicates of MPI_COMM_WORLD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slowpath.mpi.applies import AppliesTo


@dataclass(frozen=True)
class PathVariable:
    """opens: the value is the number of the call at which the path opens.  closes: the communicators that have it are
    as many as fit into the value. default: what the library takes without it.
    """

    name: str
    applies: AppliesTo
    kind: Literal["opens", "closes"]
    default: int
    about: str
    verified: str


PATH_VARIABLES: tuple[PathVariable, ...] = (
    PathVariable(
        "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD",
        AppliesTo("mpich", ">=4.2"),
        "opens",
        5,
        "calls of MPI_Bcast, MPI_Reduce, MPI_Allreduce and MPI_Barrier on a communicator before those inside a "
        "node use shared memory",
        "MPICH 5.0.2, MPI_Allreduce of 8 bytes: set-up of 45 us at call 5; at call 1 with 1, at call 9 with 9",
    ),
    PathVariable(
        "MPIR_CVAR_COLL_SHM_LIMIT_PER_NODE",
        AppliesTo("mpich", ">=4.2"),
        "closes",
        65536,
        "KiB of a node's shared memory for these collectives, over all live communicators",
        "MPICH 5.0.2, 2 ranks: closed from communicator 656 on by default, 329 with 32768, 83 with 8192",
    ),
)


def path_variable(name: str, library: str, version: str | None) -> PathVariable | None:
    """Return the variable of this library; None: the table has none of this name."""
    of_this_name = (variable for variable in PATH_VARIABLES if variable.name == name)
    return next((variable for variable in of_this_name if variable.applies.fits(library, version, None)), None)
