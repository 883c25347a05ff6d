# SPDX-License-Identifier: Apache-2.0
"""How to take from an MPI the straight way between GPU memories, and nothing else: the doctor's reference. Pure.

A probe, and no state that a campaign would compare as those in `settings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.mpi.applies import AppliesTo


@dataclass(frozen=True)
class WithoutIpc:
    """One way to do it. verified: what was seen with these variables."""

    applies: tuple[AppliesTo, ...]
    variables: Mapping[str, str]
    verified: str


TABLE: tuple[WithoutIpc, ...] = (
    WithoutIpc(
        (AppliesTo("craympich"),),
        {"MPICH_GPU_IPC_ENABLED": "0"},
        "not run; 8.1.17 prints 1 as its default (MPICH_ENV_DISPLAY=1)",
    ),
    WithoutIpc(
        (AppliesTo("mpich"), AppliesTo("mpich", transport="ucx")),
        # The second one turns IPC on from the second message of an allocation on, whatever the first one says.
        {"MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD": "-1", "MPIR_CVAR_CH4_IPC_MAP_REPEAT_ADDR": "0"},
        "MPICH 5.0.1 built with CUDA 13.0, two H200s, 64 MiB: 357 -> 0.88 GB/s",
    ),
    WithoutIpc(
        (AppliesTo(transport="ucx"),),
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
        if any(condition.is_for(library, transport) for condition in row.applies):
            taken = [name for name in row.variables if environ.get(name)]
            if taken:
                return {}, f"{taken[0]} is set in your environment, and the reference needs another value"
            return dict(row.variables), None
    return {}, f"no way is known to take IPC from {library}"
