# SPDX-License-Identifier: Apache-2.0
"""How many seconds and calls each kept call stands for, by kind: a thread of a rank, a call and a place.

The profile counts calls and their time by kind, whatever was thinned. Where its room was used up it counts the rest of
a call without its place, in the coarse row of sites (`find_row` of engine/watch/profile.cpp). What stands there is
shared by the places of the call, as the kept calls have it.
"""

from __future__ import annotations

import numpy as np

from slowpath.findings.program_pattern import numbered
from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.record.job import Ticks
from slowpath.watch.record.layout import EventKind
from slowpath.watch.record.reader import RankRecord

COARSE_ROW = 0  # of a record's sites


def shared(guess: Floats, own: Floats, coarse: Floats, of: Ints) -> Floats:
    """Return the amount of each kind, shape (kinds,): its own, and what the guess lacks of the coarse row.

    The kinds of one call never have more than the coarse row beyond their own.

    Args: guess: by the kept calls.  own: that the profile has under the kind.  coarse: shape (calls,), that it has
          without a place.  of: index in `coarse` of each kind.
    """
    lacks = np.clip(guess - own, 0.0, coarse[of])
    every = np.bincount(of, weights=lacks, minlength=len(coarse))
    part = np.where(every > coarse, coarse / np.where(every > 0, every, 1.0), 1.0)
    found: Floats = own + lacks * part[of]
    return found


def is_coarse(world: World) -> tuple[Bools, ...]:
    """Of each record's rows of its profile whether they are without their place, where it had too little room."""
    return tuple(
        (record.profile["site"] == COARSE_ROW) & (record.lost.get("profile", 0) > 0) for record in world.records
    )


def profile_seconds(record: RankRecord, clock: Ticks) -> Floats:
    """Return the seconds of each row of a profile, shape (rows,): shares of the total that its lane has by itself."""
    ticks = record.profile["ticks"].astype(float)
    counted_s = np.bincount(record.profile_lane, weights=ticks, minlength=record.lanes.size) * clock.s_per_tick
    whole_s = np.array([clock.duration_s(one) for one in record.lanes["call_ticks"]])
    is_known = (counted_s > 0) & (whole_s > 0)
    scale = np.where(is_known, whole_s / np.where(is_known, counted_s, 1.0), 1.0)
    seconds: Floats = ticks * clock.s_per_tick * scale[record.profile_lane] if ticks.size else ticks
    return seconds


def time_weights(events: Events, world: World, kept: Ints) -> Floats:
    """Return how many seconds each second of a kept call stands for, shape (n,); 1 of events that are not kept.

    The time of a kind is what the profile counted, so that no sum of its parts exceeds it; time of places of which no
    call was kept is nobody's.

    Args: kept: rows of events with a time of their own.
    """
    found = np.ones(len(events))
    calls, sites = max(len(world.calls), 1), len(world.sites) + 1
    lanes = int(events.lane.max(initial=0)) + 1
    own_key: list[Ints] = []
    own_s: list[Floats] = []
    coarse_s = np.zeros(len(world.records) * lanes * calls)
    for i, (record, clock, without) in enumerate(zip(world.records, world.clocks, is_coarse(world), strict=True)):
        seconds = profile_seconds(record, clock)
        site = world.sites_at(i, record.profile["site"])
        call = world.call_of[i][record.profile["call"]]
        use = record.profile_lane < lanes
        thread = (i * lanes + record.profile_lane.astype(np.int64)) * calls + call
        np.add.at(coarse_s, thread[use & without], seconds[use & without])
        own_key.append((thread * sites + site + 1)[use & ~without])
        own_s.append(seconds[use & ~without])
    if not kept.size or not own_key:
        return found
    thread = (events.record[kept] * lanes + events.lane[kept]) * calls + events.call[kept]
    keys, number = np.unique(thread * sites + events.site[kept] + 1, return_inverse=True)
    number = number.reshape(-1)
    kept_s = np.bincount(number, weights=events.duration_s[kept])
    profile_key, profile_s = np.concatenate(own_key), np.concatenate(own_s)
    at = np.minimum(np.searchsorted(keys, profile_key), keys.size - 1)
    is_kept = keys[at] == profile_key
    own = np.bincount(at[is_kept], weights=profile_s[is_kept], minlength=keys.size).astype(np.float64)
    of = keys // sites
    every_s, thread_kept_s = coarse_s.copy(), np.bincount(of, weights=kept_s, minlength=coarse_s.size)
    np.add.at(every_s, profile_key // sites, profile_s)
    ratio = np.where(thread_kept_s > 0, every_s / np.where(thread_kept_s > 0, thread_kept_s, 1.0), 0.0)
    total = shared(kept_s * ratio[of], own, coarse_s, of)
    found[kept] = np.where((kept_s > 0) & (total > 0), total / np.where(kept_s > 0, kept_s, 1.0), 1.0)[number]
    return found


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
