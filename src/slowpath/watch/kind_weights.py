# SPDX-License-Identifier: Apache-2.0
"""How many seconds each kept call stands for, by kind: a thread of a rank, a call and a place.

The profile counts calls and their time by kind, whatever was thinned. Where its room was used up it counts the rest of
a call without its place, in the coarse row of sites (`find_row` of engine/watch/profile.cpp). What stands there is
shared by the places of the call, as the kept calls have it.
"""

from __future__ import annotations

import numpy as np

from slowpath.watch.events import NO_SITE, Bools, Events, Floats, Ints, World
from slowpath.watch.record.layout import NONE_32

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
        ticks = record.profile["ticks"].astype(float)
        of_lane = np.bincount(record.profile_lane, weights=ticks, minlength=record.lanes.size)
        whole = np.array([clock.duration_s(one) for one in record.lanes["call_ticks"]])
        counted_s = of_lane * clock.s_per_tick
        scale = np.where((counted_s > 0) & (whole > 0), whole / np.where(counted_s > 0, counted_s, 1.0), 1.0)
        seconds = ticks * clock.s_per_tick * scale[record.profile_lane] if ticks.size else ticks
        row = record.profile["site"].astype(np.int64)
        site = np.full(row.size, NO_SITE, dtype=np.int64)
        site[row != NONE_32] = world.site_of[i][row[row != NONE_32]]
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
