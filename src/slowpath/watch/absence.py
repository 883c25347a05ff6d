# SPDX-License-Identifier: Apache-2.0
"""Waiting for a rank that is outside of MPI: messages that do not move meanwhile, one-sided calls, and probes.

A send has begun and a receive is posted, but their rank computes outside of MPI, and the message moves only when it
comes back. A slow transfer that ends after the rank came back looks the same. The other messages of that length
distinguish the two: if any of them arrived while its rank was away, the library doesn't need the rank, and nothing is
claimed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.match import NO_EVENT, Matched, hashed
from slowpath.watch.reasons import Eager, Reasons, Why
from slowpath.watch.record.layout import EventKind

LEAST_CASES = 3  # messages of one length that waited for the rank's return
MOST_AGAINST = 0.05  # share of them that arrived without it
LEAST_AWAY_S = 2e-6  # shorter absences are the calls' own edges


@dataclass(frozen=True)
class Presence:
    """When each rank was in MPI, all its threads together; by record, its stretches in order."""

    starts: tuple[Floats, ...]
    ends: tuple[Floats, ...]
    windows: tuple[Ints, ...]
    is_thinned: tuple[bool, ...]

    @classmethod
    def of(cls, events: Events, world: World) -> Presence:
        """From the kept calls."""
        starts, ends, windows = [], [], []
        timed = np.flatnonzero(events.is_timed)
        bounds = np.searchsorted(events.record[timed], np.arange(len(world.records) + 1))
        for low, high in itertools.pairwise(bounds):
            rows = timed[low:high]
            rows = rows[np.argsort(events.start_s[rows], kind="stable")]
            starts.append(events.start_s[rows])
            ends.append(np.maximum.accumulate(events.end_s[rows]) if rows.size else events.end_s[rows])
            windows.append(events.window[rows])
        levels = [int(record.lanes["level"].max(initial=0)) > 0 for record in world.records]
        return cls(tuple(starts), tuple(ends), tuple(windows), tuple(levels))

    def inside_s(self, records: Ints, times: Floats) -> Floats:
        """Time in MPI of each record up to a time; one record and one time each."""
        return self._by_record(records, lambda record, rows: self._inside_s(record, times[rows]))

    def _inside_s(self, record: int, times: Floats) -> Floats:
        starts, ends = self.starts[record], self.ends[record]
        if not starts.size:
            return np.zeros(times.shape)
        # Calls of several threads overlap: of each only what lies behind all before it counts.
        begun = np.maximum(starts, np.append(-np.inf, ends[:-1]))
        whole = np.append(0.0, np.cumsum(np.maximum(ends - begun, 0.0)))
        at = np.searchsorted(begun, times, side="right")
        open_s = np.where(at > 0, np.maximum(ends[np.maximum(at - 1, 0)] - times, 0.0), 0.0)
        found: Floats = whole[at] - open_s
        return found

    def back_s(self, record: int, times: Floats, windows: Ints) -> Floats:
        """When the rank is next in MPI: the time itself where it is; NaN: not known.

        Args: windows: of each time; where windows are missing, only a return within the same one is known.
        """
        starts, ends = self.starts[record], self.ends[record]
        if not starts.size:
            return np.full(times.shape, np.nan)
        at = np.searchsorted(starts, times, side="right") - 1
        inside = (at >= 0) & (times <= ends[np.maximum(at, 0)])
        following = np.minimum(at + 1, starts.size - 1)
        found = np.where(inside, times, np.where(at + 1 < starts.size, starts[following], np.nan))
        if self.is_thinned[record]:
            found = np.where(inside | (self.windows[record][following] == windows), found, np.nan)
        return found

    def all_back_s(self, records: Ints, times: Floats, windows: Ints) -> Floats:
        """`back_s` of one record each."""
        return self._by_record(records, lambda record, rows: self.back_s(record, times[rows], windows[rows]))

    @staticmethod
    def _by_record(records: Ints, value: Callable[[int, Ints], Floats]) -> Floats:
        found = np.full(records.shape, np.nan)
        order = np.argsort(records, kind="stable")
        numbers, first = np.unique(records[order], return_index=True)
        edges = np.append(first, order.size).tolist()
        for record, (low, high) in zip(numbers.tolist(), itertools.pairwise(edges), strict=True):
            found[order[low:high]] = value(record, order[low:high])
        return found


def of_absence(
    events: Events, presence: Presence, found: Matched, eager: Eager, error_s: Floats, is_far: Bools
) -> Reasons:
    """Reasons SENDER_AWAY of receives and RECEIVER_AWAY of sends; DOUBT where the evidence is thin."""
    send_post, send_done = found.sends.posted[found.send], found.sends.done[found.send]
    receive_post, receive_done = found.receives.posted[found.receive], found.receives.done[found.receive]
    sides = [
        (receive_done, send_post, send_done, receive_post, Why.SENDER_AWAY),
        (send_done, receive_post, receive_done, send_post, Why.RECEIVER_AWAY),
    ]
    parts = []
    for call, post, its_done, own_post, why in sides:
        kept = (call != NO_EVENT) & (post != NO_EVENT) & (own_post != NO_EVENT) & ~eager.is_eager
        kept &= post != its_done  # a rank that blocks in the other call is in MPI
        pairs = np.flatnonzero(kept)
        parts.append(_side(events, presence, (call[pairs], post[pairs]), pairs, error_s, is_far, why))
    return Reasons.joined(parts)


def _side(
    events: Events, presence: Presence, calls: tuple[Ints, Ints], pairs: Ints, error_s: Floats, is_far: Bools, why: Why
) -> Reasons:
    call, post = calls
    from_s = np.maximum(events.start_s[call], events.end_s[post])
    back_s = presence.all_back_s(events.record[post], from_s, events.window[call])
    with np.errstate(invalid="ignore"):
        away = (from_s < events.end_s[call]) & (back_s - from_s > LEAST_AWAY_S + error_s[pairs])
    until_end = events.end_s[call]
    through = away & (until_end >= back_s)
    before = away & ~through
    length = np.frexp(np.maximum(events.bytes[call], events.bytes[post]).astype(float))[1]
    sure = _proven(length * 2 + is_far[pairs], through, before)
    near = through & (until_end - back_s <= back_s - from_s)
    chosen = np.flatnonzero(through & sure)
    whys = np.where(near[chosen], int(why), int(Why.DOUBT))
    thin = np.flatnonzero(through & ~sure & ~_refuted(length * 2 + is_far[pairs], before))
    rows = np.concatenate([chosen, thin])
    return Reasons(
        call[rows],
        post[rows],
        back_s[rows],
        error_s[pairs[rows]],
        np.concatenate([whys, np.full(thin.size, int(Why.DOUBT))]),
        events.rank[post[rows]],
        pairs[rows],
    )


def _proven(keys: Ints, through: Bools, before: Bools) -> Bools:
    """Keys of which enough messages waited and hardly any did not."""
    _, number = np.unique(keys, return_inverse=True)
    cases = np.bincount(number, weights=through)[number] if keys.size else np.zeros(0)
    against = np.bincount(number, weights=before)[number] if keys.size else np.zeros(0)
    found: Bools = (cases >= LEAST_CASES) & (against <= MOST_AGAINST * (cases + against))
    return found


def _refuted(keys: Ints, before: Bools) -> Bools:
    """Keys of which at least one message arrived while its rank was away."""
    _, number = np.unique(keys, return_inverse=True)
    found: Bools = (np.bincount(number, weights=before)[number] if keys.size else np.zeros(0)) > 0
    return found


# They complete when the target's memory is reached, whether its rank calls MPI or not, unless the library needs it.
# MPICH 5.0.2 waits for the target in the lock of a window of MPI_Win_create.
AT_TARGET = ("MPI_Win_flush", "MPI_Win_lock", "MPI_Win_unlock")


def of_probes(events: Events, found: Matched, error_s: Floats) -> Reasons:
    """A blocking probe ends after the send began of the message that its rank receives next of that source and tag.

    Args: error_s: of the clocks, shape (pairs,).
    """
    probes = np.flatnonzero(
        events.has(EventKind.WAIT)
        & ~events.has(EventKind.DONE | EventKind.NOTHING | EventKind.ONE_SIDED | EventKind.COLLECTIVE)
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
    """A lock, flush or unlock that ends only when its target comes back to MPI: the library needed it.

    One that goes on for longer than its target was away may have waited for another origin's lock, too: doubt.

    Returns: reasons, and the calls of this kind, shape (n,): their rest moves bytes.
    """
    names = np.array([name.startswith(AT_TARGET) for name in world.calls], dtype=bool)
    of_kind = names[events.call] & events.has(EventKind.ONE_SIDED) & events.is_timed if names.size else events.is_timed
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
    near = events.end_s[call] - until <= until - events.start_s[call]
    why = np.where(sure[through] & near, int(Why.TARGET_AWAY), int(Why.DOUBT))
    none = np.full(call.size, NO_EVENT, dtype=np.int64)
    return Reasons(call, call, until, np.full(call.size, error_s), why, culprit, none), of_kind


def _nothing() -> Reasons:
    none = np.zeros(0, dtype=np.int64)
    return Reasons(none, none, np.zeros(0), np.zeros(0), none, none, none)
