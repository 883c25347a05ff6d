# SPDX-License-Identifier: Apache-2.0
"""Variables that move a switch of protocol, per library and version: what an attribution toggles.

verified: how it was seen to move a switch; empty: not tried here. Names: the libraries' own documentation (MPI_T of
MPICH, ompi_info, ucx_info -c, the Intel MPI Developer Reference).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.mpi.settings import version_tuple


@dataclass(frozen=True)
class Switch:
    """One variable. control_variable: what MPI_T calls it; None: as the variable.  default_bytes: None: not fixed.

    multiple_bytes: other values than multiples of it make the library fail.
    """

    variable: str
    library: str
    does: str
    control_variable: str | None = None
    default_bytes: int | None = None
    first: tuple[int, ...] = (0,)
    below: tuple[int, ...] | None = None
    transport: str | None = None
    multiple_bytes: int = 1
    verified: str = ""

    def fits(self, library: str | None, version: str | None, transport: str | None = None) -> bool:
        """Whether this library has it."""
        number = version_tuple(version)
        if library != self.library or (self.transport or None) != (transport or None) or number is None:
            return False
        return number >= self.first and (self.below is None or number < self.below)

    def value(self, environ: Mapping[str, str]) -> int | None:
        """Bytes that hold now: the user's own, else the default; None: not known."""
        given = environ.get(self.variable, "")
        return int(given) if given.isdigit() else self.default_bytes if not given else None


SWITCHES: tuple[Switch, ...] = (
    Switch(
        "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD",
        "mpich",
        "messages from this length on are copied once, by CMA",
        default_bytes=16384,
        first=(4, 2),
        verified="MPICH 5.0.2: at 50021 the switch lies after 50020 B, at 44519 after 44518 B, by ping-pongs",
    ),
    Switch(
        "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
        "mpich",
        "messages up to about this length fit into one cell of shared memory",
        default_bytes=69632,
        first=(4,),
        multiple_bytes=64,
    ),
    Switch(
        "MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD",
        "mpich",
        "allocations from this length on are mapped by the other process",
        default_bytes=1048576,
        first=(4,),
    ),
    Switch(
        "OMPI_MCA_btl_sm_eager_limit",
        "openmpi",
        "messages up to this length, header included, are sent at once",
        control_variable="btl_sm_eager_limit",
        default_bytes=4096,
        first=(5,),
    ),
    Switch(
        "OMPI_MCA_btl_vader_eager_limit",
        "openmpi",
        "messages up to this length, header included, are sent at once",
        control_variable="btl_vader_eager_limit",
        default_bytes=4096,
        first=(2,),
        below=(5,),
    ),
    Switch(
        "OMPI_MCA_btl_tcp_eager_limit",
        "openmpi",
        "messages up to this length, header included, are sent at once over TCP",
        control_variable="btl_tcp_eager_limit",
        default_bytes=65536,
        first=(2,),
    ),
    Switch(
        "UCX_RNDV_THRESH",
        "openmpi",
        "messages from this length on are agreed on before they are moved",
        first=(4,),
        transport="ucx",
    ),
    Switch(
        "I_MPI_SHM_CELL_FWD_SIZE",
        "intelmpi",
        "size of a cell of shared memory",
        default_bytes=65472,
        first=(2019,),
    ),
)


def for_library(library: str | None, version: str | None, transport: str | None = None) -> tuple[Switch, ...]:
    """Those that this library has."""
    return tuple(switch for switch in SWITCHES if switch.fits(library, version, transport))
