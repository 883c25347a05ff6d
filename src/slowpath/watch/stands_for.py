# SPDX-License-Identifier: Apache-2.0
"""How many calls each kept one stands for: by the exact counts of its kind, which is a rank, a call and a place."""

from __future__ import annotations

import numpy as np

from slowpath.findings.program_pattern import numbered
from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.kind_weights import shared
from slowpath.watch.record.layout import EventKind

MOST_CALLS = 2.0**46  # of a kind: a made-up record must not give a count that no reader of results takes


def stands_for(
    events: Events, world: World, kept: Ints, by_time: Floats, sites: Ints, counted: Ints, without: Bools | None = None
) -> Floats:
    """Return the weight of each kept call, shape (kept,).

    Args: kept: rows of events.  by_time: weight of each kept call, as of `time_weights`.  sites: of each event, as
          `counted` has it.  counted: shape (k, 4): call, site, rank, calls.  without: shape (k,), rows that the profile
          counts without their place; None: none.
    Time misleads where a record was thinned: calls take longer while each event is written, so that they stand for too
    few. It is used where counts can't be: one event is several polls that found nothing. What the profile had no room
    to count by place is shared by the places of the call (`shared`), by how many calls of each were kept.
    """
    if not world.level or not kept.size:
        return by_time
    is_kept = np.zeros(len(events), dtype=bool)
    is_kept[kept] = True
    # The second half of a call such as MPI_Sendrecv is counted as the first.
    is_half = events.has(EventKind.PART) & ~events.has(EventKind.DONE)
    is_kept |= is_half & (events.window % 2**world.level == 0)
    rows = np.flatnonzero(is_kept)
    without = np.zeros(len(counted), dtype=bool) if without is None else without
    every = np.stack([events.call[rows], sites[rows], events.rank[rows]], axis=1)
    both = numbered(counted, every)
    kinds, number = np.unique(both, return_inverse=True)
    of_count, of_event = number[: len(counted)], number[len(counted) :]
    have = np.bincount(of_event, minlength=kinds.size)
    count = counted[:, 3].astype(float)
    own = np.bincount(of_count, weights=np.where(without, 0.0, count), minlength=kinds.size).astype(np.float64)
    # Of each kind its call on its rank, which all places share.
    table = np.concatenate([counted[:, :3], every])[:, [0, 2]]
    _, pair = np.unique(table, axis=0, return_inverse=True)
    pair, calls = pair.reshape(-1), int(pair.max()) + 1
    of = np.zeros(kinds.size, dtype=np.int64)
    of[number] = pair
    coarse = np.bincount(pair[: len(counted)], weights=np.where(without, count, 0.0), minlength=calls).astype(
        np.float64
    )
    all_calls = np.bincount(pair[: len(counted)], weights=count, minlength=calls)
    all_kept = np.bincount(of, weights=have, minlength=calls)
    ratio = all_calls / np.maximum(all_kept, 1)
    stands = np.minimum(shared(have * ratio[of], own, coarse, of), MOST_CALLS)
    polls = np.zeros(kinds.size, dtype=bool)
    polls[of_event[events.has(EventKind.NOTHING)[rows]]] = True
    by_count = (stands >= have) & (have > 0) & ~polls
    kind = np.full(len(events), -1, dtype=np.int64)
    kind[rows] = of_event
    mine = kind[kept]
    return np.where(by_count[mine], stands[mine] / np.maximum(have[mine], 1), by_time)
