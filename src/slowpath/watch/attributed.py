# SPDX-License-Identifier: Apache-2.0
"""A watched job, matched and attributed: what results, prices and the replay of its order work on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slowpath.watch import match
from slowpath.watch.attribute import Split, split, what_is_left
from slowpath.watch.away import Presence, of_absence
from slowpath.watch.clocks import Clocks, joined
from slowpath.watch.collective_reasons import NEEDS, Needs, of_collectives
from slowpath.watch.eager import Eager, eager_of
from slowpath.watch.events import Bools, Events, Floats, Ints, World, events_of
from slowpath.watch.match import NO_EVENT, Collectives, Matched
from slowpath.watch.other_reasons import of_probes, of_targets
from slowpath.watch.reasons import Reasons, Why, of_messages
from slowpath.watch.record.job import WatchedJob
from slowpath.watch.record.layout import Kind


@dataclass(frozen=True)
class Attributed:
    """All kept events, on one clock, and what was concluded of them.

    events      columns, shape (n,); times in seconds since the first MPI_Init
    found       messages of both sides, and which are one; without the pairs whose lengths contradict each other
    contradictions   pairs that were left out for that
    eager       shape (pairs,): which messages went at once, and which were there before their receive
    pulled      shape (pairs,): there before its receive, and the receiver was in MPI in between: its library has
                taken the message to memory of its own, from where it is copied
    groups      calls of collectives
    reasons     what calls waited for.  parts: the split of each call's time
    clocks      errors of hosts' clocks.  presence: when each rank was in MPI
    shift_s     shape (records,): what was added to the times of each rank's own clock, at its first event
    """

    world: World
    events: Events
    found: Matched
    contradictions: int
    eager: Eager
    pulled: Bools
    groups: Collectives
    reasons: Reasons
    parts: Split
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
    events, world = events_of(job)
    found = match.matched(events)
    groups = match.collectives(events, world)
    own_s = events.start_s.copy()
    events, clocks = joined(events, world, found, _barriers(events, world, groups))
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


def _barriers(events: Events, world: World, groups: Collectives) -> Collectives:
    """Blocking collectives that need all, of which all calls were kept."""
    if not groups.event.size:
        return groups
    needs_all = np.array([NEEDS.get(name.removesuffix("_c")) == Needs.ALL for name in world.calls])
    kept = needs_all[events.call[groups.event]] & ~events.has(Kind.POST)[groups.event]
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
    post = events.has(Kind.COLLECTIVE) & events.has(Kind.POST)
    found[post] = NO_EVENT
    done = events.has(Kind.COLLECTIVE) & events.has(Kind.DONE)
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
    return of_event & events.is_timed & ~events.has(Kind.SEND)


def _moved(events: Events, found: Matched, eager: Eager) -> Bools:
    """Calls that completed messages, started sends of bytes, or posted receives of messages that were there."""
    of_event = events.has(Kind.SEND) & events.has(Kind.POST) & (events.bytes > 0)
    posted = found.receives.posted[found.receive[eager.arrived]]
    for rows in (found.sends.done, found.receives.done, posted):
        of_event[rows[rows != NO_EVENT]] = True
    return of_event


def _unknown(events: Events, found: Matched, eager: Eager, groups: Collectives) -> Bools:
    """Calls that completed a message whose other side is not recorded, or synchronised a window.

    Sends that are no longer than what was proven to go at once wait for nobody.
    """
    of_event = events.has(Kind.ONE_SIDED) & events.has(Kind.WAIT)
    of_event |= events.has(Kind.WAIT) & ~events.has(Kind.DONE | Kind.NOTHING) & (events.requests == 0)
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
