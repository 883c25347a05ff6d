# SPDX-License-Identifier: Apache-2.0
"""Windows, communicators and datatypes that a program makes: where, how often, and whether in each iteration. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from slowpath.findings.program_pattern import Bools, ProgramCalls

WINDOWS: Final = ("MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create_dynamic")
COMMUNICATORS: Final = (
    *("MPI_Comm_dup", "MPI_Comm_dup_with_info", "MPI_Comm_idup", "MPI_Comm_split", "MPI_Comm_split_type"),
    *("MPI_Comm_create", "MPI_Comm_create_group", "MPI_Cart_create", "MPI_Cart_sub", "MPI_Graph_create"),
    *("MPI_Dist_graph_create", "MPI_Dist_graph_create_adjacent"),
)
DATATYPES: Final = (
    *("MPI_Type_contiguous", "MPI_Type_vector", "MPI_Type_create_hvector", "MPI_Type_indexed"),
    *("MPI_Type_create_hindexed", "MPI_Type_create_indexed_block", "MPI_Type_create_hindexed_block"),
    *("MPI_Type_create_struct", "MPI_Type_create_subarray", "MPI_Type_create_darray", "MPI_Type_create_resized"),
    *("MPI_Type_hvector", "MPI_Type_hindexed", "MPI_Type_struct", "MPI_Type_dup"),
)
FREES: Final[Mapping[str, tuple[str, ...]]] = {
    "window": ("MPI_Win_free",),
    "communicator": ("MPI_Comm_free", "MPI_Comm_disconnect"),
    "datatype": ("MPI_Type_free",),
}
MAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "window": WINDOWS,
    "communicator": COMMUNICATORS,
    "datatype": DATATYPES,
}
# Calls that go with making one of that kind.
WITH: Final[Mapping[str, tuple[str, ...]]] = {"window": (), "communicator": (), "datatype": ("MPI_Type_commit",)}
LEAST: Final[Mapping[str, int]] = {"window": 10, "communicator": 10, "datatype": 50}  # times, on a rank at one place


@dataclass(frozen=True)
class Made:
    """Objects of one kind that are made at one place again and again.

    each: by the rank that makes most.  every: by all ranks.  rounds: of these, with communication between them.
    freed_share: of what the program makes of this kind.
    """

    kind: str
    call: str
    site: int
    each: int
    every: int
    rounds: int
    freed_share: float


def made_anew(calls: ProgramCalls) -> list[Made]:
    """Of each kind, the places that make them in each iteration."""
    found: list[Made] = []
    if not len(calls.counted):
        return found
    call, site, rank, count = calls.counted.T
    for kind, names in MAKERS.items():
        makes = calls.name_is(*names)[call]
        made = int(count[makes].sum())
        freed = int(count[calls.name_is(*FREES[kind])[call]].sum())
        for place in np.unique(site[makes]).tolist():
            here = makes & (site == place)
            each = np.bincount(rank[here], weights=count[here])
            rounds = int(each.max(initial=0)) if kind == "datatype" else _rounds(calls, kind, place)
            if rounds < LEAST[kind]:
                continue
            name = calls.names[int(np.bincount(call[here], weights=count[here]).argmax())]
            found.append(
                Made(kind, name, place, int(each.max()), int(count[here].sum()), rounds, min(freed / made, 1.0))
            )
    return found


def _rounds(calls: ProgramCalls, kind: str, place: int) -> int:
    """How often a rank makes them after it has communicated: once, where it makes all that it needs in one loop.

    Datatypes have no events: how often they are made has to do.
    """
    rows = np.flatnonzero(calls.named(*MAKERS[kind]) & (calls.site == place))
    if not rows.size:
        return 0
    traffic = np.cumsum(traffic_of(calls))
    first = np.ones(rows.size, dtype=bool)
    first[1:] = (calls.rank[rows][1:] != calls.rank[rows][:-1]) | (traffic[rows[1:] - 1] > traffic[rows[:-1]])
    return int(np.bincount(calls.rank[rows[first]]).max())


def traffic_of(calls: ProgramCalls) -> Bools:
    """Calls that communicate: no management."""
    managing = calls.named(*(name for kind in MAKERS for name in (*MAKERS[kind], *FREES[kind], *WITH[kind])))
    found: Bools = (calls.is_message | calls.is_collective | calls.is_one_sided) & ~managing
    return found
