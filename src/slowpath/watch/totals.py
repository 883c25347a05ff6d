# SPDX-License-Identifier: Apache-2.0
"""Where each rank's time went: kept calls stand for all calls of their kind, which the profile counts exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from slowpath.watch.attribute import Part
from slowpath.watch.attributed import Attributed
from slowpath.watch.events import Events, Floats, World
from slowpath.watch.record.layout import State, watch_layout
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.record.ticks import Ticks
from slowpath.watch.results import RankTime

Ended = Literal["finalized", "without finalize", "killed", "not known"]
CallSeconds = Mapping[tuple[int, int], Floats]  # (record, lane) -> seconds by call
ENDED: Mapping[State, Ended] = {
    State.RUNNING: "killed",
    State.FINALIZED: "finalized",
    State.NO_FINALIZE: "without finalize",
    State.THINNING: "killed",
    State.NO_ROOM: "not known",
}
# Calls of these families that have no events move nothing and wait for nobody.
OVERHEAD = ("point to point", "completion", "communicators and groups", "datatypes", "other")


BEFORE_THE_RUN = frozenset({"MPI_Init", "MPI_Init_thread", "MPI_Session_init"})


def call_seconds(world: World) -> CallSeconds:
    """Seconds in each call of each thread: the profile's shares of the thread's own total. The run begins when MPI_Init
    returns, whose own time is left out.
    """
    found: dict[tuple[int, int], Floats] = {}
    before = np.array([name in BEFORE_THE_RUN for name in world.calls], dtype=bool)
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        calls = world.call_of[i][record.profile["call"]]
        for lane in range(record.lanes.size):
            rows = record.profile_lane == lane
            ticks = record.profile["ticks"][rows].astype(float)
            counted = np.bincount(calls[rows], weights=ticks, minlength=len(world.calls))
            of_call = counted.astype(np.float64) * np.float64(clock.s_per_tick)
            total, whole = float(of_call.sum()), clock.duration_s(record.lanes["call_ticks"][lane])
            of_call = of_call * (whole / total) if total > 0 and whole > 0 else of_call
            of_call[before] = 0.0
            found[i, lane] = of_call
    return found


def weights(events: Events, world: World, seconds: CallSeconds) -> Floats:
    """How many calls of its kind each kept call stands for, by time, shape (n,): 1 where all were kept.

    A kind is a thread of a rank and a call. Events without time of their own have the weight 1.
    """
    found = np.ones(len(events))
    timed = np.flatnonzero(events.is_timed)
    if not timed.size:
        return found
    calls, lanes = len(world.calls), int(events.lane.max()) + 1
    key = (events.record[timed] * lanes + events.lane[timed]) * calls + events.call[timed]
    numbers, number = np.unique(key, return_inverse=True)
    kept_s = np.bincount(number, weights=events.duration_s[timed])
    nothing = np.zeros(calls)
    pairs = zip((numbers // calls).tolist(), (numbers % calls).tolist(), strict=True)
    total_s = np.array([seconds.get(divmod(lane, lanes), nothing)[call] for lane, call in pairs])
    ratio = np.where((kept_s > 0) & (total_s > 0), total_s / np.where(kept_s > 0, kept_s, 1.0), 1.0)
    found[timed] = ratio[number]
    return found


def rank_times(found: Attributed, weight: Floats, seconds: CallSeconds) -> tuple[RankTime, ...]:
    """By rank; the parts of the thread that was longest in MPI."""
    return tuple(_rank_time(found, weight, seconds, i) for i in range(len(found.world.records)))


def _rank_time(found: Attributed, weight: Floats, seconds: CallSeconds, i: int) -> RankTime:
    world, events = found.world, found.events
    record, clock = world.records[i], world.clocks[i]
    lane = int(record.lanes["call_ticks"].argmax()) if record.lanes.size else 0
    mpi_s = float(seconds[i, lane].sum()) if record.lanes.size else 0.0
    rows = events.of(i, lane)
    parts = (found.parts.parts_s[rows] * weight[rows, None]).sum(axis=0)
    with_events = np.zeros(len(world.calls), dtype=bool)
    with_events[events.call[rows]] = True
    without = np.where(with_events, 0.0, seconds.get((i, lane), np.zeros(len(world.calls))))
    overhead = np.isin(np.array(world.families, dtype=np.int64), overhead_families())
    parts[Part.CALL] += without[overhead].sum()
    parts[Part.UNEXPLAINED] += without[~overhead].sum()
    total = float(parts.sum())
    if total > mpi_s > 0:
        parts *= mpi_s / total
    parts[Part.UNEXPLAINED] += max(mpi_s - float(parts.sum()), 0.0)
    return RankTime(
        rank=record.rank,
        host=record.words("host"),
        span_s=max(_span_s(record, clock), mpi_s),
        mpi_s=mpi_s,
        late_sender_s=float(parts[Part.LATE_SENDER] + parts[Part.SENDER_AWAY]),
        late_receiver_s=float(parts[Part.LATE_RECEIVER] + parts[Part.RECEIVER_AWAY]),
        imbalance_s=float(parts[Part.IMBALANCE] + parts[Part.LATE_TARGET]),
        unexpected_s=float(parts[Part.UNEXPECTED]),
        transfer_s=float(parts[Part.TRANSFER]),
        call_s=float(parts[Part.CALL]),
        unexplained_s=float(parts[Part.UNEXPLAINED]),
        ended=ENDED[record.state],
    )


def overhead_families() -> list[int]:
    """Numbers of the families whose calls without events are overhead."""
    return [number for number, name in watch_layout().families.items() if name in OVERHEAD]


def _span_s(record: RankRecord, clock: Ticks) -> float:
    """From MPI_Init to the last sign of the rank."""
    last = max(int(record.header["end_ticks"]), int(record.lanes["last_ticks"].max(initial=0)))
    return max(clock.duration_s(last - int(record.header["start_ticks"])), 0.0)
