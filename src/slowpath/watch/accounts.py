# SPDX-License-Identifier: Apache-2.0
"""Every second of a rank has a name: what it waited for, moved, called and managed in MPI, and what it did outside.

`RankTime` says how much of it is MPI; this says of what. Waits have the names that tools for wait states have
established. What a call takes beyond waiting is the cost of the call, or the bytes; a replay finds its excess.
Where the other side of a call is not known, as where events were thinned, waiting and work can't be distinguished.

What a rank stood in the kernel's queue in MPI, it had no processor. Where ranks share processors only what is longer
than it waited: one that waits has no use for a processor. Elsewhere those that it waits for are in the queue, too.

Outside MPI the kernel says how long the thread ran, slept and stood in the queue, and how many pages it mapped: by
samples of these stretches, else by what it counted in the whole run. A library polls while it waits, so that a thread
then sleeps outside, except in calls on files.

The start of MPI in a watch: how long it takes. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, get_args

import numpy as np

from slowpath.findings.program_pattern import PAUSES, Activity
from slowpath.watch.attributed import Attributed, TimePart
from slowpath.watch.events import Bools, Floats, Ints, World
from slowpath.watch.match import NO_EVENT
from slowpath.watch.reasons import NEEDS, Needs
from slowpath.watch.record.activity import activity
from slowpath.watch.results import (
    BEFORE_THE_RUN,
    Account,
    AccountName,
    RankResources,
    RankTime,
    WatchResults,
)
from slowpath.watch.totals import OVERHEAD, CallSeconds, unkept_seconds

SHORT_BYTES: Final = 256  # up to which a message takes what its call takes
NOTHING: Final = 1e-9  # of the time: what rounding leaves
NAMES: Final[tuple[AccountName, ...]] = get_args(AccountName)
WAITS: Final = NAMES[: NAMES.index("unexpected copy")]  # time in which a rank needs no processor
IDLE: Final = {*WAITS, "wait or slow transfer", "no processor", "asleep", "unattributed", "call overhead"}  # or polls
_NUMBER: Final[Mapping[AccountName, int]] = {name: i for i, name in enumerate(NAMES)}
LEAST_CALLS: Final = 100  # reads and writes a second
FOR_PAGES: Final = 0.1  # of the time in the kernel, by what a page took where it was measured
SMALL_PAGE: Final = 4096  # bytes; larger ones take one fault, and as long
_MANAGING: Final = ("communicators and groups", "datatypes", "start and end")


def accounts_of(
    run: Attributed,
    weight: Floats,
    seconds_in: CallSeconds,
    ranks: Sequence[RankTime],
    resources: Mapping[int, RankResources],
    crowded: Collection[tuple[str, int]],
) -> tuple[Account, ...]:
    """Longest first; names without any time are left out.

    Args: weight: how many calls each kept one stands for.  seconds_in: each call of each thread.  ranks: in the order
          of the records; the accounts of a rank add up to its time.  resources: what each rank had, by rank.
          crowded: host and number of ranks that share processors.
    """
    if not ranks:
        return ()
    seconds = np.zeros((len(ranks), len(NAMES)))
    names = _Names(run)
    for i, rank in enumerate(ranks):
        seconds[i] = _in_mpi(run, weight, seconds_in, names, rank, i)
        had = resources.get(rank.rank)
        parts = outside_parts(rank, had, float(seconds[i, _NUMBER["files"]]), _seen_outside(run, i))
        if had is not None and had.waited_s is not None:
            queued_s = had.waited_s - parts.get("no processor", 0.0)
            _take_out_queue(seconds[i], queued_s, WAITS if (rank.host, rank.rank) in crowded else ())
        for name, value_s in parts.items():
            seconds[i, _NUMBER[name]] += value_s
    total = float(sum(rank.span_s for rank in ranks))
    order = np.argsort(-seconds.sum(axis=0), kind="stable")
    return tuple(
        Account(
            name=NAMES[number],
            seconds=float(seconds[:, number].mean()),
            share=min(float(seconds[:, number].sum()) / total, 1.0) if total > 0 else 0.0,
            by_rank=tuple(seconds[:, number].tolist()),
        )
        for number in order.tolist()
        if seconds[:, number].sum() > NOTHING * total
    )


def _seen_outside(run: Attributed, i: int) -> Activity | None:
    """Return what samples saw of a record's rank outside MPI; None: too few of them lie there."""
    record, clock, presence = run.world.records[i], run.world.clocks[i], run.presence
    origin_s = float(run.world.origin_s[run.world.clock[i]]) - float(run.shift_s[i])
    ends = np.array([record.header["start_ticks"], record.last_sign_ticks], dtype=np.uint64)
    begun_s, over_s = clock.seconds(ends, origin_s).tolist()
    since = np.append(begun_s, presence.ends[i])
    until = np.append(presence.starts[i], over_s)
    known = until > since
    if presence.is_thinned[i]:  # what lies between two windows is not known
        window = presence.windows[i]
        known[1:-1] &= window[1:] == window[:-1]
        known[[0, -1]] = False
    return activity(record, clock, since[known] + origin_s, until[known] + origin_s)


def outside_parts(
    rank: RankTime, had: RankResources | None, files_s: float, seen: Activity | None = None
) -> dict[AccountName, float]:
    """Return what a rank did outside MPI, in seconds; it adds up to that time.

    Args: had: what it had to work with; None: not recorded.  files_s: in calls on files, where it may have slept.
          seen: of stretches outside MPI; None: not sampled.
    """
    outside_s = max(rank.span_s - rank.mpi_s, 0.0)
    fault_s = min((had.fault_s if had else None) or (0.0,))
    if seen is not None and seen.length_s > 0:
        in_calls_s = sum(value_s for name, value_s in seen.sleeping_s.items() if name not in PAUSES)
        faults_s, system_s = seen.minor_faults * fault_s, seen.system_s
        if seen.reads + seen.writes < LEAST_CALLS * seen.length_s:
            # MPI polls and copies in the kernel, too; without files, pages take the rest: new memory costs more.
            system_s = seen.least_system_s
            touched = max(seen.minor_faults, ((had.touched_bytes if had else None) or 0) / SMALL_PAGE)
            faults_s = max(faults_s, system_s) if touched * fault_s >= FOR_PAGES * system_s else faults_s
        asked: dict[AccountName, float] = {
            "asleep": seen.slept_s - in_calls_s,
            "no processor": seen.queued_s,
            "page faults": faults_s,
            "system calls": in_calls_s + max(system_s - faults_s, 0.0),
        }
        asked = {name: value_s * outside_s / seen.length_s for name, value_s in asked.items()}
    elif had is None or had.ran_s is None or had.waited_s is None or rank.span_s <= 0:
        return {"outside MPI": outside_s}
    else:
        # Its share of the queue: a rank that waits in MPI polls, and so stands in the queue as one that computes.
        asked = {
            "no processor": had.waited_s * outside_s / rank.span_s,
            "asleep": rank.span_s - had.ran_s - had.waited_s - files_s,
            "page faults": (had.minor_faults or 0) * fault_s,
        }
    left_s, parts = outside_s, dict[AccountName, float]()
    for name, value_s in asked.items():
        parts[name] = min(max(value_s, 0.0), left_s)
        left_s -= parts[name]
    return {**parts, "computing": left_s}


def _take_out_queue(seconds: Floats, queued_s: float, kept: Sequence[AccountName]) -> None:
    """Name what of a rank's time that may be waiting was without a processor.

    Args: queued_s: that the rank stood in the queue in MPI.  kept: waits in which it needed no processor.
    """
    waiting_s = float(seconds[[_NUMBER[name] for name in kept]].sum())
    names = {*WAITS, "wait or slow transfer", "moving bytes", "call overhead"}.difference(kept)
    within = [_NUMBER[name] for name in NAMES if name in names]
    within_s = float(seconds[within].sum())
    without_s = min(max(queued_s - waiting_s, 0.0), within_s)
    if without_s > 0:
        seconds[within] *= 1.0 - without_s / within_s
        seconds[_NUMBER["no processor"]] = without_s


class _Names:
    """Of each event the accounts that parts of its time go to, shape (n,): waiting in collectives, the call's rest, and
    what it has when its waiting is not known.
    """

    def __init__(self, run: Attributed) -> None:
        events, world = run.events, run.world
        is_managing, is_file = _manages(world)[events.call], world.is_of("files")[events.call]
        waiting = np.array([_NUMBER[_waits_in(name)] for name in world.calls], dtype=np.int64)
        self.waiting: Ints = np.where(is_managing, _NUMBER["wait at management"], waiting[events.call])
        is_short = _moved_bytes(run) <= SHORT_BYTES
        self.usual: Ints = np.where(is_short, _NUMBER["call overhead"], _NUMBER["moving bytes"])
        self.unknown: Ints = np.full(len(events), _NUMBER["wait or slow transfer"])
        for chosen, number in ((is_managing, _NUMBER["management"]), (is_file, _NUMBER["files"])):
            self.usual[chosen] = self.unknown[chosen] = number


_WINDOWS = tuple(f"MPI_Win_{verb}" for verb in ("create", "allocate", "free", "attach", "detach", "shared_query"))


def _manages(world: World) -> Bools:
    of_windows, packs = (np.array([name.startswith(names) for name in world.calls], dtype=bool) for names in
                         (_WINDOWS, ("MPI_Pack", "MPI_Unpack")))  # fmt: skip
    manages: Bools = (of_windows | world.is_of(*_MANAGING)) & ~packs
    return manages


def _waits_in(call: str) -> AccountName:
    """How waiting for ranks that come late to this call is called."""
    if call.startswith(("MPI_Win_fence", "MPI_Win_wait", "MPI_Win_complete", "MPI_Win_start")):
        return "wait at fence"
    if call.startswith(("MPI_Barrier", "MPI_Ibarrier")):
        return "wait at barrier"
    known: Mapping[Needs, AccountName] = {Needs.ROOT: "late broadcast", Needs.ALL_AT_ROOT: "early reduce"}
    return known.get(NEEDS.get(call.removesuffix("_c"), Needs.UNKNOWN), "wait at N x N")


def _moved_bytes(run: Attributed) -> Floats:
    """Of each call its message's length, or those of all messages that it completed, shape (n,)."""
    events = run.events
    length = events.bytes.astype(float)
    for side in (run.matched.sends, run.matched.receives):
        done = (side.done != NO_EVENT) & (side.done != side.posted)
        np.add.at(length, side.done[done], events.bytes[side.reported[done]].astype(float))
    return length


_OF_PART: Final[Mapping[TimePart, AccountName]] = {
    TimePart.LATE_SENDER: "late sender",
    TimePart.LATE_RECEIVER: "late receiver",
    TimePart.SENDER_AWAY: "late progress",
    TimePart.RECEIVER_AWAY: "late progress",
    TimePart.LATE_TARGET: "late target",
    TimePart.UNEXPECTED: "unexpected copy",
}


def _in_mpi(run: Attributed, weight: Floats, seconds_in: CallSeconds, names: _Names, rank: RankTime, i: int) -> Floats:
    """Seconds of a rank in MPI by name: of its leading thread's calls, and of those for which no event stands."""
    world, lane = run.world, run.world.records[i].leading_lane
    rows = run.events.of(i, lane)
    parts = run.split.parts_s[rows] * weight[rows, None]
    result = np.zeros(len(NAMES))
    for part, name in _OF_PART.items():
        result[_NUMBER[name]] += parts[:, part].sum()
    for part, numbers in (
        (TimePart.IMBALANCE, names.waiting),
        (TimePart.TRANSFER, names.usual),
        (TimePart.CALL, names.usual),
        (TimePart.UNEXPLAINED, names.unknown),
    ):
        result += np.bincount(numbers[rows], weights=parts[:, part], minlength=len(NAMES))
    if (i, lane) in seconds_in:
        is_overhead = world.is_of(*OVERHEAD) & ~np.isin(np.arange(len(world.calls)), run.events.call[rows])
        named = np.where(is_overhead, _NUMBER["call overhead"], _NUMBER["wait or slow transfer"])
        named = np.where(world.is_of("files"), _NUMBER["files"], named)
        named = np.where(_manages(world), _NUMBER["management"], named)
        alone_s = unkept_seconds(run.events, rows, weight, seconds_in[i, lane])
        result += np.bincount(named, weights=alone_s, minlength=len(NAMES))
    whole_s = float(result.sum())
    if whole_s > rank.mpi_s > 0:
        return result * (rank.mpi_s / whole_s)
    result[_NUMBER["unattributed"]] += max(rank.mpi_s - whole_s, 0.0)
    return result


def start_seconds(results: WatchResults) -> float | None:
    """In the call that starts MPI, a rank."""
    seconds_before = [call.time_s for call in results.calls if call.name in BEFORE_THE_RUN and call.calls]
    return sum(seconds_before) if seconds_before else None
