# SPDX-License-Identifier: Apache-2.0
"""What was seen of a program, what was matched, and what was not."""

from __future__ import annotations

import numpy as np

from slowpath.core.result import LARGEST
from slowpath.watch.attributed import Attributed
from slowpath.watch.events import Bools, Ints, World
from slowpath.watch.match import Side
from slowpath.watch.record.layout import State, watch_layout
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.results import CallCount, Coverage, Family
from slowpath.watch.totals import CallSeconds, overhead_families

# How results call the schema's families.
FAMILY: dict[str, Family] = {
    "point to point": "point to point",
    "completion": "completion",
    "collective": "collective",
    "one-sided": "one-sided",
    "communicators and groups": "management",
    "datatypes": "management",
    "start and end": "management",
    "files": "files",
    "other": "other",
}
MOST_UNSEEN = 500
RECEIVE_SIDE = 2  # a profile row's flag
MOST_NAMED = 8


def coverage_of(
    found: Attributed, calls: tuple[CallCount, ...], seconds: CallSeconds, notes: tuple[str, ...]
) -> Coverage:
    """Shares, counts, and what a reader has to know."""
    world = found.world
    unseen = sorted({line.split("\t")[0] for record in world.records for line in record.text.get("unseen", ())})
    wrapped = {
        name
        for record in world.records
        for name, row in zip(record.call_names, record.calls, strict=True)
        if row["importers"] > 0 or row["dlsym"] > 0 or row["calls"] > 0
    }
    error_s = found.clocks.largest_error_s
    return Coverage(
        imported=len(wrapped) + len(unseen),
        wrapped=len(wrapped),
        unseen=tuple(unseen[:MOST_UNSEEN]),
        calls=sum(call.calls for call in calls),
        messages=max(sum(_sends(record) for record in world.records), len(found.found.sends)),
        recorded_messages=len(found.found.sends),
        matched_share=matched_share(found),
        contradictions=found.contradictions,
        kept_share=_kept_share(found, seconds),
        clock_error_s=None if np.isinf(error_s) else error_s,
        own_cost_s=_own_cost_s(found),
        notes=(*notes, *_notes(found)),
    )


def _sends(record: RankRecord) -> int:
    """Messages that the rank sent, as its profile counts them."""
    is_send = np.array(
        ["send" in name.lower() or name.startswith("MPI_Start") for name in record.call_names], dtype=bool
    )
    if not is_send.size:
        return 0
    rows = is_send[record.profile["call"]] & ((record.profile["flags"] & RECEIVE_SIDE) == 0)
    return int(record.profile["count"][rows].sum(dtype=float))


def calls_of(world: World) -> tuple[CallCount, ...]:
    """Every call that was made, most time first."""
    ranks = max(len(world.records), 1)
    counted, bytes_, seconds = (np.zeros(len(world.calls)) for _ in range(3))
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        np.add.at(counted, world.call_of[i], record.calls["calls"].astype(float))
        of_row = world.call_of[i][record.profile["call"]]
        np.add.at(bytes_, of_row, record.profile["bytes"].astype(float))
        np.add.at(seconds, of_row, record.profile["ticks"].astype(float) * clock.s_per_tick)
    families = watch_layout().families
    found = [
        CallCount(
            name=name,
            family=FAMILY[families.get(world.families[i], "other")],
            calls=whole(counted[i]),
            time_s=float(seconds[i]) / ranks,
            bytes=whole(bytes_[i]),
        )
        for i, name in enumerate(world.calls)
        if counted[i] > 0
    ]
    return tuple(sorted(found, key=lambda call: (-call.time_s, call.name)))


def whole(value: float) -> int:
    """A count that a made-up record can't drive beyond its type."""
    return int(min(max(value, 0.0), float(LARGEST // 2)))


def matched_share(found: Attributed) -> float | None:
    """Of the sends and receives whose other side must have been recorded: matched. None: there are none."""
    pairs = found.found.send.size + found.contradictions
    lone = _must_match(found, found.found.sends, found.found.send, is_send=True)
    lone += _must_match(found, found.found.receives, found.found.receive, is_send=False)
    total = 2 * pairs + lone
    return None if total == 0 else 2 * found.found.send.size / total


def _must_match(found: Attributed, side: Side, paired: Ints, *, is_send: bool) -> int:
    """Unpaired messages of one side whose other rank's record is whole: nothing was dropped, and it ended well."""
    alone: Bools = np.ones(len(side), dtype=bool)
    alone[paired] = False
    peer = found.events.peer[side.reported[alone]]
    whole = np.zeros(found.world.job.size + 1, dtype=bool)
    for record in found.world.records:
        is_whole = not int(record.lanes["level"].max(initial=0)) and not record.lost.get("events", 0)
        whole[record.rank] = is_whole and record.state == State.FINALIZED
    return int(whole[peer].sum())


def _kept_share(found: Attributed, seconds: CallSeconds) -> float:
    """Of the time in MPI, in kept calls; calls that have no events by their kind count as kept."""
    world = found.world
    total = sum(float(of_call.sum()) for of_call in seconds.values())
    eventful = np.zeros(len(world.calls), dtype=bool)
    eventful[found.events.call] = True
    eventful |= ~np.isin(np.array(world.families, dtype=np.int64), overhead_families())
    kept = sum(float(of_call[~eventful].sum()) for of_call in seconds.values())
    kept += float(found.events.duration_s[found.events.is_timed].sum())
    return min(kept / total, 1.0) if total > 0 else 1.0


def _own_cost_s(found: Attributed) -> float:
    """Calls times the cost of one, and the library's own work, a rank."""
    world = found.world
    total = 0.0
    for record, clock in zip(world.records, world.clocks, strict=True):
        calls = float(record.lanes["calls"].sum(dtype=float))
        own = clock.duration_s(record.lanes["own_ticks"].sum(dtype=float))
        total += calls * int(record.header["call_cost_ns"]) * 1e-9 + own
    return total / max(len(world.records), 1)


def _notes(found: Attributed) -> list[str]:
    world, notes = found.world, []
    missing = world.job.size - len(world.records)
    if missing > 0:
        notes.append(f"{missing} of {world.job.size} ranks left no readable record")
    ended = [record.rank for record in world.records if record.state != State.FINALIZED]
    if ended:
        named = ", ".join(map(str, ended[:MOST_NAMED])) + (", ..." if len(ended) > MOST_NAMED else "")
        notes.append(f"ranks that did not end with MPI_Finalize: {named}; their records go as far as they came")
    if world.level:
        notes.append(
            f"of the full record of calls, one window of time in {2**world.level} was kept where there were most; "
            "shares of waiting are those of the kept windows, counts and times by call are exact"
        )
    if np.isinf(found.clocks.largest_error_s):
        notes.append(
            "some hosts exchanged no messages both ways: their clocks can't be joined, no waits are claimed there"
        )
    if found.found.repeated:
        notes.append(f"{found.found.repeated} messages have the number of another one and are not matched")
    return notes
