# SPDX-License-Identifier: Apache-2.0
"""All alternatives, and those that may change something in a job. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from slowpath.mpi.alternatives.alternative import Alternative, Operation, PlaceFacts
from slowpath.mpi.alternatives.cray_mpich import CRAY_MPICH
from slowpath.mpi.alternatives.intel_mpi import INTEL_MPI
from slowpath.mpi.alternatives.layers import LIBFABRIC, UCX
from slowpath.mpi.alternatives.mpich import MPICH
from slowpath.mpi.alternatives.open_mpi import OPEN_MPI

ALTERNATIVES: tuple[Alternative, ...] = (*OPEN_MPI, *MPICH, *INTEL_MPI, *CRAY_MPICH, *UCX, *LIBFABRIC)


@dataclass(frozen=True)
class Applicable:
    """rows: that may change something.  left_out: name of a row of this library -> why it can't."""

    rows: tuple[Alternative, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def alternatives_of(
    library: str | None,
    version: str | None,
    transport: str | None,
    facts: PlaceFacts,
    environ: Mapping[str, str],
    measured: Collection[Operation],
) -> Applicable:
    """The alternatives of one library in one job.

    Args: environ: what the user has set stays as it is.  measured: operations that are looked at.
    """
    rows, left_out = list[Alternative](), dict[str, str]()
    for row in ALTERNATIVES:
        if not row.applies.fits(library, version, transport):
            continue
        why = row.why_not(facts) or _why_unseen(row, measured) or _why_users(row, environ)
        if why is None:
            rows += row.on_devices(facts.devices)
        else:
            left_out[row.name] = why
    return Applicable(tuple(rows), left_out)


def _why_unseen(row: Alternative, measured: Collection[Operation]) -> str | None:
    unseen = not set(row.operations) & set(measured)
    return f"nothing that is measured would show it: {', '.join(row.operations)}" if unseen else None


def _why_users(row: Alternative, environ: Mapping[str, str]) -> str | None:
    own = next((name for name in row.variables if name in environ), None)
    return f"you set {own} yourself" if own else None
