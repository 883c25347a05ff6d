# SPDX-License-Identifier: Apache-2.0
"""From a job's records to kept calls on one clock, messages matched, and the time of each call split by reasons.

Waiting for others comes first, then what is left of the call. No second is counted twice. A call that waits for several
things waits until the last of them is there (MPI_Waitany and MPI_Waitsome: the first), and all of that waiting goes to
the one that ended it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slowpath.watch import match
from slowpath.watch.absence import Presence, of_absence, of_probes, of_targets
from slowpath.watch.clocks import Clocks, joined
from slowpath.watch.events import Bools, Events, Floats, Ints, World, events_of
from slowpath.watch.match import NO_EVENT, Collectives, Matched
from slowpath.watch.polls import with_loops
from slowpath.watch.reasons import NEEDS, Eager, Needs, Reasons, Why, eager_of, of_collectives, of_messages
from slowpath.watch.record.job import WatchedJob
from slowpath.watch.record.layout import EventKind


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
        found: Floats = self.parts_s[:, WAITS].sum(axis=1)
        return found


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
    found: Ints = order[is_last]
    return found


def _doubt_until(events: Events, reasons: Reasons) -> Floats:
    """Until when each call may have waited for something that is not certain, shape (n,)."""
    found = np.full(len(events), -np.inf)
    rows = reasons.why == int(Why.DOUBT)
    np.maximum.at(found, reasons.call[rows], reasons.until_s[rows])
    return found


def what_is_left(events: Events, world: World, copied: Bools, moved: Bools) -> Ints:
    """Part that a call's time belongs to once waiting is taken off, shape (n,).

    Args: copied: calls in which a message was taken from where it had waited for its receive.
          moved: calls that completed messages, or started one that has bytes.
    """
    found = np.full(len(events), int(TimePart.CALL))
    of_files = world.is_of("files")[events.call]
    carries = events.has(EventKind.ONE_SIDED) & (events.bytes > 0)
    found[carries | moved | events.has(EventKind.COLLECTIVE)] = int(TimePart.TRANSFER)
    found[copied] = int(TimePart.UNEXPECTED)
    found[of_files] = int(TimePart.UNEXPLAINED)
    return found


@dataclass(frozen=True)
class Attributed:
    """All kept events, on one clock, and what was concluded of them.

    events      columns, shape (n,); times in seconds since the first MPI_Init
    matched     messages of both sides, and which are one; without the pairs whose lengths contradict each other
    contradictions   pairs that were left out for that
    eager       shape (pairs,): which messages went at once, and which were there before their receive
    pulled      shape (pairs,): there before its receive, and the receiver was in MPI in between: its library has
                taken the message to memory of its own, from where it is copied
    groups      calls of collectives
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
    reasons: Reasons
    split: TimeSplit
    clocks: Clocks
    presence: Presence
    shift_s: Floats

    @cached_property
    def parents(self) -> Ints:
        """Of each event the call whose time it is in, NO_EVENT: not kept; shape (n,)."""
        return match.parents_of(self.events)

    @property
    def depends(self) -> Ints:
        """Calls, and the events of other ranks without which they could not return: shape (k, 2); no doubtful ones."""
        sure = (self.reasons.why != int(Why.DOUBT)) & (self.reasons.why != int(Why.TARGET_AWAY))
        return np.stack([self.reasons.call[sure], self.reasons.other[sure]], axis=1)

    @property
    def arrived(self) -> int:
        """Messages that were there before their receive was posted."""
        return int(self.eager.arrived.sum())


def attributed(job: WatchedJob) -> Attributed:
    """Match, join the clocks, and split each call's time."""
    events, world = with_loops(*events_of(job))
    found = match.matched(events)
    groups = match.collectives(events, world)
    own_s = events.start_s.copy()
    events, clocks = joined(events, world, found, barriers_of(events, world, groups))
    events = _since_first(events, world)
    shift_s = _shifts(events, world, own_s)
    wrong = match.contradictions(events, found)
    found = Matched(found.sends, found.receives, found.send[~wrong], found.receive[~wrong], found.repeated)
    clock = world.clock[events.record]
    reported_s, reported_r = found.sends.reported[found.send], found.receives.reported[found.receive]
    error_s = clocks.error_s[clock[reported_s], clock[reported_r]] if world.origin_s.size else np.zeros(0)
    is_far = clock[reported_s] != clock[reported_r]
    posted = found.receives.posted[found.receive]
    posted_s = np.where(posted == NO_EVENT, np.nan, events.start_s[posted])
    eager = eager_of(events, found, posted_s, error_s, is_far)
    presence = Presence.of(events, world)
    done_of = _done_of(events)
    of_groups, lacking = of_collectives(events, world, groups, done_of, clocks.largest_error_s)
    probes = of_probes(events, found, error_s)
    of_target, at_target = of_targets(events, world, presence, clocks.largest_error_s)
    reasons = Reasons.joined(
        [
            of_messages(events, found, eager, error_s),
            of_groups,
            of_absence(events, presence, found, eager, error_s, is_far),
            probes,
            of_target,
        ]
    )
    pulled = _pulled(events, presence, found, eager, posted_s)
    moves = what_is_left(events, world, _copied(events, found, pulled), _moved(events, found, eager) | at_target)
    unknown = lacking | (_unknown(events, found, eager, groups) & ~at_target)
    unknown[probes.call] = False
    parts = split(events, world, reasons, moves, unknown)
    return Attributed(
        world, events, found, int(wrong.sum()), eager, pulled, groups, reasons, parts, clocks, presence, shift_s
    )


def barriers_of(events: Events, world: World, groups: Collectives) -> Collectives:
    """Calls of blocking collectives that need all ranks."""
    if not groups.event.size:
        return groups
    needs_all = np.array([NEEDS.get(name.removesuffix("_c")) == Needs.ALL for name in world.calls])
    kept = needs_all[events.call[groups.event]] & ~events.has(EventKind.POST)[groups.event]
    return match.grouped(groups.event[kept], groups.group[kept])


def _shifts(events: Events, world: World, own_s: Floats) -> Floats:
    found = np.zeros(len(world.records))
    records, first = np.unique(events.record, return_index=True)
    found[records] = events.start_s[first] - own_s[first]
    return found


def _since_first(events: Events, world: World) -> Events:
    """Time 0 is the first MPI_Init; with several hosts, the first event."""
    if world.origin_s.size <= 1 or not len(events):
        return events
    first = float(events.start_s.min())
    events.start_s.__isub__(first)
    events.end_s.__isub__(first)
    return events


def _done_of(events: Events) -> Ints:
    """Of each event the call in which it completed: itself where it blocks; NO_EVENT: not kept."""
    found = np.arange(len(events))
    post = events.has(EventKind.COLLECTIVE) & events.has(EventKind.POST)
    found[post] = NO_EVENT
    done = events.has(EventKind.COLLECTIVE) & events.has(EventKind.DONE)
    of_done, _ = match.posts_of(events, post, done)
    known = of_done != NO_EVENT
    found[of_done[known]] = match.parents_of(events)[np.flatnonzero(done)[known]]
    return found


def _pulled(events: Events, presence: Presence, found: Matched, eager: Eager, posted_s: Floats) -> Bools:
    """Of messages that were there before their receive: the receiver was in MPI in between."""
    rows = np.flatnonzero(eager.arrived)
    sent, posted = found.sends.done[found.send[rows]], found.receives.posted[found.receive[rows]]
    post = found.sends.posted[found.send[rows]]
    left_s = np.where(eager.is_eager[rows] & (post != NO_EVENT), events.end_s[post], events.end_s[sent])
    pulled = np.zeros(found.send.size, dtype=bool)
    back_s = presence.all_back_s(events.record[posted], left_s, events.window[posted])
    with np.errstate(invalid="ignore"):
        pulled[rows] = back_s < posted_s[rows]
    return pulled


def _copied(events: Events, found: Matched, pulled: Bools) -> Bools:
    """Calls in which a message was copied that its library had taken before: those that posted its receive."""
    of_event = np.zeros(len(events), dtype=bool)
    posted = found.receives.posted[found.receive[pulled]]
    of_event[posted[posted != NO_EVENT]] = True
    # Sendrecv's receive is in the time of its send.
    return of_event & events.is_timed & ~events.has(EventKind.SEND)


def _moved(events: Events, found: Matched, eager: Eager) -> Bools:
    """Calls that completed messages, started sends of bytes, or posted receives of messages that were there."""
    of_event = events.has(EventKind.SEND) & events.has(EventKind.POST) & (events.bytes > 0)
    posted = found.receives.posted[found.receive[eager.arrived]]
    for rows in (found.sends.done, found.receives.done, posted):
        of_event[rows[rows != NO_EVENT]] = True
    return of_event


def _unknown(events: Events, found: Matched, eager: Eager, groups: Collectives) -> Bools:
    """Calls that completed a message whose other side is not recorded, or synchronised a window.

    Sends that are no longer than what was proven to go at once wait for nobody.
    """
    of_event = events.has(EventKind.ONE_SIDED) & events.has(EventKind.WAIT)
    of_event |= events.has(EventKind.WAIT) & ~events.has(EventKind.DONE | EventKind.NOTHING) & (events.requests == 0)
    of_event[groups.event] = False
    alone_s = np.ones(len(found.sends), dtype=bool)
    alone_s[found.send] = False
    alone_s &= events.bytes[found.sends.reported] > eager.longest_bytes
    alone_r = np.ones(len(found.receives), dtype=bool)
    alone_r[found.receive] = False
    for side, alone in ((found.sends, alone_s), (found.receives, alone_r)):
        rows = side.done[alone]
        of_event[rows[rows != NO_EVENT]] = True
    return of_event
