# SPDX-License-Identifier: Apache-2.0
"""Loops that wait by polling, as one call each: from the first poll in vain to the one that finds something.

A rank that calls MPI_Test or MPI_Iprobe again and again, and nothing else, waits as it does in MPI_Wait. Its time is
that of the loop: the calls alone leave out what lies between them, and each of them seems to wait for nobody. A rank
that computes between its polls does not wait: there the polls stay calls of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.match import NO_EVENT, parents_of
from slowpath.watch.record.job import Ticks
from slowpath.watch.record.layout import EventKind
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.results import BEFORE_THE_RUN

SHORTEST_S = 10e-6  # of a loop that waits; shorter ones are a few polls
# Between two polls of a loop: about what watching a call takes, and a step of the loop, in Python, too.
COST_RATIO, STEP_S = 1.5, 200e-9


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
        lanes = int(max([events.lane.max(initial=0), *(record.lanes.size for record in world.records)])) + 1

        def key(record: int | Ints, lane: Ints, call: Ints, site: Ints) -> Ints:
            found: Ints = ((record * np.int64(lanes) + lane) * calls + call) * sites + site + 1
            return found

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
    found = np.zeros(groups)
    some = count > 0
    found[some] = values[order[(begin + np.ceil((count - 1) * share).astype(np.int64))[some]]]
    return found


def _tight(events: Events, world: World, places: _Places, loops: _Loops) -> tuple[_Loops, Floats]:
    """Return the loops that do nothing between their polls, and how many polls of each record are in such loops.

    Polls that the record has as one event may have computed for less than 1 us between them: what lies between them,
    in the mean of all loops that end at a place, has to be what the watch and a loop's step take.
    """
    of_event = places.of_event
    vain = np.flatnonzero(events.has(EventKind.NOTHING) & events.is_timed)
    vain_s = np.bincount(of_event[vain], weights=events.duration_s[vain], minlength=places.count.size)
    end_place, group = np.unique(of_event[loops.ends], return_inverse=True)
    group = group.reshape(-1)
    place = of_event[loops.inside]
    inside_s = events.duration_s[loops.inside]
    share = inside_s / np.where(vain_s[place] > 0, vain_s[place], 1.0)  # of the polls in vain at its place
    polls = share * places.count[place]
    of_loop = group[loops.loop]
    total = [
        np.bincount(of_loop, weights=each, minlength=end_place.size)
        for each in (inside_s - share * places.seconds[place], polls)
    ]
    cost_s = max((int(record.header["call_cost_ns"]) for record in world.records), default=0) * 1e-9
    is_tight = total[0] <= total[1] * (COST_RATIO * cost_s + STEP_S)
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
    found = []
    for place in mine.tolist():
        rows = np.flatnonzero(of_row == place)
        lane = int(record.profile_lane[rows[0]])
        counted, whole = float(ticks[rows].sum()), float(kept_s[place]) * 2 ** int(lanes["level"][lane])
        more = whole / clock.s_per_tick - counted
        found.append((more if is_whole else max(more, 0.0), counted, lane, rows))
    for more, counted, lane, rows in sorted(found, key=lambda one: one[0]):  # what becomes less first: it makes room
        in_calls = float(lanes["call_ticks"][lane])
        room = ran - (in_calls - float(ticks[starts & (record.profile_lane == lane)].sum()))
        whole = counted + min(more, max(room, 0.0))
        ticks[rows] = ticks[rows] * (whole / counted) if counted > 0 else whole / rows.size
        lanes["call_ticks"][lane] = np.uint64(max(in_calls + whole - counted, 0.0))
    profile = record.profile.copy()
    profile["ticks"] = ticks
    return replace(record, profile=profile, lanes=lanes)
