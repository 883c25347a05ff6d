# SPDX-License-Identifier: Apache-2.0
"""The kept calls of a watch as slow paths look at them: columns that know nothing of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.findings.program_pattern import NONE, Messages, ProgramCalls
from slowpath.watch.attributed import Attributed, TimePart
from slowpath.watch.classes import FIRST_USE
from slowpath.watch.events import Bools, Floats, Ints, World
from slowpath.watch.kind_weights import is_coarse, stands_for, time_weights
from slowpath.watch.match import NO_EVENT
from slowpath.watch.record.layout import EventKind
from slowpath.watch.results import CallSite
from slowpath.watch.what_if import CallOrder, possible, transfers

_OF_MESSAGES = ("point to point", "completion")
_COUNTED = ("count", "allocation_bytes")
_HEAP = (1, 2)  # memory kinds: malloc's, and mappings


def kept_calls(found: Attributed) -> Ints:
    """Events that are calls of kept windows: those that an order of calls has, in its order."""
    events = found.events
    calls: Ints = np.flatnonzero(events.is_timed & (events.window % 2**found.world.level == 0))
    return calls


def in_calls(found: Attributed, events: Ints, place: Ints) -> Ints:
    """Number of the call whose time each event is in; NO_EVENT: not kept.

    Args: place: of each event its number among the kept calls.
    """
    known = events != NO_EVENT
    call = np.where(known, found.parents[events], NO_EVENT)
    call = np.where(known & found.events.is_timed[events], events, call)
    return np.where(call != NO_EVENT, place[call], NO_EVENT)


def program_calls(found: Attributed, order: CallOrder, site_of: Mapping[int, int], span_s: float) -> ProgramCalls:
    """Columns of the kept calls.

    Args: order: of the same calls.  site_of: site -> index in the results' sites.
    """
    events, world = found.events, found.world
    calls = kept_calls(found)
    place = np.full(len(events), NO_EVENT, dtype=np.int64)
    place[calls] = np.arange(calls.size)
    # NO_SITE finds the last one.
    sites = np.array([*(site_of.get(site, NONE) for site in range(len(world.sites))), NONE], dtype=np.int64)
    every_site = sites[events.site]
    identities, communicator = np.unique(events.communicator[calls], return_inverse=True)
    kind = events.kind[calls]
    collective = (kind & int(EventKind.COLLECTIVE)) != 0
    group = np.full(len(events), NONE, dtype=np.int64)
    group[found.groups.event] = found.groups.group
    counted, counted_s = _counted(world, sites)
    by_time = time_weights(events, world, calls)[calls]
    without = np.concatenate(is_coarse(world)) if world.records else np.zeros(0, dtype=bool)
    return ProgramCalls(
        rank=events.rank[calls],
        thread=order.chain,
        start_s=events.start_s[calls],
        end_s=events.end_s[calls],
        own_s=transfers(possible(order)),
        call=events.call[calls],
        site=every_site[calls],
        communicator=communicator.reshape(-1).astype(np.int64),
        bytes=events.bytes[calls],
        root=np.where(collective & (events.peer[calls] >= 0), events.peer[calls], NONE),
        offset=events.offset[calls],
        is_collective=collective & ((kind & int(EventKind.POST)) == 0),
        is_message=world.is_of(*_OF_MESSAGES)[events.call[calls]],
        is_one_sided=(kind & int(EventKind.ONE_SIDED)) != 0,
        brings=_brings(found, calls, place),
        group=group[calls],
        weight=stands_for(events, world, calls, by_time, every_site, counted, without),
        time_weight=by_time,
        target_wait_s=found.split.parts_s[calls, TimePart.LATE_TARGET],
        target=events.peer[calls],
        eager_bytes=found.eager.longest_bytes,
        in_vain=events.has(EventKind.NOTHING)[calls],
        names=world.calls,
        messages=_messages(found, place),
        counted=counted,
        counted_s=counted_s,
        members=tuple(len(world.members.get(int(identity), ())) for identity in identities),
        ranks=max(len(world.records), 1),
        span_s=span_s,
        first_uses=_first_uses(world, sites),
        cost_s=max((int(record.header["call_cost_ns"]) for record in world.records), default=0) * 1e-9,
    )


def _brings(found: Attributed, calls: Ints, place: Ints) -> Bools:
    """Calls that completed a receive or a collective, saw a message, or synchronised a window."""
    events = found.events
    brings = np.zeros(calls.size, dtype=bool)
    done = in_calls(found, found.matched.receives.done, place)
    ended = events.has(EventKind.DONE) & events.has(EventKind.COLLECTIVE)
    for rows in (done, in_calls(found, np.flatnonzero(ended), place)):
        brings[rows[rows != NO_EVENT]] = True
    kind = events.kind[calls]
    post = (kind & int(EventKind.POST)) != 0
    brings |= ((kind & int(EventKind.COLLECTIVE)) != 0) & ~post
    both = int(EventKind.ONE_SIDED | EventKind.WAIT)
    brings |= (kind & both) == both
    probe = np.array(["robe" in name for name in found.world.calls], dtype=bool)
    brings |= probe[events.call[calls]] & ((kind & int(EventKind.NOTHING)) == 0)
    return brings


def _messages(found: Attributed, place: Ints) -> Messages:
    """Those whose send was recorded, and receives whose send was not."""
    events, match = found.events, found.matched
    sends, receives = match.sends, match.receives
    partner = np.full(len(sends), NO_EVENT, dtype=np.int64)
    partner[match.send] = match.receive
    early = np.zeros(len(sends), dtype=bool)
    early[match.send] = found.eager.arrived
    posted = np.where(partner != NO_EVENT, receives.posted[partner], NO_EVENT) if len(receives) else partner
    arrived = np.where(partner != NO_EVENT, receives.done[partner], NO_EVENT) if len(receives) else partner
    return Messages(
        sent=in_calls(found, sends.posted, place),
        left=in_calls(found, sends.done, place),
        posted=in_calls(found, posted, place),
        arrived=in_calls(found, arrived, place),
        bytes=events.bytes[sends.reported],
        source=events.rank[sends.reported],
        destination=events.peer[sends.reported],
        early=early,
    )


def _counted(world: World, sites: Ints) -> tuple[Ints, Floats]:
    """Of the profiles: call, site, rank and calls; and seconds."""
    rows, seconds = [], []
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        profile = record.profile
        site = sites[world.sites_at(i, profile["site"])]
        call = world.call_of[i][profile["call"]]
        count = np.minimum(profile["count"], np.uint64(2**62)).astype(np.int64)
        rows.append(np.stack([call, site, np.full(site.size, record.rank, dtype=np.int64), count], axis=1))
        seconds.append(profile["ticks"].astype(float) * clock.s_per_tick)
    if not rows:
        return np.zeros((0, 4), dtype=np.int64), np.zeros(0)
    return np.concatenate(rows), np.concatenate(seconds)


def _first_uses(world: World, sites: Ints) -> Ints:
    """Of the profiles: site, rank, allocations that MPI saw for the first time, and bytes of one."""
    rows = []
    for i, record in enumerate(world.records):
        profile = record.profile
        fresh = profile[((profile["flags"] & FIRST_USE) != 0) & np.isin(profile["buffer_class"] & 15, _HEAP)]
        site = sites[world.sites_at(i, fresh["site"])]
        count, length = (np.minimum(fresh[name], np.uint64(2**40)).astype(np.int64) for name in _COUNTED)
        rows.append(np.stack([site, np.full(site.size, record.rank), count, length], axis=1))
    return np.concatenate(rows) if rows else np.zeros((0, 4), dtype=np.int64)


def one_place(site_of: Mapping[int, int], sites: Sequence[CallSite]) -> dict[int, int]:
    """The same, with one index for all call paths that reach one place in the program."""
    first: dict[tuple[str, int], int] = {}
    found = {}
    for site, index in sorted(site_of.items(), key=lambda known: known[1]):
        place = sites[index]
        found[site] = first.setdefault((place.object, place.offset), index) if place.object else index
    return found
