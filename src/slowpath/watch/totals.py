# SPDX-License-Identifier: Apache-2.0
"""Where each rank's time went, calls by name, and what was seen and matched of the program.

Kept calls stand for all calls of their kind, which the profile counts exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from slowpath.core.result import LARGEST
from slowpath.core.units import format_time
from slowpath.watch.attributed import Attributed, TimePart
from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.kind_weights import is_coarse, profile_seconds
from slowpath.watch.match import SideEvents
from slowpath.watch.record.job import Ticks
from slowpath.watch.record.layout import RecordState, watch_layout
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.results import BEFORE_THE_RUN, CallCount, Coverage, Family, RankTime

Ended = Literal["finalized", "without finalize", "killed", "not known"]
CallSeconds = Mapping[tuple[int, int], Floats]  # (record, lane) -> seconds by call
ENDED: Mapping[RecordState, Ended] = {
    RecordState.RUNNING: "killed",
    RecordState.FINALIZED: "finalized",
    RecordState.NO_FINALIZE: "without finalize",
    RecordState.THINNING: "killed",
    RecordState.NO_ROOM: "not known",
}
# Calls of these families that have no events move nothing and wait for nobody.
OVERHEAD = ("point to point", "completion", "communicators and groups", "datatypes", "other")


def call_seconds(world: World) -> CallSeconds:
    """Seconds in each call of each thread: the profile's shares of the thread's own total. The run begins when MPI_Init
    returns, whose own time is left out.
    """
    found: dict[tuple[int, int], Floats] = {}
    before = np.array([name in BEFORE_THE_RUN for name in world.calls], dtype=bool)
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        calls, seconds = world.call_of[i][record.profile["call"]], profile_seconds(record, clock)
        for lane in range(record.lanes.size):
            rows = record.profile_lane == lane
            of_call = np.bincount(calls[rows], weights=seconds[rows], minlength=len(world.calls)).astype(np.float64)
            of_call[before] = 0.0
            found[i, lane] = of_call
    return found


def unkept_seconds(events: Events, rows: Ints, weight: Floats, in_call_s: Floats) -> Floats:
    """Return the time of each call that no kept call stands for, shape (calls,).

    Args: rows: events of one thread.  in_call_s: the thread's time by call.
    """
    rows = rows[events.is_timed[rows]]
    stands_s = np.bincount(events.call[rows], weights=events.duration_s[rows] * weight[rows], minlength=in_call_s.size)
    left_s = in_call_s - stands_s
    return np.where(left_s > ROUNDING * in_call_s, left_s, 0.0)


def rank_times(found: Attributed, weight: Floats, seconds: CallSeconds) -> tuple[RankTime, ...]:
    """By rank; the parts of its leading thread."""
    return tuple(_rank_time(found, weight, seconds, i) for i in range(len(found.world.records)))


def _rank_time(found: Attributed, weight: Floats, seconds: CallSeconds, i: int) -> RankTime:
    world, events = found.world, found.events
    record, clock = world.records[i], world.clocks[i]
    lane = record.leading_lane
    mpi_s = float(seconds[i, lane].sum()) if record.lanes.size else 0.0
    rows = events.of(i, lane)
    parts = (found.split.parts_s[rows] * weight[rows, None]).sum(axis=0)
    without = unkept_seconds(events, rows, weight, seconds.get((i, lane), np.zeros(len(world.calls))))
    with_events = np.isin(np.arange(len(world.calls)), events.call[rows])
    overhead = world.is_of(*OVERHEAD) & ~with_events
    parts[TimePart.CALL] += without[overhead].sum()
    parts[TimePart.UNEXPLAINED] += without[~overhead].sum()
    total = float(parts.sum())
    if total > mpi_s > 0:
        parts *= mpi_s / total
    parts[TimePart.UNEXPLAINED] += max(mpi_s - float(parts.sum()), 0.0)
    return RankTime(
        rank=record.rank,
        host=record.words("host"),
        span_s=max(_span_s(record, clock), mpi_s),
        mpi_s=mpi_s,
        late_sender_s=float(parts[TimePart.LATE_SENDER] + parts[TimePart.SENDER_AWAY]),
        late_receiver_s=float(parts[TimePart.LATE_RECEIVER] + parts[TimePart.RECEIVER_AWAY]),
        imbalance_s=float(parts[TimePart.IMBALANCE] + parts[TimePart.LATE_TARGET]),
        unexpected_s=float(parts[TimePart.UNEXPECTED]),
        transfer_s=float(parts[TimePart.TRANSFER]),
        call_s=float(parts[TimePart.CALL]),
        unexplained_s=float(parts[TimePart.UNEXPLAINED]),
        ended=ENDED[record.state],
    )


def _span_s(record: RankRecord, clock: Ticks) -> float:
    """From MPI_Init to the last sign of the rank."""
    last = record.last_sign_ticks
    return max(clock.duration_s(last - int(record.header["start_ticks"])), 0.0)


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
ROUNDING = 1e-6  # of the time in a call
MOST_NAMED = 8
MOST_OTHERS = 0.05  # of the run, that another thread may be longer in MPI without a word


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
        messages=max(
            sum(int(record.sent["count"].sum(dtype=float)) for record in world.records), len(found.matched.sends)
        ),
        recorded_messages=len(found.matched.sends),
        matched_share=matched_share(found),
        contradictions=found.contradictions,
        kept_share=_kept_share(found, seconds),
        clock_error_s=None if np.isinf(error_s) else error_s,
        own_cost_s=_own_cost_s(found),
        notes=(*notes, *_notes(found), *_other_threads(found, seconds)),
    )


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
    pairs = found.matched.send.size + found.contradictions
    lone = _must_match(found, found.matched.sends, found.matched.send)
    lone += _must_match(found, found.matched.receives, found.matched.receive)
    total = 2 * pairs + lone
    return None if total == 0 else 2 * found.matched.send.size / total


def _must_match(found: Attributed, side: SideEvents, paired: Ints) -> int:
    """Unpaired messages of one side whose other rank's record is whole: nothing was dropped, and it ended well."""
    alone: Bools = np.ones(len(side), dtype=bool)
    alone[paired] = False
    peer = found.events.peer[side.reported[alone]]
    whole = np.zeros(found.world.job.size + 1, dtype=bool)
    for record in found.world.records:
        is_whole = not int(record.lanes["level"].max(initial=0)) and not record.lost.get("events", 0)
        whole[record.rank] = is_whole and record.state == RecordState.FINALIZED
    return int(whole[peer].sum())


def _kept_share(found: Attributed, seconds: CallSeconds) -> float:
    """Of the time in MPI, in kept calls; calls that have no events by their kind count as kept."""
    world = found.world
    total = sum(float(of_call.sum()) for of_call in seconds.values())
    eventful = np.zeros(len(world.calls), dtype=bool)
    eventful[found.events.call] = True
    eventful |= ~world.is_of(*OVERHEAD)
    kept = sum(float(of_call[~eventful].sum()) for of_call in seconds.values())
    kept += float(found.events.duration_s[found.events.is_timed].sum())
    return min(kept / total, 1.0) if total > 0 else 1.0


def _own_cost_s(found: Attributed) -> float:
    """The library's own work, a rank, and recorded calls times the cost of one, which each rank measured as it began.

    A call that completes several requests is as many events; one without an event counts as one with it. A loop that
    waits by polling ends no later for what its polls cost.
    """
    world = found.world
    total = 0.0
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        calls = float(np.maximum(record.lanes["calls"], record.lanes["events_seen"]).sum(dtype=float))
        calls = max(calls - (world.polls[i] if world.polls else 0.0), 0.0)
        own = clock.duration_s(record.lanes["own_ticks"].sum(dtype=float))
        total += calls * int(record.header["call_cost_ns"]) * 1e-9 + own
    return total / max(len(world.records), 1)


def _notes(found: Attributed) -> list[str]:
    world, notes = found.world, []
    missing = world.job.size - len(world.records)
    if missing > 0:
        notes.append(f"{missing} of {world.job.size} ranks left no readable record")
    ended = [record.rank for record in world.records if record.state != RecordState.FINALIZED]
    if ended:
        named = ", ".join(map(str, ended[:MOST_NAMED])) + (", ..." if len(ended) > MOST_NAMED else "")
        notes.append(f"ranks that did not end with MPI_Finalize: {named}; their records end early")
    if world.level:
        notes.append(
            f"where calls were most frequent, the watch kept one time window in {2**world.level}: shares of "
            "waiting are those of the kept windows; numbers and times of calls are exact"
        )
    notes += _without_place(world)
    if np.isinf(found.clocks.largest_error_s):
        notes.append(
            "some hosts exchanged no messages in both directions, so their clocks can't be aligned and their waits "
            "are not reported"
        )
    if found.matched.repeated:
        notes.append(f"{found.matched.repeated} messages share their number with another message and are not matched")
    return notes


def _other_threads(found: Attributed, seconds: CallSeconds) -> list[str]:
    """That other threads of ranks were longer in MPI than those whose times are given."""
    more = []
    for i, record in enumerate(found.world.records):
        lead, longest = record.leading_lane, record.longest_lane
        if lead != longest:
            others_s, own_s = (float(seconds[i, lane].sum()) for lane in (longest, lead))
            if others_s - own_s > MOST_OTHERS * _span_s(record, found.world.clocks[i]):
                more.append((others_s, record.rank))
    if not more:
        return []
    longest_s, rank = max(more)
    return [
        f"times are those of the threads that started MPI; other threads were longer in MPI, that of rank {rank} for "
        f"{format_time(longest_s)}: one that only receives for others costs nothing, one that others wait for does"
    ]


def _without_place(world: World) -> list[str]:
    """That the profiles had no room to count all calls by place, so that counts of places are estimates."""
    of_call = np.zeros(len(world.calls))
    for i, (record, without) in enumerate(zip(world.records, is_coarse(world), strict=True)):
        rows = record.profile[without]
        np.add.at(of_call, world.call_of[i][rows["call"]], rows["count"].astype(float))
    if not of_call.any():
        return []
    named = [world.calls[call] for call in np.argsort(-of_call, kind="stable") if of_call[call] > 0]
    names = ", ".join(named[:MOST_NAMED]) + (", ..." if len(named) > MOST_NAMED else "")
    return [
        f"the profile had no room for the places of {whole(float(of_call.sum())):,} calls ({names}): tables list "
        "them separately, and counts by place in findings are estimates"
    ]
