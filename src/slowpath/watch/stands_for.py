# SPDX-License-Identifier: Apache-2.0
"""How many calls each kept one stands for: by the exact counts of its kind, which is a rank, a call and a place."""

from __future__ import annotations

import numpy as np

from slowpath.findings.program_pattern import numbered
from slowpath.watch.events import Events, Floats, Ints, World
from slowpath.watch.record.layout import EventKind

MOST_CALLS = 2.0**46  # of a kind: a made-up record must not give a count that no reader of results takes


def stands_for(events: Events, world: World, kept: Ints, by_time: Floats, sites: Ints, counted: Ints) -> Floats:
    """Return the weight of each kept call, shape (kept,).

    Args: kept: rows of events.  by_time: weight of each kept call, as of `time_weights`.  sites: of each event, as
          `counted` has it.  counted: shape (k, 4): call, site, rank, calls.
    Time misleads where a record was thinned: calls take longer while each event is written, so that they stand for too
    few. It is used where counts can't be: one event is several polls that found nothing, and the counts of a place that
    the profile had no room for are not its own.
    """
    if not world.level or not kept.size:
        return by_time
    is_kept = np.zeros(len(events), dtype=bool)
    is_kept[kept] = True
    # The second half of a call such as MPI_Sendrecv is counted as the first.
    is_half = events.has(EventKind.PART) & ~events.has(EventKind.DONE)
    is_kept |= is_half & (events.window % 2**world.level == 0)
    rows = np.flatnonzero(is_kept)
    both = numbered(counted, np.stack([events.call[rows], sites[rows], events.rank[rows]], axis=1))
    _, number = np.unique(both, return_inverse=True)
    of_count, of_event = number[: len(counted)], number[len(counted) :]
    size = int(number.max()) + 1
    have = np.bincount(of_event, minlength=size)
    calls = np.minimum(np.bincount(of_count, weights=counted[:, 3], minlength=size), MOST_CALLS)
    polls = np.zeros(size, dtype=bool)
    polls[of_event[events.has(EventKind.NOTHING)[rows]]] = True
    by_count = (calls >= have) & (have > 0) & ~polls
    kind = np.full(len(events), -1, dtype=np.int64)
    kind[rows] = of_event
    mine = kind[kept]
    return np.where(by_count[mine], calls[mine] / np.maximum(have[mine], 1), by_time)
