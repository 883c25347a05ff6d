# SPDX-License-Identifier: Apache-2.0
"""Blocking collectives of a program that are alike: which one, how long, over how many ranks, and what one takes.

What one takes is T_work: from its last rank's entry to its last rank's exit. Before that, ranks wait for a late one,
which no other algorithm changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec.structs import replace

from slowpath.watch.attributed import Attributed
from slowpath.watch.events import Floats, Ints
from slowpath.watch.record.layout import EventKind
from slowpath.watch.results import CollectiveClass

MOST_CLASSES: Final = 500
MOST_SITES: Final = 8
# Of each call, as experiment coll has it.
COLLECTIVES: Final[Mapping[str, str]] = {
    f"MPI_{name.capitalize()}": name
    for name in (
        *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall"),
        *("alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
    )
}
_OF_ALL_RANKS: Final = frozenset({"alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block"})
_OF_ALL_RANKS_AT_ROOT: Final = frozenset({"scatter", "scatterv"})


def collectives_of(found: Attributed, weight: Floats, site_of: Mapping[int, int]) -> tuple[CollectiveClass, ...]:
    """Those of which all calls were kept, most time first.

    Args: weight: how many calls each kept one stands for, shape (n,).  site_of: site -> index in the results' sites.
    """
    events, groups, world = found.events, found.groups, found.world
    if not groups.groups:
        return ()
    names = [COLLECTIVES.get(name.removesuffix("_c")) for name in world.calls]
    rows, first = groups.event, groups.first[:-1]
    ranks = np.diff(groups.first)
    size = np.array([len(world.members.get(int(i), ())) for i in events.communicator[rows[first]]])
    call = events.call[rows[first]]
    is_known = np.array([name is not None for name in names], dtype=bool)
    chosen = is_known[call] & (ranks == size) & (size > 1) & ~events.has(EventKind.POST)[rows[first]]
    work_s = np.maximum.reduceat(events.end_s[rows], first) - np.maximum.reduceat(events.start_s[rows], first)
    length = np.add.reduceat(_blocks(found, rows, groups.group, size, names), first) / ranks
    stands_for = np.add.reduceat(weight[rows], first) / ranks
    numbers = np.flatnonzero(chosen)
    key = np.stack([call, size, np.frexp(np.floor(length))[1]], axis=1)
    of_group = np.full(groups.groups, -1)
    alike = _groups_of(key[numbers])
    for number, members in enumerate(alike):
        of_group[numbers[members]] = number
    sites = _sites(of_group[groups.group], events.site[rows], site_of)
    made = []
    for number, members in enumerate(alike):
        mine = numbers[members]
        name = world.calls[int(call[mine[0]])]
        made.append(
            CollectiveClass(
                id=0,
                collective=str(names[int(call[mine[0]])]),
                call=name,
                bytes=round(float(np.average(length[mine], weights=stands_for[mine]))),
                ranks=int(size[mine[0]]),
                count=round(float(stands_for[mine].sum())),
                work_s=max(0.0, float(np.median(work_s[mine]))),
                sites=sites.get(number, ()),
            )
        )
    made.sort(key=lambda collective: collective.work_s * collective.count, reverse=True)
    return tuple(replace(collective, id=i) for i, collective in enumerate(made[:MOST_CLASSES]))


def _blocks(found: Attributed, rows: Ints, group: Ints, size: Ints, names: list[str | None]) -> Floats:
    """Bytes of a rank's call, of one block where it has one for each rank; shape (rows,)."""
    events = found.events
    of_all = np.array([name in _OF_ALL_RANKS for name in names])[events.call[rows]]
    at_root = np.array([name in _OF_ALL_RANKS_AT_ROOT for name in names])[events.call[rows]]
    at_root &= ~events.has(EventKind.RECEIVE)[rows]
    length: Floats = events.bytes[rows] / np.where(of_all | at_root, np.maximum(size[group], 1), 1)
    return length


def _groups_of(key: Ints) -> list[Ints]:
    """Rows with equal keys."""
    if not len(key):
        return []
    _, number = np.unique(key, axis=0, return_inverse=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number.reshape(-1)[order])) + 1)


def _sites(of_event: Ints, sites: Ints, site_of: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    """Class -> places of its calls, those with most calls first."""
    both, counts = np.unique(np.stack([of_event, sites], axis=1), axis=0, return_counts=True)
    found: dict[int, tuple[int, ...]] = {}
    for (number, site), _ in sorted(zip(both.tolist(), counts.tolist(), strict=True), key=lambda counted: -counted[1]):
        known = found.get(number, ())
        if site in site_of and len(known) < MOST_SITES:
            found[number] = (*known, site_of[site])
    return found
