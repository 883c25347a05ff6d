# SPDX-License-Identifier: Apache-2.0
"""Which ranks a collective waits for (MPI-4.1, chapter 6: what each rank's result depends on)."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.match import NO_EVENT, Collectives
from slowpath.watch.reasons import Reasons, Why


class Needs(IntEnum):
    """Whose entry a rank's return needs."""

    UNKNOWN = 0  # some of the others'
    ALL = 1
    ROOT = 2  # who is not root needs the root; whether others on the way, is not known
    ALL_AT_ROOT = 3  # the root needs all; whether the others do, is not known


def _forms(*names: str) -> tuple[str, ...]:
    """Blocking and non-blocking."""
    return tuple(f"MPI_{name}" for name in names) + tuple(f"MPI_I{name.lower()}" for name in names)


NEEDS: dict[str, Needs] = {
    **dict.fromkeys(
        _forms(
            "Barrier", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter",
            "Reduce_scatter_block", "Comm_dup", "Comm_dup_with_info",
        ),
        Needs.ALL,
    ),
    **dict.fromkeys(
        (
            "MPI_Comm_split", "MPI_Comm_split_type", "MPI_Comm_create", "MPI_Comm_idup", "MPI_Comm_idup_with_info",
            "MPI_Cart_create", "MPI_Cart_sub", "MPI_Graph_create", "MPI_Dist_graph_create", "MPI_Win_create",
            "MPI_Win_create_dynamic", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_free", "MPI_Win_fence",
        ),
        Needs.ALL,
    ),
    **dict.fromkeys(_forms("Bcast", "Scatter", "Scatterv"), Needs.ROOT),
    **dict.fromkeys(_forms("Reduce", "Gather", "Gatherv"), Needs.ALL_AT_ROOT),
}  # fmt: skip


def of_collectives(
    events: Events, world: World, groups: Collectives, done_of: Ints, error_s: float
) -> tuple[Reasons, Bools]:
    """What each call of a collective waits for.

    Args: done_of: shape (n,), the call in which the request of a non-blocking one completed; itself where it blocks.
          error_s: of clocks.
    Returns: reasons; and calls whose group lacks ranks, which may have come later, shape (n,).
    """
    rows, group = groups.event, groups.group
    lacking = np.zeros(len(events), dtype=bool)
    if not rows.size:
        return _reasons(events, rows, rows, rows, done_of, error_s), lacking
    needs = np.array([int(NEEDS.get(name.removesuffix("_c"), Needs.UNKNOWN)) for name in world.calls])[
        events.call[rows]
    ]
    root = _roots(events, rows, group, groups.groups)
    is_root = events.rank[rows] == events.peer[rows]
    last, last_before = _last(events, groups, done_of)
    expected = [len(world.members.get(int(i), ())) or 2**31 for i in events.communicator[rows[groups.first[:-1]]]]
    lacking_rows = rows[(np.diff(groups.first) < np.array(expected))[group]]
    lacking[done_of[lacking_rows][done_of[lacking_rows] != NO_EVENT]] = True
    needs = np.where(_is_refuted(events, groups, done_of, error_s)[group] & (needs == Needs.ALL), Needs.UNKNOWN, needs)
    waits_all = (needs == Needs.ALL) | ((needs == Needs.ALL_AT_ROOT) & is_root)
    waits_root = (needs == Needs.ROOT) & ~is_root & (root != NO_EVENT)
    doubts = ~waits_all & ~((needs == Needs.ROOT) & is_root)
    parts = [
        (rows[waits_all], last[waits_all], Why.LATE_RANK),
        (rows[waits_root], root[waits_root], Why.LATE_RANK),
        (rows[doubts], last_before[doubts], Why.DOUBT),
    ]
    call = np.concatenate([part[0] for part in parts])
    other = np.concatenate([part[1] for part in parts])
    why = np.concatenate([np.full(part[0].size, int(part[2])) for part in parts])
    return _reasons(events, call, other, why, done_of, error_s), lacking


def _is_refuted(events: Events, groups: Collectives, done_of: Ints, error_s: float) -> Bools:
    """Groups of which a call returned before another one began: it did not wait for all, shape (groups,).

    A fence with assertions need not, nor does an MPI_Alltoallv that exchanges nothing with some.
    """
    rows = groups.event
    done = done_of[rows]
    end = np.where(done == NO_EVENT, np.inf, events.end_s[done])
    first_out = np.minimum.reduceat(end, groups.first[:-1])
    last_in = np.maximum.reduceat(events.start_s[rows], groups.first[:-1])
    found: Bools = first_out + error_s < last_in
    return found


def _roots(events: Events, rows: Ints, group: Ints, groups: int) -> Ints:
    """The root's call of each call's group; NO_EVENT: none, or not kept."""
    of_group = np.full(groups, NO_EVENT, dtype=np.int64)
    is_root = events.rank[rows] == events.peer[rows]
    of_group[group[is_root]] = rows[is_root]
    return of_group[group]


def _last(events: Events, groups: Collectives, done_of: Ints) -> tuple[Ints, Ints]:
    """Of each call's group the last entry, and the last one before the call's own return; as events."""
    rows, group = groups.event, groups.group
    start = events.start_s[rows]
    done = done_of[rows]
    end = np.where(done == NO_EVENT, events.end_s[rows], events.end_s[done])
    order = np.lexsort((start, group))
    last = rows[order[groups.first[1:] - 1]][group]
    _, number = np.unique(np.concatenate([start, end]), return_inverse=True)
    many = number.max() + 1
    keys = group[order] * many + number[: rows.size][order]
    at = np.searchsorted(keys, group * many + number[rows.size :], side="right") - 1
    return last, rows[order[at]]


def _reasons(events: Events, call: Ints, other: Ints, why: Ints, done_of: Ints, error_s: float) -> Reasons:
    done = done_of[call]
    kept = (done != NO_EVENT) & (events.record[call] != events.record[other])
    done, other = done[kept], other[kept]
    none = np.full(done.size, NO_EVENT, dtype=np.int64)
    errors: Floats = np.full(done.size, error_s)
    return Reasons(done, other, events.start_s[other], errors, why[kept], events.rank[other], none)
