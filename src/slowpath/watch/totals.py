# SPDX-License-Identifier: Apache-2.0
"""How many seconds and calls each kept call stands for, by kind: a thread of a rank, a call and a place.

The profile counts calls and their time by kind, whatever was thinned. Where its room was used up it counts the rest of
a call without its place, in the coarse row of sites (`find_row` of engine/watch/profile.cpp). What stands there is
shared by the places of the call, as the kept calls have it.

Where each rank's time went, calls by name, and what was seen and matched of the program; tables of these.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from slowpath.core.result import LARGEST, LONGEST_NAME
from slowpath.core.units import format_time
from slowpath.findings.program_pattern import grouped
from slowpath.watch.attributed import WAITS, Attributed, TimePart
from slowpath.watch.events import NO_SITE, Bools, Events, Floats, Ints, World
from slowpath.watch.match import SideEvents
from slowpath.watch.record.job import Ticks
from slowpath.watch.record.layout import EventKind, RecordState, watch_layout
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.record.sites import NamedSite, named_sites
from slowpath.watch.results import (
    BEFORE_THE_RUN,
    CallCount,
    CallSite,
    Coverage,
    Family,
    Pair,
    RankTime,
    Slice,
)

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
    seconds: Floats = own + lacks * part[of]
    return seconds


def is_coarse(world: World) -> tuple[Bools, ...]:
    """Of each record's rows of its profile whether they are without their place, where it had too little room."""
    return tuple(
        (record.profile["site"] == COARSE_ROW) & (record.lost.get("profile", 0) > 0) for record in world.records
    )


def profile_seconds(record: RankRecord, clock: Ticks) -> Floats:
    """Return the seconds of each row of a profile, shape (rows,): shares of the total that its lane has by itself."""
    ticks = record.profile["ticks"].astype(float)
    counted_s = np.bincount(record.profile_lane, weights=ticks, minlength=record.lanes.size) * clock.s_per_tick
    whole_s = np.array([clock.duration_s(ticks) for ticks in record.lanes["call_ticks"]])
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
    weights = np.ones(len(events))
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
        return weights
    thread = (events.record[kept] * lanes + events.lane[kept]) * calls + events.call[kept]
    keys, number = np.unique(thread * sites + events.site[kept] + 1, return_inverse=True)
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
    weights[kept] = np.where((kept_s > 0) & (total > 0), total / np.where(kept_s > 0, kept_s, 1.0), 1.0)[number]
    return weights


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
    number, kinds = grouped(both)
    of_count, of_event = number[: len(counted)], number[len(counted) :]
    have = np.bincount(of_event, minlength=kinds.size)
    count = counted[:, 3].astype(float)
    own = np.bincount(of_count, weights=np.where(without, 0.0, count), minlength=kinds.size).astype(np.float64)
    # Of each kind its call on its rank, which all places share.
    pair, pairs = grouped(*np.concatenate([counted[:, :3], every])[:, [0, 2]].T)
    calls = pairs.size
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
OVERHEAD = ("point to point", "completion", "communicators and groups", "datatypes", "local", "other")


def call_seconds(world: World) -> CallSeconds:
    """Seconds in each call of each thread: the profile's shares of the thread's own total. The run begins when MPI_Init
    returns, whose own time is left out.
    """
    by_lane: dict[tuple[int, int], Floats] = {}
    before = np.array([name in BEFORE_THE_RUN for name in world.calls], dtype=bool)
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        calls, seconds = world.call_of[i][record.profile["call"]], profile_seconds(record, clock)
        for lane in range(record.lanes.size):
            rows = record.profile_lane == lane
            of_call = np.bincount(calls[rows], weights=seconds[rows], minlength=len(world.calls)).astype(np.float64)
            of_call[before] = 0.0
            by_lane[i, lane] = of_call
    return by_lane


def unkept_seconds(events: Events, rows: Ints, weight: Floats, in_call_s: Floats) -> Floats:
    """Return the time of each call that no kept call stands for, shape (calls,).

    Args: rows: events of one thread.  in_call_s: the thread's time by call.
    """
    rows = rows[events.is_timed[rows]]
    stands_s = np.bincount(events.call[rows], weights=events.duration_s[rows] * weight[rows], minlength=in_call_s.size)
    left_s = in_call_s - stands_s
    return np.where(left_s > ROUNDING * in_call_s, left_s, 0.0)


def rank_times(run: Attributed, seconds: CallSeconds) -> tuple[RankTime, ...]:
    """By rank; in MPI the time of its leading thread."""
    times = []
    for i, (record, clock) in enumerate(zip(run.world.records, run.world.clocks, strict=True)):
        mpi_s = float(seconds[i, record.leading_lane].sum()) if record.lanes.size else 0.0
        span_s = max(_span_s(record, clock), mpi_s)
        host, ended = record.words("host"), ENDED[record.state]
        times.append(RankTime(rank=record.rank, host=host, span_s=span_s, mpi_s=mpi_s, ended=ended))
    return tuple(times)


def _span_s(record: RankRecord, clock: Ticks) -> float:
    last = record.last_sign_ticks
    return max(clock.duration_s(last - int(record.header["start_ticks"])), 0.0)


# How results call the schema's families.
FAMILY: dict[str, Family] = {
    **{family: family for family in get_args(Family)},
    **dict.fromkeys(("communicators and groups", "datatypes", "start and end"), "management"),
    "local": "other",
}
MOST_UNSEEN = 500
ROUNDING = 1e-6  # of the time in a call
MOST_NAMED = 8
MOST_OTHERS = 0.05  # of the run, that another thread may be longer in MPI without a word


def coverage_of(
    run: Attributed, calls: tuple[CallCount, ...], seconds: CallSeconds, notes: tuple[str, ...]
) -> Coverage:
    """Shares, counts, and what a reader has to know."""
    world = run.world
    unseen = sorted({line.split("\t")[0] for record in world.records for line in record.text.get("unseen", ())})
    wrapped = {
        name
        for record in world.records
        for name, row in zip(record.call_names, record.calls, strict=True)
        if row["importers"] > 0 or row["dlsym"] > 0 or row["calls"] > 0
    }
    error_s = run.clocks.largest_error_s
    return Coverage(
        imported=len(wrapped) + len(unseen),
        wrapped=len(wrapped),
        unseen=tuple(unseen[:MOST_UNSEEN]),
        calls=sum(call.calls for call in calls),
        messages=max(
            sum(int(record.sent["count"].sum(dtype=float)) for record in world.records), len(run.matched.sends)
        ),
        recorded_messages=len(run.matched.sends),
        matched_share=matched_share(run),
        contradictions=run.contradictions,
        kept_share=_kept_share(run, seconds),
        clock_error_s=None if np.isinf(error_s) else error_s,
        own_cost_s=_own_cost_s(run),
        notes=(*notes, *notes_of(run), *_other_threads(run, seconds)),
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
    counts = [
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
    return tuple(sorted(counts, key=lambda call: (-call.time_s, call.name)))


def whole(value: float) -> int:
    """A count that a made-up record can't drive beyond its type."""
    return int(min(max(value, 0.0), float(LARGEST // 2)))


def matched_share(run: Attributed) -> float | None:
    """Of the sends and receives whose other side must have been recorded: matched. None: there are none."""
    pairs = run.matched.send.size + run.contradictions
    lone = _must_match(run, run.matched.sends, run.matched.send)
    lone += _must_match(run, run.matched.receives, run.matched.receive)
    total = 2 * pairs + lone
    return None if total == 0 else 2 * run.matched.send.size / total


def _must_match(run: Attributed, side: SideEvents, paired: Ints) -> int:
    """Unpaired messages of one side whose other rank's record is whole: nothing was dropped, and it ended well."""
    alone: Bools = np.ones(len(side), dtype=bool)
    alone[paired] = False
    peer = run.events.peer[side.reported[alone]]
    whole = np.zeros(run.world.job.size + 1, dtype=bool)
    for record in run.world.records:
        is_whole = not int(record.lanes["level"].max(initial=0)) and not record.lost.get("events", 0)
        whole[record.rank] = is_whole and record.state == RecordState.FINALIZED
    return int(whole[peer].sum())


def _kept_share(run: Attributed, seconds: CallSeconds) -> float:
    """Of the time in MPI, in kept calls; calls that have no events by their kind count as kept."""
    world = run.world
    total = sum(float(of_call.sum()) for of_call in seconds.values())
    eventful = np.zeros(len(world.calls), dtype=bool)
    eventful[run.events.call] = True
    eventful |= ~world.is_of(*OVERHEAD)
    kept = sum(float(of_call[~eventful].sum()) for of_call in seconds.values())
    kept += float(run.events.duration_s[run.events.is_timed].sum())
    return min(kept / total, 1.0) if total > 0 else 1.0


def _own_cost_s(run: Attributed) -> float:
    """The library's own work, a rank, and calls times the cost of one, which each rank measured on some of its own.

    One that was thinned has a cost of its own. A loop that waits by polling ends no later for what its polls cost: they
    count by the share of such calls' time in which nobody was waited for. A rank's cost is no more than its run.
    """
    world, polls = run.world, ("MPI_Test", "MPI_Iprobe", "MPI_Improbe")
    polling = np.array([name.startswith(polls) for name in world.calls], dtype=bool)
    total = 0.0
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        mine = run.events.is_timed & (run.events.record == i) & polling[run.events.call]
        in_polls_s, waited_s = float(run.events.duration_s[mine].sum()), float(run.split.wait_s[mine].sum())
        free = (world.polls[i] if world.polls else 0.0) * (waited_s / in_polls_s if in_polls_s > 0 else 0.0)
        thinned = float(record.lanes["thinned"].sum(dtype=float))
        full = max(float(record.lanes["calls"].sum(dtype=float)) - thinned - max(free - thinned, 0.0), 0.0)
        cost_ns = full * int(record.header["call_cost_ns"])
        cost_ns += max(thinned - free, 0.0) * int(record.header["thinned_call_cost_ns"])
        own_s = clock.duration_s(record.lanes["own_ticks"].sum(dtype=float))
        total += min(cost_ns * 1e-9 + own_s, _span_s(record, clock))
    return total / max(len(world.records), 1)


def notes_of(run: Attributed) -> list[str]:
    """What a reader of the kept calls has to know."""
    world, notes = run.world, []
    missing = world.job.size - len(world.records)
    if missing > 0:
        notes.append(f"{missing} of {world.job.size} ranks left no readable record")
    ended = [record.rank for record in world.records if record.state != RecordState.FINALIZED]
    if ended:
        named = ", ".join(map(str, ended[:MOST_NAMED])) + (", ..." if len(ended) > MOST_NAMED else "")
        notes.append(f"ranks that did not end with MPI_Finalize: {named}; their records end early")
    if world.level:
        thinned = sum(int(record.lanes["thinned"].sum(dtype=float)) for record in world.records)
        also = f"; times of {thinned:,} calls are estimates" if thinned else ""
        notes.append(f"waiting is estimated from one time window in {2**world.level}, as the record was full{also}")
    notes += _without_place(world)
    if np.isinf(run.clocks.largest_error_s):
        notes.append("some hosts exchanged no messages in both directions, so their waits are not reported")
    if run.matched.repeated:
        notes.append(f"{run.matched.repeated} messages are not matched, because they share their number")
    return notes


def _other_threads(run: Attributed, seconds: CallSeconds) -> list[str]:
    more = []
    for i, record in enumerate(run.world.records):
        lead, longest = record.leading_lane, record.longest_lane
        if lead != longest:
            others_s, own_s = (float(seconds[i, lane].sum()) for lane in (longest, lead))
            if others_s - own_s > MOST_OTHERS * _span_s(record, run.world.clocks[i]):
                more.append((others_s, record.rank))
    if not more:
        return []
    longest_s, rank = max(more)
    return [
        f"times are those of the threads that started MPI; another thread of rank {rank} was in MPI for "
        f"{format_time(longest_s)}"
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
        f"the profile had no room for the places of {whole(float(of_call.sum())):,} calls ({names}), so "
        "counts by place are estimates"
    ]


MOST_PAIRS = 4096


def pairs_of(run: Attributed) -> tuple[Pair, ...]:
    """Messages from rank to rank as the senders' profiles count them, most bytes first."""
    world = run.world
    size = world.job.size
    messages: dict[tuple[int, int], float] = defaultdict(float)
    lengths: dict[tuple[int, int], float] = defaultdict(float)
    for record in world.records:
        rows = record.sent
        for row in rows[(rows["peer"] >= 0) & (rows["peer"] < size)]:
            key = record.rank, int(row["peer"])
            messages[key] += float(row["count"])
            lengths[key] += float(row["bytes"])
    largest = sorted(messages, key=lambda key: (-lengths[key], key))[:MOST_PAIRS]
    return tuple(
        Pair(source=a, destination=b, messages=whole(messages[a, b]), bytes=whole(lengths[a, b])) for a, b in largest
    )


def sites_of(world: World, sites: Sequence[int]) -> tuple[CallSite, ...]:
    """Of these sites, most costly first."""
    known = [site for site in sites if site != NO_SITE]
    rows = [(world.records[record], row) for record, row in (world.sites[site] for site in known)]
    named = dict(zip(known, named_sites(rows), strict=True))
    call_sites = []
    for site in sites:
        place = named.get(site)
        if place is None:
            call_sites.append(CallSite(function="", file=None, line=None, object="", offset=0))
            continue
        call_sites.append(as_site(place))
    return tuple(call_sites)


def as_site(place: NamedSite) -> CallSite:
    """Return a place as results have it."""
    at = place.place
    return CallSite(
        function=at.function if at else "",
        file=at.file if at else None,
        line=at.line if at else None,
        object=place.path.rsplit("/", 1)[-1][:LONGEST_NAME],
        offset=place.offset,
        callers=place.callers,
    )


MOST_SLICES = 200
MOST_RANKS = 64
LEAST_SLICE_S = 1e-6


def slices_of(run: Attributed, span_s: float) -> tuple[tuple[Slice, ...], tuple[int, ...] | None]:
    """Slices by rank and time, and which ranks have some: the first, the last and evenly in between; None: all."""
    count = len(run.world.records)
    if not count or span_s <= LEAST_SLICE_S:
        return (), None
    shown = np.unique(np.linspace(0, count - 1, min(count, MOST_RANKS)).round().astype(int)).tolist()
    edges = np.linspace(0.0, span_s, MOST_SLICES + 1)
    slices = tuple(itertools.chain.from_iterable(_of_rank(run, i, edges) for i in shown))
    ranks = tuple(run.world.records[i].rank for i in shown)
    return slices, None if len(shown) == count else ranks


def _of_rank(run: Attributed, i: int, edges: Floats) -> list[Slice]:
    events, record = run.events, run.world.records[i]
    lane = record.leading_lane
    rows = events.of(i, lane)
    parts = run.split.parts_s[rows]
    waiting, transfer = parts[:, WAITS].sum(axis=1), parts[:, TimePart.TRANSFER] + parts[:, TimePart.UNEXPECTED]
    # Within a call: waiting first, then what moves bytes, then the rest; rounding leaves none of them behind its end.
    begin, left_s = events.start_s[rows], events.duration_s[rows]
    columns = []
    for length in (waiting, transfer, left_s):
        length = np.clip(length, 0.0, left_s)
        columns.append(in_slices(begin, length, edges))
        begin, left_s = begin + length, left_s - length
    kept = kept_seconds(run, i, lane, edges)
    rank, slices = record.rank, []
    for k, (start, end) in enumerate(itertools.pairwise(edges.tolist())):
        whole = float(kept[k])
        if whole <= 0:
            slices.append(_slice(rank, start, end, (0.0, 0.0, 0.0), is_kept=False))
            continue
        wait, move, other = (min(float(column[k]) / whole, 1.0) for column in columns)
        total = max(wait + move + other, 1.0)
        slices.append(_slice(rank, start, end, (wait / total, move / total, other / total), is_kept=True))
    return slices


def _slice(rank: int, start_s: float, end_s: float, shares: tuple[float, float, float], *, is_kept: bool) -> Slice:
    waiting, transfer, other = shares
    return Slice(
        rank=rank,
        start_s=start_s,
        end_s=end_s,
        computing=min(max(1.0 - waiting - transfer - other, 0.0), 1.0),
        waiting=waiting,
        transfer=transfer,
        other=other,
        is_kept=is_kept,
    )


def in_slices(begin: Floats, length: Floats, edges: Floats) -> Floats:
    """Seconds of these stretches in each slice; they don't overlap and are in order."""
    whole = np.append(0.0, np.cumsum(length))
    at = np.searchsorted(begin, edges, side="right")
    index = np.maximum(at - 1, 0)
    open_s = np.zeros(edges.size)
    if begin.size:
        open_s = np.where(at > 0, np.maximum(begin[index] + length[index] - edges, 0.0), 0.0)
    in_mpi_s: Floats = np.maximum(np.diff(whole[at] - open_s), 0.0)  # 0.1 + 0.2 - 0.1 is more than 0.2
    return in_mpi_s


def kept_seconds(run: Attributed, i: int, lane: int, edges: Floats) -> Floats:
    """Seconds of each slice that lie in windows whose events were kept, before the rank's last sign."""
    record, clock = run.world.records[i], run.world.clocks[i]
    level = int(record.lanes["level"][lane]) if record.lanes.size else 0
    origin = float(run.world.origin_s[run.world.clock[i]]) - float(run.shift_s[i])
    first = float(clock.seconds(record.header["start_ticks"][None], origin)[0])
    sign = record.last_sign_ticks
    last = float(clock.seconds(np.array([sign], dtype=np.uint64), origin)[0])
    overlap = np.minimum(edges[1:], last) - np.maximum(edges[:-1], first)
    inside = np.asarray(np.maximum(overlap, 0.0), dtype=np.float64)
    if level == 0:
        return inside
    window_s = max(int(record.header["window_ns"]), 1) * 1e-9
    kept: Floats = np.diff(_kept_before(edges + origin, window_s, 1 << level))
    return np.minimum(kept, inside)


def _kept_before(times: Floats, window_s: float, every: int) -> Floats:
    windows: Ints = np.floor(times / window_s).astype(np.int64)
    full = (windows + every - 1) // every * window_s
    partial = np.where(windows % every == 0, times - windows * window_s, 0.0)
    return np.asarray(full + partial, dtype=np.float64)


def numbered(*tables: Ints) -> Ints:
    """One number for each triple of the first three columns, alike in all tables.  -1 is a value like others."""
    columns = np.concatenate([table[:, :3] for table in tables]) + 1
    second, third = (int(columns[:, i].max(initial=0)) + 1 for i in (1, 2))
    numbers: Ints = (columns[:, 0] * second + columns[:, 1]) * third + columns[:, 2]
    return numbers
