# SPDX-License-Identifier: Apache-2.0
"""From a job's records to kept calls on one clock, messages matched, and the time of each call split by reasons.

Waiting for others comes first, and goes to the one that ended it; then what is left. No second is counted twice.

Waiting for a rank that is outside of MPI: messages that do not move meanwhile, one-sided calls, and probes.

A send has begun and a receive is posted, but their rank computes outside of MPI, and the message moves only when it
comes back. A slow transfer that ends after the rank came back looks the same. The other messages of that length
distinguish the two: if any of them arrived while its rank was away, the library doesn't need the rank, and nothing is
claimed.

A rank that calls MPI_Test or MPI_Iprobe again and again, and nothing else, waits as it does in MPI_Wait. Its time is
that of the loop: the calls alone leave out what lies between them, and each of them seems to wait for nobody. A rank
that computes between its polls does not wait: there the polls stay calls of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slowpath.watch import match
from slowpath.watch.events import Bools, Events, Floats, Ints, World, events_of
from slowpath.watch.match import NO_EVENT, Clocks, Collectives, Matched, hashed, joined, parents_of
from slowpath.watch.reasons import (
    NEEDS,
    Eager,
    Needs,
    Reasons,
    Why,
    eager_of,
    of_collectives,
    of_exposures,
    of_messages,
)
from slowpath.watch.record.job import Ticks, WatchedJob
from slowpath.watch.record.layout import EventKind
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.results import BEFORE_THE_RUN


class TimePart(IntEnum):
    """Columns of the split."""

    LATE_SENDER = 0
    LATE_RECEIVER = 1
    IMBALANCE = 2
    SENDER_AWAY = 3
    RECEIVER_AWAY = 4
    UNEXPECTED = 5
    TRANSFER = 6
    CALL = 7
    UNEXPLAINED = 8
    LATE_TARGET = 9


WAITS = (
    TimePart.LATE_SENDER,
    TimePart.LATE_RECEIVER,
    TimePart.IMBALANCE,
    TimePart.SENDER_AWAY,
    TimePart.RECEIVER_AWAY,
    TimePart.LATE_TARGET,
)
_PART_OF: dict[Why, TimePart] = {
    Why.LATE_SENDER: TimePart.LATE_SENDER,
    Why.LATE_RECEIVER: TimePart.LATE_RECEIVER,
    Why.LATE_RANK: TimePart.IMBALANCE,
    Why.SENDER_AWAY: TimePart.SENDER_AWAY,
    Why.RECEIVER_AWAY: TimePart.RECEIVER_AWAY,
    Why.TARGET_AWAY: TimePart.LATE_TARGET,
}
_FIRST_COUNTS = ("MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome")


@dataclass(frozen=True)
class TimeSplit:
    """The time of each call.

    parts_s   shape (n, len(TimePart)), seconds; rows of events that are no calls are 0; a row adds up to the duration
    reason    shape (n,): row of the reasons that ended the waiting; NO_EVENT: it waited for nothing that is known
    until_s   shape (n,): when the waiting ended; the entry where there was none
    """

    parts_s: NDArray[np.float64]
    reason: Ints
    until_s: Floats

    @property
    def wait_s(self) -> Floats:
        """Waiting for other ranks, shape (n,)."""
        waits_s: Floats = self.parts_s[:, WAITS].sum(axis=1)
        return waits_s


def split(events: Events, world: World, reasons: Reasons, moves: Ints, unknown: Bools) -> TimeSplit:
    """The parts of each call's time.

    Args: reasons: what calls waited for.  moves: shape (n,), TimePart of what is left of a call after its waiting, and
          unknown: shape (n,), a call that may have waited for something that is not recorded.
    """
    timed = events.is_timed
    start, end = events.start_s, events.end_s
    parts = np.zeros((len(events), len(TimePart)))
    sure = np.flatnonzero(reasons.why != int(Why.DOUBT))
    chosen = _ending(events, world, reasons, sure)
    reason = np.full(len(events), NO_EVENT, dtype=np.int64)
    reason[reasons.call[chosen]] = chosen
    has = reason != NO_EVENT
    until = start.copy()
    until[has] = np.clip(reasons.until_s[reason[has]], start[has], end[has])
    error = np.zeros(len(events))
    error[has] = reasons.error_s[reason[has]]
    wait = until - start
    claimed = has & (wait > error)
    why = np.full(len(events), NO_EVENT)
    why[claimed] = reasons.why[reason[claimed]]
    for cause, part in _PART_OF.items():
        of_cause = why == int(cause)
        parts[of_cause, part] = wait[of_cause]
    until = np.where(claimed, until, start)
    doubt = _doubt_until(events, reasons)
    doubtful = np.clip(np.where(unknown, end, doubt) - until, 0.0, end - until)
    # A wait that is shorter than the clocks' error may be one, or none.
    within = has & ~claimed
    doubtful = np.where(within, np.maximum(doubtful, np.minimum(error, end - until)), doubtful)
    parts[:, TimePart.UNEXPLAINED] += doubtful
    rest = end - until - doubtful
    parts[np.arange(len(events)), moves] += rest
    parts[~timed] = 0.0
    reason = np.where(claimed, reason, NO_EVENT)
    return TimeSplit(parts, reason, until)


def _ending(events: Events, world: World, reasons: Reasons, sure: Ints) -> Ints:
    """Of each call with reasons the one that ended its waiting, as rows of the reasons."""
    if not sure.size:
        return sure
    first_counts = np.array([name in _FIRST_COUNTS for name in world.calls], dtype=bool)
    is_first = first_counts[events.call[reasons.call[sure]]]
    key = np.where(is_first, -reasons.until_s[sure], reasons.until_s[sure])
    order = sure[np.lexsort((key, reasons.call[sure]))]
    calls = reasons.call[order]
    is_last = np.append(calls[1:] != calls[:-1], True)
    ending: Ints = order[is_last]
    return ending


def _doubt_until(events: Events, reasons: Reasons) -> Floats:
    """Until when each call may have waited for something that is not certain, shape (n,)."""
    until_s = np.full(len(events), -np.inf)
    rows = reasons.why == int(Why.DOUBT)
    np.maximum.at(until_s, reasons.call[rows], reasons.until_s[rows])
    return until_s


def what_is_left(events: Events, world: World, copied: Bools, moved: Bools) -> Ints:
    """Part that a call's time belongs to once waiting is taken off, shape (n,).

    Args: copied: calls in which a message was taken from where it had waited for its receive.
          moved: calls that completed messages, or started one that has bytes.
    """
    part = np.full(len(events), int(TimePart.CALL))
    of_files = world.is_of("files")[events.call]
    carries = events.has(EventKind.ONE_SIDED) & (events.bytes > 0)
    part[carries | moved | events.has(EventKind.COLLECTIVE)] = int(TimePart.TRANSFER)
    part[copied] = int(TimePart.UNEXPECTED)
    part[of_files] = int(TimePart.UNEXPLAINED)
    return part


@dataclass(frozen=True)
class Attributed:
    """All kept events, on one clock, and what was concluded of them.

    events      columns, shape (n,); times in seconds since the first MPI_Init
    matched     messages of both sides, and which are one; without the pairs whose lengths contradict each other
    contradictions   pairs that were left out for that
    eager       shape (pairs,): which messages went at once, and which were there before their receive
    pulled      shape (pairs,): there before its receive, and the receiver was in MPI in between: its library has
                taken the message to memory of its own, from where it is copied
    groups      calls of collectives.  meets: shape (groups,), those whose ranks all wait for all
    reasons     what calls waited for.  split: the parts of each call's time
    clocks      errors of hosts' clocks.  presence: when each rank was in MPI
    shift_s     shape (records,): what was added to the times of each rank's own clock, at its first event
    """

    world: World
    events: Events
    matched: Matched
    contradictions: int
    eager: Eager
    pulled: Bools
    groups: Collectives
    meets: Bools
    reasons: Reasons
    split: TimeSplit
    clocks: Clocks
    presence: Presence
    shift_s: Floats

    @cached_property
    def parents(self) -> Ints:
        """Of each event the call whose time it is in, NO_EVENT: not kept; shape (n,)."""
        return match.parents_of(self.events)


def attributed(job: WatchedJob) -> Attributed:
    """Match, join the clocks, and split each call's time."""
    events, world = with_loops(*events_of(job))
    pairs = match.matched(events)
    groups = match.collectives(events, world)
    own_s = events.start_s.copy()
    events, clocks = joined(events, world, pairs, barriers_of(events, world, groups))
    events = _since_first(events, world)
    shift_s = _shifts(events, world, own_s)
    wrong = match.contradictions(events, pairs)
    pairs = Matched(pairs.sends, pairs.receives, pairs.send[~wrong], pairs.receive[~wrong], pairs.repeated)
    clock = world.clock[events.record]
    reported_s, reported_r = pairs.sends.reported[pairs.send], pairs.receives.reported[pairs.receive]
    error_s = clocks.error_s[clock[reported_s], clock[reported_r]] if world.origin_s.size else np.zeros(0)
    is_far = clock[reported_s] != clock[reported_r]
    posted = pairs.receives.posted[pairs.receive]
    posted_s = np.where(posted == NO_EVENT, np.nan, events.start_s[posted])
    eager = eager_of(events, pairs, posted_s, error_s, is_far)
    presence = Presence.of(events, world)
    done_of = completed_in(events)
    of_groups, lacking, meets = of_collectives(events, world, groups, done_of, clocks.largest_error_s)
    probes = of_probes(events, pairs, error_s)
    exposures = of_exposures(events, world, clocks.largest_error_s)
    of_target, at_target = of_targets(events, world, presence, clocks.largest_error_s)
    reasons = Reasons.joined(
        [
            of_messages(events, pairs, eager, error_s),
            of_groups,
            of_absence(events, presence, pairs, eager, error_s, is_far),
            probes,
            of_target,
            exposures,
        ]
    )
    pulled = _pulled(events, presence, pairs, eager, posted_s)
    moves = what_is_left(events, world, _copied(events, pairs, pulled), _moved(events, pairs, eager) | at_target)
    unknown = lacking | (_unknown(events, pairs, eager, groups) & ~at_target)
    unknown[np.concatenate([probes.call, exposures.call])] = False
    parts = split(events, world, reasons, moves, unknown)
    return Attributed(
        world, events, pairs, int(wrong.sum()), eager, pulled, groups, meets, reasons, parts, clocks, presence, shift_s
    )


def barriers_of(events: Events, world: World, groups: Collectives) -> Collectives:
    """Calls of blocking collectives that need all ranks."""
    if not groups.event.size:
        return groups
    needs_all = np.array([NEEDS.get(name.removesuffix("_c")) == Needs.ALL for name in world.calls])
    kept = needs_all[events.call[groups.event]] & ~events.has(EventKind.POST)[groups.event]
    return match.grouped(groups.event[kept], groups.group[kept])


def _shifts(events: Events, world: World, own_s: Floats) -> Floats:
    shifts_s = np.zeros(len(world.records))
    records, first = np.unique(events.record, return_index=True)
    shifts_s[records] = events.start_s[first] - own_s[first]
    return shifts_s


def _since_first(events: Events, world: World) -> Events:
    """Time 0 is the first MPI_Init; with several hosts, the first event."""
    if world.origin_s.size <= 1 or not len(events):
        return events
    first = float(events.start_s.min())
    events.start_s.__isub__(first)
    events.end_s.__isub__(first)
    return events


def completed_in(events: Events) -> Ints:
    """Of each event the call in which it completed: itself where it blocks; NO_EVENT: not kept."""
    done_of = np.arange(len(events))
    post = events.has(EventKind.COLLECTIVE) & events.has(EventKind.POST)
    done_of[post] = NO_EVENT
    done = events.has(EventKind.COLLECTIVE) & events.has(EventKind.DONE)
    of_done, _ = match.posts_of(events, post, done)
    known = of_done != NO_EVENT
    done_of[of_done[known]] = match.parents_of(events)[np.flatnonzero(done)[known]]
    return done_of


def _pulled(events: Events, presence: Presence, pairs: Matched, eager: Eager, posted_s: Floats) -> Bools:
    """Of messages that were there before their receive: the receiver was in MPI in between."""
    rows = np.flatnonzero(eager.arrived)
    sent, posted = pairs.sends.done[pairs.send[rows]], pairs.receives.posted[pairs.receive[rows]]
    post = pairs.sends.posted[pairs.send[rows]]
    left_s = np.where(eager.is_eager[rows] & (post != NO_EVENT), events.end_s[post], events.end_s[sent])
    pulled = np.zeros(pairs.send.size, dtype=bool)
    back_s = presence.all_back_s(events.record[posted], left_s, events.window[posted])
    with np.errstate(invalid="ignore"):
        pulled[rows] = back_s < posted_s[rows]
    return pulled


def _copied(events: Events, pairs: Matched, pulled: Bools) -> Bools:
    """Calls in which a message was copied that its library had taken before: those that posted its receive."""
    of_event = np.zeros(len(events), dtype=bool)
    posted = pairs.receives.posted[pairs.receive[pulled]]
    of_event[posted[posted != NO_EVENT]] = True
    # Sendrecv's receive is in the time of its send.
    return of_event & events.is_timed & ~events.has(EventKind.SEND)


def _moved(events: Events, pairs: Matched, eager: Eager) -> Bools:
    """Calls that completed messages, started sends of bytes, or posted receives of messages that were there."""
    of_event = events.has(EventKind.SEND) & events.has(EventKind.POST) & (events.bytes > 0)
    posted = pairs.receives.posted[pairs.receive[eager.arrived]]
    for rows in (pairs.sends.done, pairs.receives.done, posted):
        of_event[rows[rows != NO_EVENT]] = True
    return of_event


def _unknown(events: Events, pairs: Matched, eager: Eager, groups: Collectives) -> Bools:
    """Calls that completed a message whose other side is not recorded, or synchronised a window.

    Sends that are no longer than what was proven to go at once wait for nobody.
    """
    of_event = events.has(EventKind.ONE_SIDED) & events.has(EventKind.WAIT)
    of_event |= events.has(EventKind.WAIT) & ~events.has(EventKind.DONE | EventKind.NOTHING) & (events.requests == 0)
    of_event[groups.event] = False
    alone_s = np.ones(len(pairs.sends), dtype=bool)
    alone_s[pairs.send] = False
    alone_s &= events.bytes[pairs.sends.reported] > eager.longest_bytes
    alone_r = np.ones(len(pairs.receives), dtype=bool)
    alone_r[pairs.receive] = False
    for side, alone in ((pairs.sends, alone_s), (pairs.receives, alone_r)):
        rows = side.done[alone]
        of_event[rows[rows != NO_EVENT]] = True
    return of_event


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
        back_s = np.where(inside, times, np.where(at + 1 < starts.size, starts[following], np.nan))
        if self.is_thinned[record]:
            back_s = np.where(inside | (self.windows[record][following] == windows), back_s, np.nan)
        return back_s

    def all_back_s(self, records: Ints, times: Floats, windows: Ints) -> Floats:
        """`back_s` of one record each."""
        return self._by_record(records, lambda record, rows: self.back_s(record, times[rows], windows[rows]))

    @staticmethod
    def _by_record(records: Ints, value: Callable[[int, Ints], Floats]) -> Floats:
        values = np.full(records.shape, np.nan)
        order = np.argsort(records, kind="stable")
        numbers, first = np.unique(records[order], return_index=True)
        edges = np.append(first, order.size).tolist()
        for record, (low, high) in zip(numbers.tolist(), itertools.pairwise(edges), strict=True):
            values[order[low:high]] = value(record, order[low:high])
        return values


def of_absence(
    events: Events, presence: Presence, matched: Matched, eager: Eager, error_s: Floats, is_far: Bools
) -> Reasons:
    """Reasons SENDER_AWAY of receives and RECEIVER_AWAY of sends; DOUBT where the evidence is thin."""
    send_post, send_done = matched.sends.posted[matched.send], matched.sends.done[matched.send]
    receive_post, receive_done = matched.receives.posted[matched.receive], matched.receives.done[matched.receive]
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
    proven: Bools = (cases >= LEAST_CASES) & (against <= MOST_AGAINST * (cases + against))
    return proven


def _refuted(keys: Ints, before: Bools) -> Bools:
    """Keys of which at least one message arrived while its rank was away."""
    _, number = np.unique(keys, return_inverse=True)
    refuted: Bools = (np.bincount(number, weights=before)[number] if keys.size else np.zeros(0)) > 0
    return refuted


# They complete when the target's memory is reached, whether its rank calls MPI or not, unless the library needs it.
# MPICH 5.0.2 waits for the target in the lock of a window of MPI_Win_create.
AT_TARGET = ("MPI_Win_flush", "MPI_Win_lock", "MPI_Win_unlock")


def of_probes(events: Events, pairs: Matched, error_s: Floats) -> Reasons:
    """A blocking probe ends after the send began of the message that its rank receives next of that source and tag.

    Args: error_s: of the clocks, shape (pairs,).
    """
    probes = np.flatnonzero(
        events.has(EventKind.WAIT)
        & ~events.has(EventKind.DONE | EventKind.NOTHING | EventKind.ONE_SIDED | EventKind.COLLECTIVE)
        & (events.requests == 0)
        & (events.peer >= 0)
    )
    reported = pairs.receives.reported[pairs.receive]
    receive, send = pairs.receives.posted[pairs.receive], pairs.sends.posted[pairs.send]
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


SHORTEST_S = 10e-6  # of a loop that waits; shorter ones are a few polls
# Between two polls of a loop lie what watching a call takes, and a step: where that took 60 to 93 ns, 15 to 62 ns in C,
# and 67 to 117 ns in Python.
STEP_S = 100e-9


@dataclass(frozen=True)
class _Loops:
    """ends: calls that found something after polls in vain at their place.  first: of each loop its first poll.

    inside: all polls in vain of these loops; loop: of each the number of its loop.
    """

    ends: Ints
    first: Ints
    inside: Ints
    loop: Ints

    def only(self, kept: Bools) -> _Loops:
        """Those of these loops, shape (loops,)."""
        number = np.cumsum(kept) - 1
        rows = kept[self.loop]
        return _Loops(self.ends[kept], self.first[kept], self.inside[rows], number[self.loop[rows]])


@dataclass(frozen=True)
class _Places:
    """A place is a call site of one call, by a thread of a rank.

    of_event: number of each event's, shape (n,).  of_row: of each record the numbers of its profile's rows; -1: none of
    its calls was kept.  count, seconds: by the profile, shape (places,).
    """

    of_event: Ints
    of_row: tuple[Ints, ...]
    count: Floats
    seconds: Floats

    @classmethod
    def of(cls, events: Events, world: World) -> _Places:
        """Of all events and profiles."""
        calls, sites = max(len(world.calls), 1), len(world.sites) + 1
        lanes = max([int(events.lane.max(initial=0)), *(record.lanes.size for record in world.records)]) + 1

        def key(record: int | Ints, lane: Ints, call: Ints, site: Ints) -> Ints:
            key: Ints = ((record * np.int64(lanes) + lane) * calls + call) * sites + site + 1
            return key

        keys, number = np.unique(key(events.record, events.lane, events.call, events.site), return_inverse=True)
        of_row, count, seconds = [], np.zeros(keys.size), np.zeros(keys.size)
        for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
            profile = record.profile
            mine = key(i, record.profile_lane, world.call_of[i][profile["call"]], world.sites_at(i, profile["site"]))
            at = np.minimum(np.searchsorted(keys, mine), keys.size - 1)
            at = np.where(keys[at] == mine, at, -1)
            of_row.append(at)
            np.add.at(count, at[at >= 0], profile["count"][at >= 0].astype(float))
            np.add.at(seconds, at[at >= 0], profile["ticks"][at >= 0].astype(float) * clock.s_per_tick)
        return cls(number.reshape(-1), tuple(of_row), count, seconds)


def with_loops(events: Events, world: World) -> tuple[Events, World]:
    """Events in which the call that ends a loop begins with it, and a world whose profile counts the loop's time."""
    loops = _loops(events, world.level)
    if not loops.ends.size:
        return events, world
    places = _Places.of(events, world)
    loops, polls = _tight(events, world, places, loops)
    if not loops.ends.size:
        return events, world
    start_s, end_s = events.start_s.copy(), events.end_s.copy()
    start_s[loops.ends] = events.start_s[loops.first]
    parent = parents_of(events)
    within = np.flatnonzero(~events.is_timed & (parent != NO_EVENT))  # what such a call completed begins with it, too
    start_s[within] = start_s[parent[within]]
    start_s[loops.inside] = end_s[loops.inside] = events.start_s[loops.first][loops.loop]
    kind = events.kind.copy()
    kind[loops.ends] |= int(EventKind.WAIT)
    joined = replace(events, start_s=start_s, end_s=end_s, kind=kind)
    timed = np.flatnonzero(events.is_timed)
    kept_s = np.zeros(places.count.size)
    np.add.at(kept_s, places.of_event[timed], joined.duration_s[timed])
    changed = np.zeros(places.count.size, dtype=bool)
    changed[places.of_event[np.concatenate([loops.ends, loops.inside])]] = True
    records = tuple(
        _counted(record, world.clocks[i], places.of_row[i], kept_s, changed) for i, record in enumerate(world.records)
    )
    return joined, replace(world, job=replace(world.job, records=records), polls=tuple(polls.tolist()))


def _loops(events: Events, level: int) -> _Loops:
    """Polls in vain with no other call between them, and a poll at one of their places which found something.

    The record has polls that follow each other at once as one event of each place, the last of which has their time.
    What lies between two events has to be short: in the median a quarter of what an event takes (of the longest fifth,
    at its lower end) at most. A rank that loses its processor in between still polls.
    """
    timed = np.flatnonzero(events.is_timed)
    in_vain = events.has(EventKind.NOTHING)[timed]
    if not in_vain.any():
        return _Loops(timed[:0], timed[:0], timed[:0], timed[:0])
    before, after = timed[:-1], timed[1:]
    same: Bools = in_vain[:-1] & (events.record[before] == events.record[after])
    same &= events.lane[before] == events.lane[after]
    if level:  # where a window is missing, other calls may have been
        same &= events.window[after] - events.window[before] <= 1
    chain = np.append(0, np.cumsum(~same))
    first = np.flatnonzero(np.append(True, ~same))
    last = np.append(first[1:], timed.size) - 1
    gap_s = _at_share(0.5, (events.start_s[after] - events.end_s[before])[same], chain[1:][same], first.size)
    poll_s = _at_share(0.8, events.duration_s[timed[in_vain]], chain[in_vain], first.size)
    span_s = events.end_s[timed[last]] - events.start_s[timed[first]]
    kept = (last > first) & ~in_vain[last] & (span_s >= SHORTEST_S) & (gap_s <= poll_s / 4)
    likely = np.flatnonzero(kept[chain])  # each chain's last one is what found something
    _, place = np.unique(
        np.stack([events.call[timed[likely]], events.site[timed[likely]], chain[likely]], axis=1),
        axis=0,
        return_inverse=True,
    )
    place, is_end = place.reshape(-1), ~in_vain[likely]
    polled = np.zeros(likely.size, dtype=bool)
    polled[place[~is_end]] = True
    chosen = chain[likely[is_end]][polled[place[is_end]]]
    number = np.full(first.size, -1, dtype=np.int64)
    number[chosen] = np.arange(chosen.size)
    inside = np.flatnonzero(in_vain & (number[chain] >= 0))
    return _Loops(timed[last[chosen]], timed[first[chosen]], timed[inside], number[chain[inside]])


def _at_share(share: float, values: Floats, group: Ints, groups: int) -> Floats:
    """Of each group the value that lies at this share of them in order, shape (groups,); 0: it has no values."""
    order = np.lexsort((values, group))
    count = np.bincount(group, minlength=groups)
    begin = np.append(0, np.cumsum(count))[:-1]
    at_share = np.zeros(groups)
    some = count > 0
    at_share[some] = values[order[(begin + np.ceil((count - 1) * share).astype(np.int64))[some]]]
    return at_share


def _tight(events: Events, world: World, places: _Places, loops: _Loops) -> tuple[_Loops, Floats]:
    """Return the loops that do nothing between their polls, and how many polls of each record are in such loops.

    Polls that the record has as one event may have computed for less than 1 us between them: what lies between them,
    in the mean of all loops that end at a place, has to be what the watch and a loop's step take.
    """
    of_event = places.of_event
    vain = np.flatnonzero(events.has(EventKind.NOTHING) & events.is_timed)
    vain_s = np.bincount(of_event[vain], weights=events.duration_s[vain], minlength=places.count.size)
    end_place, group = np.unique(of_event[loops.ends], return_inverse=True)
    place = of_event[loops.inside]
    inside_s = events.duration_s[loops.inside]
    share = inside_s / np.where(vain_s[place] > 0, vain_s[place], 1.0)  # of the polls in vain at its place
    polls = share * places.count[place]
    of_loop = group[loops.loop]
    windows = 2.0 ** np.array([int(record.lanes["level"].max(initial=0)) for record in world.records])
    total = [  # the profile has all windows, events those that were kept
        np.bincount(of_loop, weights=each, minlength=end_place.size)
        for each in (inside_s * windows[events.record[loops.inside]] - share * places.seconds[place], polls)
    ]
    cost_s = max((int(record.header["call_cost_ns"]) for record in world.records), default=0) * 1e-9
    is_tight = total[0] <= total[1] * (cost_s + STEP_S)
    kept = is_tight[group]
    counted = np.where(is_tight[of_loop], polls, 0.0)
    return loops.only(kept), np.bincount(
        events.record[loops.inside], weights=counted, minlength=len(world.records)
    ).astype(np.float64)


def _counted(record: RankRecord, clock: Ticks, of_row: Ints, kept_s: Floats, changed: Bools) -> RankRecord:
    """Return the record with the time of its loops in its profile.

    Args: of_row: place of each row of the profile.  kept_s: of each place the time of its kept calls, with its loops.
          changed: places that have loops, or polls of them.
    Where windows are missing, those that were kept stand for all, as long as the rank ran for that long.
    """
    mine = np.unique(of_row[(of_row >= 0) & changed[of_row]])
    if not mine.size:
        return record
    ticks, lanes = record.profile["ticks"].astype(float), record.lanes.copy()
    is_whole, ran = not record.lost.get("events", 0), float(record.last_sign_ticks - int(record.header["start_ticks"]))
    starts = np.array([name in BEFORE_THE_RUN for name in record.call_names], dtype=bool)[record.profile["call"]]
    counted_lanes = []
    for place in mine.tolist():
        rows = np.flatnonzero(of_row == place)
        lane = int(record.profile_lane[rows[0]])
        counted, whole = float(ticks[rows].sum()), float(kept_s[place]) * 2 ** int(lanes["level"][lane])
        more = whole / clock.s_per_tick - counted
        counted_lanes.append((more if is_whole else max(more, 0.0), counted, lane, rows))
    # What becomes less comes first: it makes room.
    for more, counted, lane, rows in sorted(counted_lanes, key=lambda of_lane: of_lane[0]):
        in_calls = float(lanes["call_ticks"][lane])
        room = ran - (in_calls - float(ticks[starts & (record.profile_lane == lane)].sum()))
        whole = counted + min(more, max(room, 0.0))
        ticks[rows] = ticks[rows] * (whole / counted) if counted > 0 else whole / rows.size
        lanes["call_ticks"][lane] = np.uint64(max(in_calls + whole - counted, 0.0))
    profile = record.profile.copy()
    profile["ticks"] = ticks
    return replace(record, profile=profile, lanes=lanes)
