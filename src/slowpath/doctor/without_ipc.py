# SPDX-License-Identifier: Apache-2.0
"""How to take from an MPI the straight way between GPU memories, and nothing else: the reference of device_path. Pure.

As mpi/settings.py, but for the doctor alone: it is a probe, no state that a campaign would compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class WithoutIpc:
    """One way to do it.

    library: as Mpi.name, None for any.  transport: as Mpi.transport, what all messages must go through; None for any.
    verified: what was seen with these variables.
    """

    library: str | None
    transport: str | None
    variables: Mapping[str, str]
    verified: str


TABLE: tuple[WithoutIpc, ...] = (
    WithoutIpc(
        "mpich",
        None,
        # The second one turns IPC on from the second message of an allocation on, whatever the first one says.
        {"MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD": "-1", "MPIR_CVAR_CH4_IPC_MAP_REPEAT_ADDR": "0"},
        "MPICH 5.0.1 built with CUDA 13.0, two H200s, 64 MiB: 357 -> 0.88 GB/s",
    ),
    WithoutIpc(
        None,
        "ucx",
        {"UCX_TLS": "^cuda_ipc"},
        "Open MPI 5.0.11 on UCX 1.22, two H200s: 373 -> 40.5 GB/s, and UCX's own report names cuda_ipc no more",
    ),
)


def variables_without_ipc(
    library: str, transport: str | None, environ: Mapping[str, str]
) -> tuple[dict[str, str], str | None]:
    """Variables and None; or none and why.

    transport: as Mpi.transport, or "ucx" because the library printed UCX's report.
    environ: what the user has set: a list of transports of their own can't be both kept and changed.
    """
    for row in TABLE:
        if row.library in (None, library) and row.transport in (None, transport):
            taken = [name for name in row.variables if environ.get(name)]
            if taken:
                return {}, f"{taken[0]} is set by the user, and the reference would need another value"
            return dict(row.variables), None
    return {}, f"no way is known to take IPC from {library}"
