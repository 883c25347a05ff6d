# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from slowpath.findings.remedy import EAGER_BYTES, ProgramRemedy, Way
from slowpath.mpi.applies import AppliesTo

PROGRAM_LONGER_EAGER = ProgramRemedy(
    "longer-eager",
    f"Messages up to {EAGER_BYTES // 1024} KiB are eager and do not wait for their receive.",
    "control variable",
    "docs/reference/findings.md, protocol switches",
    ways=(
        Way(
            AppliesTo("mpich", ">=4.2"),
            {
                "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": str(EAGER_BYTES),
                "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": str(EAGER_BYTES),
                # MPICH 5.0.2 asserts in MPI_Init that it is no shorter than a cell.
                "MPIR_CVAR_CH4_PACK_BUFFER_SIZE": str(EAGER_BYTES),
            },
        ),
        Way(
            AppliesTo("openmpi", ">=5"),
            {"OMPI_MCA_btl_sm_eager_limit": str(EAGER_BYTES), "OMPI_MCA_btl_sm_max_send_size": str(EAGER_BYTES)},
        ),
        Way(
            AppliesTo("openmpi", ">=2,<5"),
            {
                "OMPI_MCA_btl_vader_eager_limit": str(EAGER_BYTES),
                "OMPI_MCA_btl_vader_max_send_size": str(EAGER_BYTES),
            },
        ),
        Way(AppliesTo("openmpi", ">=4", "ucx"), {"UCX_RNDV_THRESH": str(EAGER_BYTES)}),
    ),
)
