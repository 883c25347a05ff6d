# SPDX-License-Identifier: Apache-2.0
"""What probes wait for, and what one-sided calls that wait for their target do."""

from __future__ import annotations

import numpy as np

from slowpath.watch.away import LEAST_AWAY_S, Presence
from slowpath.watch.events import Bools, Events, Floats, World
from slowpath.watch.match import NO_EVENT, Matched, hashed
from slowpath.watch.reasons import Reasons, Why
from slowpath.watch.record.layout import Kind

# They complete when the target's memory is reached, whether its rank calls MPI or not, unless the library needs it.
AT_TARGET = ("MPI_Win_flush", "MPI_Win_unlock")


def of_probes(events: Events, found: Matched, error_s: Floats) -> Reasons:
    """A blocking probe ends after the send began of the message that its rank receives next of that source and tag.

    Args: error_s: of the clocks, shape (pairs,).
    """
    probes = np.flatnonzero(
        events.has(Kind.WAIT)
        & ~events.has(Kind.DONE | Kind.NOTHING | Kind.ONE_SIDED | Kind.COLLECTIVE)
        & (events.requests == 0)
        & (events.peer >= 0)
    )
    reported = found.receives.reported[found.receive]
    receive, send = found.receives.posted[found.receive], found.sends.posted[found.send]
    known = np.flatnonzero((receive != NO_EVENT) & (send != NO_EVENT))
    if not probes.size or not known.size:
        return _nothing()
    reported, receive, send = reported[known], receive[known], send[known]

    of_receives, of_probes = (
        hashed((events.record[rows], events.communicator[rows], events.peer[rows], events.tag[rows]))
        for rows in (reported, probes)
    )
    order = np.lexsort((events.start_s[receive], of_receives))
    keys, times = of_receives[order], events.start_s[receive][order]
    every = np.concatenate([times, events.end_s[probes]])
    place = np.argsort(np.argsort(every, kind="stable"), kind="stable")
    _, number = np.unique(np.concatenate([keys, of_probes]), return_inverse=True)
    many = every.size + 1
    combined = number.astype(np.int64) * many + place
    at = np.searchsorted(combined[: times.size], combined[times.size :])
    hit = np.flatnonzero(at < times.size)
    hit = hit[number[: times.size][at[hit]] == number[times.size :][hit]]
    rows = order[at[hit]]
    call, other, pair = probes[hit], send[rows], known[rows]
    why = np.full(call.size, int(Why.LATE_SENDER))
    return Reasons(call, other, events.start_s[other], error_s[pair], why, events.rank[other], pair)


def of_targets(events: Events, world: World, presence: Presence, error_s: float) -> tuple[Reasons, Bools]:
    """A flush or unlock that ends only when its target comes back to MPI: the library needed it.

    Returns: reasons, and the calls of this kind, shape (n,): their rest moves bytes.
    """
    names = np.array([name.startswith(AT_TARGET) for name in world.calls], dtype=bool)
    of_kind = names[events.call] & events.has(Kind.ONE_SIDED) & events.is_timed if names.size else events.is_timed
    record_of = np.full(world.job.size + 1, NO_EVENT, dtype=np.int64)
    for i, record in enumerate(world.records):
        record_of[record.rank] = i
    rows = np.flatnonzero(of_kind & (events.peer >= 0) & (events.peer != events.rank))
    rows = rows[record_of[events.peer[rows]] != NO_EVENT]
    target = record_of[events.peer[rows]]
    back_s = presence.all_back_s(target, events.start_s[rows], events.window[rows])
    with np.errstate(invalid="ignore"):
        away_s = back_s - events.start_s[rows]
        through = (away_s > LEAST_AWAY_S + error_s) & (events.end_s[rows] >= back_s)
        refuted = (away_s > LEAST_AWAY_S + error_s) & (events.end_s[rows] < back_s)
    sure = through & (through.sum() >= 3 * max(int(refuted.sum()) * 7, 1))
    call, until, culprit = rows[through], back_s[through], events.peer[rows[through]]
    why = np.where(sure[through], int(Why.TARGET_AWAY), int(Why.DOUBT))
    none = np.full(call.size, NO_EVENT, dtype=np.int64)
    return Reasons(call, call, until, np.full(call.size, error_s), why, culprit, none), of_kind


def _nothing() -> Reasons:
    none = np.zeros(0, dtype=np.int64)
    return Reasons(none, none, np.zeros(0), np.zeros(0), none, none, none)
