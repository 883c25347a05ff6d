# SPDX-License-Identifier: Apache-2.0
"""Tables for libslowpath-coll.so that replace every call, each by another mock-up, until every mock-up was named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from slowpath.mpi.guidelines import GUIDELINES
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.tuning import SCHEMA

#: Collectives that libslowpath-coll.so replaces.
REPLACED: Final = (
    *("barrier", "bcast", "gather", "scatter", "allgather", "alltoall"),
    *("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
)
_MOST_RANKS, _MOST_BYTES = 10**6, 2**62


def mockups() -> Mapping[str, tuple[str, ...]]:
    """Mock-ups of each collective. `nonblocking` is no guideline of its own, and every collective has it."""
    named = {name: [line.mockup for line in GUIDELINES if line.collective == name and line.mockup] for name in REPLACED}
    return {name: (*found, "nonblocking") for name, found in named.items()}


def tables(mpi: Mpi) -> tuple[str, ...]:
    """As many as the collective with the most mock-ups needs."""
    return tables_for(f"{mpi.name}-{mpi.version}")


def tables_for(library: str) -> tuple[str, ...]:
    """As above; library: name and version, as in "openmpi-4.1.4"."""
    return tuple(_table(library, number) for number in range(max(map(len, mockups().values()))))


def _table(library: str, number: int) -> str:
    rows = [
        {
            "collective": collective,
            "ranks": [1, _MOST_RANKS],
            "bytes": [0, _MOST_BYTES],
            "mockup": found[number % len(found)],
        }
        for collective, found in mockups().items()
    ]
    return json.dumps({"schema": SCHEMA, "mpi": library, "rows": rows})
