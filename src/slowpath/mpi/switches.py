# SPDX-License-Identifier: Apache-2.0
"""Variables that move a protocol switch (eager to rendezvous, two copies to one): what an attribution toggles.

verified: how it was seen to move a switch; empty: not tried here. Names: the libraries' own documentation (MPI_T of
MPICH, ompi_info, ucx_info -c, the Intel MPI Developer Reference, what Cray MPICH prints with MPICH_ENV_DISPLAY=1,
fi_cxi(7), the MVAPICH2 user guide). Cray MPICH's are MPICH_ variables of its own: MPICH's MPIR_CVAR_ ones for the same
end mean nothing to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.units import whole_number
from slowpath.mpi.applies import AppliesTo


@dataclass(frozen=True)
class SwitchVariable:
    """One variable. control_variable: what MPI_T calls it; None: as the variable.

    default_bytes: what holds where the library's own value can't be read; None: not fixed.  documented: the version of
    which it is the default, and who states it; other versions have others.
    multiple_bytes: other values than multiples of it make the library fail.
    """

    variable: str
    applies: AppliesTo
    does: str
    control_variable: str | None = None
    default_bytes: int | None = None
    documented: str = ""
    multiple_bytes: int = 1
    verified: str = ""

    def value(self, environ: Mapping[str, str]) -> int | None:
        """Bytes that hold now: the user's own, else the default; None: not known."""
        given = environ.get(self.variable, "")
        return whole_number(given) if given else self.default_bytes


SWITCHES: tuple[SwitchVariable, ...] = (
    SwitchVariable(
        "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD",
        AppliesTo("mpich", ">=4.2"),
        "messages from this length on are copied once, by CMA",
        default_bytes=8192,
        documented="default of MPICH 5.0.2, MPI_T",
        verified="MPICH 5.0.2: at 50021 the switch lies after 50020 B, at 44519 after 44518 B, by ping-pongs",
    ),
    SwitchVariable(
        "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
        AppliesTo("mpich", ">=4"),
        "cell size of the shared-memory queue: messages up to about this length are eager",
        default_bytes=8192,
        documented="default of MPICH 5.0.2, MPI_T",
        multiple_bytes=64,
    ),
    SwitchVariable(
        "MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD",
        AppliesTo("mpich", ">=4"),
        "messages from GPU allocations of this length or more go by IPC: the other process maps the allocation",
        default_bytes=1048576,
        documented="default of MPICH 5.0.2, MPI_T",
    ),
    SwitchVariable(
        "OMPI_MCA_btl_sm_eager_limit",
        AppliesTo("openmpi", ">=5"),
        "eager limit: longer messages, header included, go by rendezvous",
        control_variable="btl_sm_eager_limit",
        default_bytes=4096,
        documented="default of Open MPI 5.0.11, ompi_info",
    ),
    SwitchVariable(
        "OMPI_MCA_btl_vader_eager_limit",
        AppliesTo("openmpi", ">=2,<5"),
        "eager limit: longer messages, header included, go by rendezvous",
        control_variable="btl_vader_eager_limit",
        default_bytes=4096,
        documented="default by its documentation, not checked here",
    ),
    SwitchVariable(
        "OMPI_MCA_btl_tcp_eager_limit",
        AppliesTo("openmpi", ">=2"),
        "eager limit over TCP: longer messages, header included, go by rendezvous",
        control_variable="btl_tcp_eager_limit",
        default_bytes=65536,
        documented="default of Open MPI 5.0.11, ompi_info",
    ),
    SwitchVariable(
        "UCX_RNDV_THRESH",
        AppliesTo("openmpi", ">=4", "ucx"),
        "rendezvous threshold: messages from this length on go by rendezvous",
    ),
    SwitchVariable(
        "I_MPI_SHM_CELL_FWD_SIZE",
        AppliesTo("intelmpi", ">=2019"),
        "cell size of shared memory",
        default_bytes=65472,
        documented="default by its documentation, not checked here",
    ),
    # Cray MPICH's defaults are those that 8.1.17 prints with MPICH_ENV_DISPLAY=1 (OLCF's Crusher).
    SwitchVariable(
        "MPICH_SMP_SINGLE_COPY_SIZE",
        AppliesTo("craympich", ">=8"),
        "messages inside a node from this length on are copied once, by XPMEM or CMA",
        default_bytes=8192,
    ),
    SwitchVariable(
        "MPICH_GPU_IPC_THRESHOLD",
        AppliesTo("craympich", ">=8.1"),
        "messages from GPU memory of this length or more go by IPC: the other process maps the allocation",
        default_bytes=1024,
    ),
    SwitchVariable(
        "FI_CXI_RDZV_THRESHOLD",
        AppliesTo("craympich", ">=8.1"),
        "between nodes on Slingshot: messages longer than this and FI_CXI_RDZV_GET_MIN together go by rendezvous",
        default_bytes=16384,
    ),
    SwitchVariable(
        "FI_CXI_RDZV_GET_MIN",
        AppliesTo("craympich", ">=8.1"),
        "between nodes on Slingshot: how much longer than FI_CXI_RDZV_THRESHOLD a message has to be for a rendezvous",
    ),
    SwitchVariable(
        "MV2_SMP_EAGERSIZE",
        AppliesTo("mvapich", ">=2,<3"),
        "eager limit inside a node; chosen by processor where it is not set",
    ),
    SwitchVariable(
        "MVP_SMP_EAGERSIZE",
        AppliesTo("mvapich", ">=3"),
        "eager limit inside a node; chosen by processor where it is not set",
    ),
)


def switches_of(library: str | None, version: str | None, transport: str | None = None) -> tuple[SwitchVariable, ...]:
    """Return the switches that this library has."""
    return tuple(switch for switch in SWITCHES if switch.applies.fits(library, version, transport))


def variable_named(control_variable: str, library: str) -> str:
    """The environment variable of an MPI_T control variable: MPICH's have one name, Open MPI's a prefix more."""
    return f"OMPI_MCA_{control_variable}" if library == "openmpi" else control_variable
