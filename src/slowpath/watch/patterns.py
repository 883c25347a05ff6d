# SPDX-License-Identifier: Apache-2.0
"""The kept calls of a watch as slow paths look at them: columns that know nothing of records.

What slow paths see in a program's own calls, and what the run saves without, by a replay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace as changed

from slowpath.core.finding_results import RemedyResult, Snippet
from slowpath.core.result import Interval
from slowpath.core.units import format_bytes, format_interval, format_ratio
from slowpath.findings.program_pattern import (
    NONE,
    SHORT_BYTES,
    Activity,
    Messages,
    ProgramCalls,
    Sampled,
    SeenPattern,
    crowds,
    grouped,
)
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.program.outside import MAPPED_AGAIN, OF_SECTIONS, activity_before, between_words
from slowpath.slowpaths.program.repeats import fewer_words, no_ends
from slowpath.slowpaths.program.waiting import GIVEN, NO_CORE, doing_of
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS
from slowpath.watch.attributed import Attributed, TimePart
from slowpath.watch.classes import FIRST_USE, HAS_GAPS
from slowpath.watch.critical_path import waits_in
from slowpath.watch.events import Bools, Floats, Ints, World
from slowpath.watch.findings import place_words
from slowpath.watch.match import NO_EVENT
from slowpath.watch.prices import LEAST_SHARE
from slowpath.watch.record.activity import activity
from slowpath.watch.record.layout import NONE_32, EventKind
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.record.sites import OF_LIBRARY, OF_MPI, sampled_code
from slowpath.watch.results import CallSite, MessageClass, WatchFinding
from slowpath.watch.totals import is_coarse, stands_for, time_weights
from slowpath.watch.what_if import MOST_ERROR, CallOrder, Change, Replayed, only, possible, replay, sampled, transfers

_OF_MESSAGES = ("point to point", "completion")
_COMPLETED = re.compile(r"(-1|\d{1,9}) \d{1,18}")
_FORTRAN = re.compile(r"\.f(or|pp|\d\d)?:", re.IGNORECASE)
_HEAP = (1, 2)  # memory kinds: malloc's, and mappings


def kept_calls(run: Attributed) -> Ints:
    """Events that are calls of kept windows: those that an order of calls has, in its order."""
    calls: Ints = np.flatnonzero(run.events.is_timed & (run.events.window % 2**run.world.level == 0))
    return calls


def in_calls(run: Attributed, events: Ints, place: Ints) -> Ints:
    """Number of the call whose time each event is in; NO_EVENT: not kept.

    Args: place: of each event its number among the kept calls.
    """
    known = events != NO_EVENT
    call = np.where(known, run.parents[events], NO_EVENT)
    call = np.where(known & run.events.is_timed[events], events, call)
    return np.where(call != NO_EVENT, place[call], NO_EVENT)


def program_calls(run: Attributed, order: CallOrder, site_of: Mapping[int, int], span_s: float) -> ProgramCalls:
    """Columns of the kept calls.

    Args: order: of the same calls.  site_of: site -> index in the results' sites.
    """
    events, world = run.events, run.world
    calls = kept_calls(run)
    place = np.full(len(events), NO_EVENT, dtype=np.int64)
    place[calls] = np.arange(calls.size)
    # NO_SITE finds the last one.
    sites = np.array([*(site_of.get(site, NONE) for site in range(len(world.sites))), NONE], dtype=np.int64)
    every_site = sites[events.site]
    identities, communicator = np.unique(events.communicator[calls], return_inverse=True)
    kind = events.kind[calls]
    collective = (kind & int(EventKind.COLLECTIVE)) != 0
    group = np.full(len(events), NONE, dtype=np.int64)
    group[run.groups.event] = run.groups.group
    profiled, counted_s = _profiled(world, sites)
    left = _open_receives(run, sites)
    counted = profiled[:, :4]
    is_new = ((profiled[:, 5] & FIRST_USE) != 0) & np.isin(profiled[:, 6] & 15, _HEAP)
    by_time = time_weights(events, world, calls)[calls]
    without = np.concatenate(is_coarse(world)) if world.records else np.zeros(0, dtype=bool)
    whole = possible(order)
    sampled, called_back = _sampled_code(run, calls, order.chain, by_time)
    return ProgramCalls(
        rank=events.rank[calls],
        thread=order.chain,
        start_s=events.start_s[calls],
        end_s=events.end_s[calls],
        own_s=transfers(whole),
        activity=partial(_activity, run),
        faults=partial(_faults, run),
        sampled=sampled,
        called_back=called_back,
        moved_bytes={record.rank: _moved_bytes(record) for record in world.records},
        waits=waits_in(whole),
        meets=whole.meets,
        call=events.call[calls],
        site=every_site[calls],
        communicator=communicator.reshape(-1).astype(np.int64),
        bytes=events.bytes[calls],
        root=np.where(collective & (events.peer[calls] >= 0), events.peer[calls], NONE),
        offset=events.offset[calls],
        is_collective=collective & ((kind & int(EventKind.POST)) == 0),
        is_message=world.is_of(*_OF_MESSAGES)[events.call[calls]],
        is_one_sided=(kind & int(EventKind.ONE_SIDED)) != 0,
        brings=_brings(run, calls, place),
        group=group[calls],
        weight=stands_for(events, world, calls, by_time, every_site, counted, without),
        time_weight=by_time,
        target_wait_s=run.split.parts_s[calls, TimePart.LATE_TARGET],
        target=events.peer[calls],
        eager_bytes=run.eager.longest_bytes,
        requests=events.requests[calls],
        is_read=(kind & int(EventKind.ONE_SIDED | EventKind.SEND | EventKind.RECEIVE))
        == int(EventKind.ONE_SIDED | EventKind.RECEIVE),
        block_bytes=_block_bytes(run, calls, place),
        detail=np.where(collective | ((kind & int(EventKind.ONE_SIDED)) != 0), events.tag[calls], NONE),
        in_vain=events.has(EventKind.NOTHING)[calls],
        names=world.calls,
        messages=_messages(run, place),
        counted=np.concatenate([counted, left]),
        counted_s=np.pad(counted_s, (0, len(left))),
        members=tuple(len(world.members.get(int(identity), ())) for identity in identities),
        ranks=max(len(world.records), 1),
        span_s=span_s,
        first_uses=profiled[is_new][:, 1:5],
        moved=np.pad(np.stack([profiled[:, 10], (profiled[:, 5] & HAS_GAPS) != 0], axis=1), ((0, len(left)), (0, 0))),
        contents=profiled[profiled[:, 7] + profiled[:, 11] > 0][:, [0, 1, 7, 8, 9, 11]],
        completions=_completions(world, sites),
        cost_s=max((int(record.header["call_cost_ns"]) for record in world.records), default=0) * 1e-9,
    )


def _block_bytes(run: Attributed, calls: Ints, place: Ints) -> Floats:
    """Mean stretch of each call's datatype, or of a message that it starts or completes; NaN: contiguous."""
    events, result = run.events, np.full(calls.size, np.nan)
    for i, record in enumerate(run.world.records):
        stretch_bytes = record.datatypes["bytes"] / np.maximum(record.datatypes["blocks"], 1)
        typed = np.flatnonzero((events.record == i) & (events.datatype >= 0))
        known = place[typed] != NO_EVENT
        result[place[typed[known]]] = stretch_bytes[events.datatype[typed[known]]]
        for side in (run.matched.sends, run.matched.receives):
            post = np.where(side.posted == NO_EVENT, side.reported, side.posted)
            mine = (events.record[post] == i) & (events.datatype[post] >= 0)
            for moved in (in_calls(run, post[mine], place), in_calls(run, side.done[mine], place)):
                result[moved[moved != NO_EVENT]] = stretch_bytes[events.datatype[post[mine]]][moved != NO_EVENT]
    return result


def _sampled_record(run: Attributed, rank: int) -> tuple[int, float]:
    """Its number, NONE: there is none, and the events' time 0 on its clock."""
    world = run.world
    i = next((i for i, record in enumerate(world.records) if record.rank == rank), NONE)
    return i, float(world.origin_s[world.clock[i]]) - float(run.shift_s[i]) if i != NONE else 0.0


def _activity(run: Attributed, rank: int, start_s: Floats, end_s: Floats) -> Activity | None:
    """By the samples of its record.  Args: start_s, end_s: as the events' times."""
    i, origin_s = _sampled_record(run, rank)
    if i == NONE:
        return None
    return activity(run.world.records[i], run.world.clocks[i], start_s + origin_s, end_s + origin_s)


def _faults(run: Attributed, rank: int) -> tuple[Floats, Ints]:
    i, origin_s = _sampled_record(run, rank)
    if i == NONE:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    samples = run.world.records[i].samples
    return run.world.clocks[i].seconds(samples["ticks"], origin_s), samples["minor_faults"].astype(np.int64)


def _sampled_code(run: Attributed, calls: Ints, thread: Ints, weight: Floats) -> tuple[Sampled, Sampled]:
    """By the addresses of each record: between two kept calls of its leading thread, and in one, but not in MPI."""
    events, world = run.events, run.world
    rows, chosen, seconds, betweens = [np.zeros(0, dtype=np.int64)], [], [np.zeros(0)], [np.zeros(0, dtype=bool)]
    for i, record in enumerate(world.records):
        mine = np.flatnonzero((events.record[calls] == i) & (events.lane[calls] == 0))
        at_s = record.addresses["monotonic_ns"] * 1e-9 - _sampled_record(run, record.rank)[1]
        after = np.searchsorted(events.start_s[calls[mine]], at_s)
        inside = np.flatnonzero((after > 0) & (after < mine.size))
        row = mine[after[inside]]
        same = thread[row - 1] == thread[row]
        betweens.append((at_s[inside] >= events.end_s[calls[row - 1]])[same])
        rows.append(np.where(betweens[-1], row[same], row[same] - 1))
        chosen.append(inside[same])
        seconds.append(weight[rows[-1]] * int(record.header["address_period_ns"]) * 1e-9)
    codes, code = sampled_code(world.records, chosen, betweens[1:])
    called, objects = ([pattern.match(word) is None for word in words] for pattern, words in (
        (OF_MPI, [each.called for each in codes]), (OF_LIBRARY, [each.object for each in codes])))  # fmt: skip
    row, each_s, between = np.concatenate(rows), np.concatenate(seconds), np.concatenate(betweens)
    outside, back = np.array(called, dtype=bool)[code] & between, np.array(objects, dtype=bool)[code] & ~between
    return (Sampled(row[outside], code[outside], each_s[outside], codes),  # no call of MPI's own is kept there
            Sampled(row[back], code[back], each_s[back], codes))  # fmt: skip


def _moved_bytes(record: RankRecord) -> float:
    ends = record.samples[[0, -1]] if record.samples.size else record.samples
    by_system = sum(float(np.diff(ends[name].astype(float)).sum()) for name in ("read_bytes", "written_bytes"))
    return float(record.profile["bytes"].sum(dtype=float)) + by_system


def _brings(run: Attributed, calls: Ints, place: Ints) -> Bools:
    """Calls that completed a receive or a collective, saw a message, or synchronised a window."""
    events = run.events
    brings = np.zeros(calls.size, dtype=bool)
    done = in_calls(run, run.matched.receives.done, place)
    ended = events.has(EventKind.DONE) & events.has(EventKind.COLLECTIVE)
    for rows in (done, in_calls(run, np.flatnonzero(ended), place)):
        brings[rows[rows != NO_EVENT]] = True
    kind = events.kind[calls]
    post = (kind & int(EventKind.POST)) != 0
    brings |= ((kind & int(EventKind.COLLECTIVE)) != 0) & ~post
    both = int(EventKind.ONE_SIDED | EventKind.WAIT)
    brings |= (kind & both) == both
    probe = np.array(["robe" in name for name in run.world.calls], dtype=bool)
    brings |= probe[events.call[calls]] & ((kind & int(EventKind.NOTHING)) == 0)
    return brings


def _messages(run: Attributed, place: Ints) -> Messages:
    """Those whose send was recorded, and receives whose send was not."""
    events, match = run.events, run.matched
    sends, receives = match.sends, match.receives
    partner = np.full(len(sends), NO_EVENT, dtype=np.int64)
    partner[match.send] = match.receive
    posted = np.where(partner != NO_EVENT, receives.posted[partner], NO_EVENT) if len(receives) else partner
    arrived = np.where(partner != NO_EVENT, receives.done[partner], NO_EVENT) if len(receives) else partner
    return Messages(
        sent=in_calls(run, sends.posted, place),
        left=in_calls(run, sends.done, place),
        posted=in_calls(run, posted, place),
        arrived=in_calls(run, arrived, place),
        bytes=events.bytes[sends.reported],
        source=events.rank[sends.reported],
        destination=events.peer[sends.reported],
    )


_PROFILED = ("count", "allocation_bytes", "flags", "buffer_class", "looked", "zero", "same", "bytes", "text")


def _profiled(world: World, sites: Ints) -> tuple[Ints, Floats]:
    """Of each row of the profiles: call, site, rank, and these fields; and seconds."""
    rows, seconds = [np.zeros((0, 3 + len(_PROFILED)), dtype=np.int64)], [np.zeros(0)]
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        profile = record.profile
        columns = [
            world.call_of[i][profile["call"]],
            sites[world.sites_at(i, profile["site"])],
            np.full(profile.size, record.rank),
            *(np.minimum(profile[name], np.uint64(2**40)).astype(np.int64) for name in _PROFILED),
        ]
        rows.append(np.stack(columns, axis=1))
        seconds.append(profile["ticks"].astype(float) * clock.s_per_tick)
    return np.concatenate(rows), np.concatenate(seconds)


def _open_receives(run: Attributed, sites: Ints) -> Ints:
    """Call, site, rank, number: receives that did not complete, which no profile has; where more were posted."""
    events, rows = run.events, [np.zeros((0, 4), dtype=np.int64)]
    posts = events.has(EventKind.POST) & events.has(EventKind.RECEIVE)
    posts &= ~(events.has(EventKind.ONE_SIDED) | events.has(EventKind.COLLECTIVE))
    for i, record in enumerate(run.world.records):
        mine, profile = posts & (events.record == i), record.profile
        site_of, call_of = sites[run.world.sites_at(i, profile["site"])], run.world.call_of[i]
        for call in np.unique(events.call[mine]).tolist():
            begun = float(record.calls["calls"][call_of == call].sum())
            done = (call_of == call)[profile["call"]]
            place, kept = np.unique(sites[events.site[mine & (events.call == call)]], return_counts=True)
            ended = np.array([profile["count"][done & (site_of == at)].sum(dtype=float) for at in place.tolist()])
            left = np.maximum(begun * kept / kept.sum() - ended, 0.0)
            left *= max(begun - profile["count"][done].sum(dtype=float), 0.0) / max(float(left.sum()), 1e-12)
            rows.append(np.stack([np.full(place.size, call), place, np.full(place.size, record.rank), left], axis=1))
    return np.concatenate(rows).astype(np.int64)


def _completions(world: World, sites: Ints) -> Ints | None:
    """Of the ends of all ranks: site, rank, and requests; None: a rank did not come to its end."""
    rows = []
    for i, record in enumerate(world.records):
        lines = [line.split() for line in record.text.get("completed", ()) if _COMPLETED.fullmatch(line)]
        counts = np.array(lines, dtype=np.int64).reshape(-1, 2)
        if not counts.size:
            return None
        known = (counts[:, 0] >= 0) & (counts[:, 0] < record.sites.size)
        site = sites[world.sites_at(i, np.where(known, counts[:, 0], NONE_32))]
        rows.append(np.stack([site, np.full(site.size, record.rank), counts[:, 1]], axis=1))
    return np.concatenate(rows) if rows else None


def one_place(site_of: Mapping[int, int], sites: Sequence[CallSite]) -> dict[int, int]:
    """The same, with one index for all call paths that reach one place in the program."""
    first: dict[tuple[str, int | None, str | None, int | None], int] = {}
    places = {}
    for site, index in sorted(site_of.items(), key=lambda known: known[1]):
        place = sites[index]
        # A compiler writes an inlined line more than once; a call in a line of Python makes several calls of MPI.
        offset = place.offset if place.line is None or (place.file or "").endswith(".py") else None
        key = (place.object, offset, place.file, place.line)
        places[site] = first.setdefault(key, index) if place.object else index
    return places


LEAST_OUTSIDE, LEAST_IN_CODE, FEWEST_SAMPLES = 0.3, 0.08, 20  # of the run, from which outside MPI is worth a line


def outside_words(calls: ProgramCalls, sites: Sequence[CallSite], share: float) -> str | None:
    """`81 % of the time passes outside MPI, ...: 61 % in f (x.c:3); f between MPI_Recv (x.c:70) and MPI_Send (x.c:44)`.

    Args: share: of the ranks' time, outside MPI.  None: it is little, or not known in which code.
    """
    sampled, parts, where = calls.sampled, list[str](), ""
    if share < LEAST_OUTSIDE or sampled.row.size < FEWEST_SAMPLES:
        return None
    for code, seconds in sampled.longest(np.ones(sampled.row.size, dtype=bool))[:2]:
        part = share * seconds / float(sampled.seconds.sum())
        if part < LEAST_IN_CODE:
            break
        mine = np.array([replace(code, line=other.line) == other for other in sampled.codes], dtype=bool)[sampled.code]
        pair, first = grouped(calls.site[sampled.row[mine] - 1], calls.site[sampled.row[mine]])
        after = sampled.row[mine][first[[np.bincount(pair, weights=sampled.seconds[mine]).argmax()]]]
        why = next((words for name, words in _BY_NAME if name.match(f"{code.called} {code.function}")), "")
        parts.append(f"{100 * part:.0f} % in {code.words}{why}")
        where = where or f"{code.function or code.object} {_stretch_words(calls, sites, after)}"
    head = f"{100 * share:.0f} % of the time passes outside MPI, where less work may shorten the run"
    return f"{head}: {', '.join(parts)}; {where}" if parts else None


# What functions may be for, by their names.
_BY_NAME: Final = (
    (re.compile(r"(?i).*(crc|checksum|adler|md5|sha\d)"), " (a check of messages? MPI delivers what was sent)"),
    (
        re.compile(r"(?i).*(pack|wire|marshal|serial|(en|de)code|archive|(read|writ)er::|(to|from)_?(bytes|buffer))"),
        " (for messages? give MPI the memory itself, or only what is used)",
    ),
)


def _stretch_words(calls: ProgramCalls, sites: Sequence[CallSite], rows: Ints) -> str:
    """`before MPI_Send in f (x.c:3)`, or between two calls: where these calls end a stretch outside MPI."""
    ends = [place_words(sites[at]) if at != NONE else "an unknown place" for at in calls.site[rows[0] - [0, 1]]]
    words = between_words(calls, rows, ends[0] == ends[1]).format(place=ends[0], other=ends[1])
    return words.removeprefix("outside MPI ")


SMALLER: Final = "in smaller parts, or wait for each other less often"  # where one is late after the other
MOSTLY, LEAST_TOLD, LITTLE = 0.5, 0.25, 0.05  # of a time: what says what it is, what is worth a word, what is not
LONG_BYTES: Final = 64 * 1024  # of a message whose time is that of its bytes
FEWER_BYTES: Final = "fewer bytes would shorten it, such as only what is used there or has changed, or fewer calls"
# Of a call: a longer one may have stood in the queue for a slice of the scheduler, of 3 ms or more.
SLICE_S: Final = 1e-3


def why_words(
    calls: ProgramCalls, sites: Sequence[CallSite], most: Sequence[MessageClass], order: CallOrder | None = None
) -> str | None:
    """`84 % of that waits for rank 0, which computes between ... and ...: ...`; with what these calls' time passes.

    Args: most: of one call and one place.  order: of all; None: how long the run is without these is not told.
    """
    same = [i for i, at in enumerate(sites) if most and place_words(at) == place_words(sites[most[0].site])]
    rows = np.flatnonzero(np.isin(calls.site, same))
    rows = rows[calls.call[rows] == calls.names.index(most[0].call)] if rows.size else rows
    took_s = float(((calls.end_s - calls.start_s) * calls.seconds_weight)[rows].sum())
    if took_s <= MOSTLY * sum(kind.time_s for kind in most) * calls.ranks:
        again = sum(kind.count for kind in most) > calls.ranks and calls.names.index(most[0].call) not in calls.call
        return f"F{fewer_words(most[0].call)[1:]}" if again else None  # no event shows them: they bring no message
    chosen = np.isin(calls.waits.wait, rows)
    cause, spent_s = calls.waits.cause[chosen], (calls.waits.spent_s * calls.seconds_weight[calls.waits.wait])[chosen]
    outside = calls.waits.outside[chosen] & np.isfinite(calls.gap_s[cause])
    elsewhere = ~calls.waits.outside[chosen] & ~np.isin(calls.site[cause], same)
    kind, _ = grouped(calls.site[cause - 1] * outside, calls.site[cause], outside.astype(np.int64))
    of_kind = np.bincount(kind, weights=spent_s * (outside | elsewhere), minlength=1)
    mine = (kind == of_kind.argmax()) & (outside | elsewhere)
    own_s, own = _own_words(calls, rows, took_s, order)
    if of_kind.max() < max(LEAST_TOLD * took_s, own_s):
        return own
    of_rank = np.bincount(calls.rank[cause[mine]], weights=spent_s[mine])
    rank, late = int(of_rank.argmax()), int((of_rank > LITTLE * of_rank.sum()).sum())
    there = np.unique(cause[mine & (calls.rank[cause] == rank)])
    head = f"{100 * of_kind.max() / took_s:.0f} % of that waits for {f'{late} ranks, such as ' * (late > 1)}rank {rank}"
    fewer = f"; {own}" if own and own_s >= LEAST_TOLD * took_s else ""
    if not outside[mine].any():
        meanwhile = f"which is in {calls.name_of(there)} in {place_words(sites[calls.site[there[0]]])} meanwhile"
        return f"{head}, {meanwhile}{fewer}"
    doing = doing_of(calls, rank, there, float(calls.gap_s[there].sum()), is_crowded=bool(crowds(calls.shares)))
    said = f"{head}, which {doing.words} {_stretch_words(calls, sites, there)}"
    if (seen := activity_before(calls, rank, there)) is not None:
        said += f" ({100 * seen.ran_s / seen.length_s:.0f} % on a processor, {seen.minor_faults:,.0f} page faults)"
    if late > 1 and doing.change == GIVEN and not fewer:
        return f"{said}: share what ranks compute there {'more evenly' if late <= calls.ranks / 2 else SMALLER}"
    change = doing.change.format(rank=rank, who=f"rank {rank}")
    return f"{said}{f': {change}' if late == 1 and doing.words != NO_CORE else fewer}"


def _own_words(calls: ProgramCalls, rows: Ints, took_s: float, order: CallOrder | None) -> tuple[float, str | None]:
    """How long calls do not wait, and with what: their bytes or themselves.  None: it is not known of them."""
    every_s = np.maximum(calls.own_s - calls.target_wait_s * calls.is_one_sided, 0.0) * calls.seconds_weight
    own_s, queued_s = float(every_s[rows].sum()), sum(share.waited_s or 0.0 for share in calls.shares)
    moved = np.where(calls.is_message, 0, calls.bytes).astype(float)
    for call in (calls.messages.left, calls.messages.arrived):
        np.add.at(moved, call[call != NONE], calls.messages.bytes[call != NONE])
    each, is_queued = float(np.average(moved[rows], weights=calls.weight[rows])), queued_s > MOSTLY * own_s
    completes = not each and bool(calls.is_message[rows].any()) and "probe" not in calls.name_of(rows)
    is_many = each < LONG_BYTES and took_s < SLICE_S * float(calls.weight[rows].sum())
    if completes or own_s < LEAST_TOLD * took_s or (is_queued and not is_many):
        return 0.0, None
    size, rate = format_bytes(round(each)), float((moved * calls.weight)[rows].sum()) / own_s / 1e9
    how = f", with {size} each" * (each > SHORT_BYTES) + ", with the queue for a processor" * is_queued
    what, change = f"is spent in the calls themselves{how}", fewer_words(calls.name_of(rows), calls)
    if each >= LONG_BYTES:
        what = f"moves bytes, {size} a call at {format_ratio(rate)} GB/s"
        change = change if calls.name_of(rows).startswith("MPI_File_") else FEWER_BYTES
    said = f"{100 * own_s / took_s:.0f} % of that {what}: {change}"
    spent = SeenPattern((), 0, "", "", rows=rows, saved_s=no_ends(every_s[rows] / calls.seconds_weight[rows]))
    saved = _replayed(calls, order, [spent], calls.seconds_weight)[0] if order else None
    if saved is None or saved[0] < LITTLE * calls.span_s:
        return own_s, said
    less = f"{format_ratio(saved[0], (saved[2] - saved[1]) / 2)} s {format_interval(saved[1:], saved[0])}"
    return own_s, f"{said}; without any the run may take {less} less (estimated)"


MOST_REPLAYED: Final = 200_000  # calls; more are sampled, so that the verdict does not have to wait
# Of them. A slice has to be longer than many rounds of the program: with 8 ranks that send 512 messages a round, ten
# slices of 10,000 calls each held one round, and the replay found 0.80 of what it finds without cuts.
SLICES: Final = 4


@dataclass(frozen=True)
class Patterns:
    """findings: worth a line, most saved first.  saved_s, interval: of the run by all of them; None: none, or no order
    to replay.
    """

    findings: tuple[WatchFinding, ...] = ()
    saved_s: float | None = None
    interval: Interval | None = None


def seen_in(calls: ProgramCalls) -> list[tuple[SlowPath, SeenPattern]]:
    """Return what is there, whatever it costs."""
    return [(path, pattern) for path in PROGRAM_SLOW_PATHS for pattern in path.pattern(calls)]


def patterns_of(
    calls: ProgramCalls,
    order: CallOrder,
    sites: Sequence[CallSite],
    measured: Sequence[tuple[SlowPath, SeenPattern]] = (),
) -> Patterns:
    """What every slow path sees in these calls.  Args: order: of the same calls.  measured: seen by cells."""
    weight = calls.seconds_weight
    seen = [each for each in (*seen_in(calls), *measured) if each[1].reported or _worth(each[1], calls, weight)]
    if not seen:
        return Patterns()
    every = [pattern for _, pattern in seen]
    saved = _replayed(calls, order, every, weight)
    findings = [
        _finding(path, pattern, saved[i], calls, weight, sites)
        for i, (path, pattern) in enumerate(seen)
        if pattern.reported or (saved[i] or _seconds(pattern, calls, weight))[0] >= LEAST_SHARE * calls.span_s
    ]
    findings = _with_own_ids(findings)
    findings.sort(key=lambda finding: finding.seconds if finding.saved_s is None else finding.saved_s, reverse=True)
    together = saved[-1] if any(finding.saved_s for finding in findings) else None
    return Patterns(tuple(findings), *((together[0], together[1:]) if together else ()))


Three = tuple[float, float, float]


def _seconds(pattern: SeenPattern, calls: ProgramCalls, weight: Floats) -> Three:
    """Added up over its calls, a rank.  Args: weight: of the seconds of each call."""
    added = (pattern.saved_s * weight[pattern.rows][:, None]).sum(axis=0)
    added = (added + (pattern.sooner_s * weight[pattern.sooner][:, None]).sum(axis=0)) / calls.ranks
    value, low, high = (float(a) + b + pattern.waited_s for a, b in zip(added, pattern.more_s, strict=True))
    return value, low, high


def _worth(pattern: SeenPattern, calls: ProgramCalls, weight: Floats) -> bool:
    """A rank alone may pay for it, and all wait for that one."""
    if not calls.span_s:
        return False
    each_s = np.concatenate(
        [pattern.saved_s[:, 0] * weight[pattern.rows], pattern.sooner_s[:, 0] * weight[pattern.sooner]]
    )
    by_rank = np.bincount(calls.rank[np.concatenate([pattern.rows, pattern.sooner])], weights=each_s, minlength=1)
    more_s = pattern.more_s[0] + pattern.waited_s * calls.ranks
    return float(by_rank.max(initial=0.0)) + more_s >= LEAST_SHARE * calls.span_s


def _replayed(
    calls: ProgramCalls, order: CallOrder, seen: Sequence[SeenPattern], weight: Floats
) -> Sequence[Three | None]:
    """The order of the calls with the change of each pattern, the last of all with every change: what the run saves,
    seconds, (value, low, high); None: a replay fails.
    """
    part, rows = _sampled(possible(order), calls)
    groups = [[pattern] for pattern in seen] + [list(seen)]
    if not part.calls:
        return [None] * len(groups)
    # Those that free no call of a wait are replayed at once.
    at_once = [i for i, group in enumerate(groups) if not any(pattern.freed.size for pattern in group)]
    saved = np.zeros((len(groups), 3))
    for numbers in [at_once, *([i] for i in range(len(groups)) if i not in at_once)]:
        changes = [_changed(calls, rows, groups[i], weight) for i in numbers]
        columns = [np.hstack([sides[side] for sides, _ in changes] or [np.zeros((rows.size, 0))]) for side in (0, 1)]
        freed = np.concatenate(
            [pattern.freed for i in numbers for pattern in groups[i]] or [np.zeros((0, 2), dtype=np.int64)]
        )
        replayed = replay(part, Change(columns[0], columns[1], _placed(freed, len(calls), rows)))
        if replayed.error_ratio > MOST_ERROR:
            return [None] * len(groups)
        scale = np.array([each for _, each in changes]).reshape(-1, 3)
        saved[numbers] = _of_all_ranks(part, calls.rank[rows], replayed).reshape(-1, 3) * scale
    for i, group in enumerate(groups):
        saved[i] = np.maximum(saved[i], on_shared(calls, group, weight))
        saved[i] += np.sum([pattern.more_s for pattern in group], axis=0)
    saved = np.clip(saved, 0.0, calls.span_s)
    ends = [_as_validated(each, group) for each, group in zip(saved.tolist(), groups, strict=True)]
    return [(v, low, min(high, calls.span_s)) for v, low, high in ends]


WORK_S = 100e-6  # of a call: a shorter one waits for steps of other ranks more than it works
BUSY = 0.1  # of the run, that ranks stand in the queue for a processor: less is no want of one
# Of 66 right lines of five blind draws (docs/results/watch.md) 54 saved between 1 / 1.5 and 1.95 of the estimate, the
# others more: with calls go cache misses, waits elsewhere, loops that compile better.
BELOW, ABOVE = 1.5, 1.95


def _as_validated(saved: Sequence[float], group: Sequence[SeenPattern]) -> Three:
    """With an interval that has at least the estimates' validated error; ends that a record leaves open stay wider."""
    value, low, high = saved[0], min(saved[:2]), max(saved[0], saved[2])
    if any(pattern.sites or pattern.rows.size for pattern in group):
        low, high = min(low, value / BELOW), max(high, ABOVE * value)
    return value, low, high


def on_shared(calls: ProgramCalls, group: Sequence[SeenPattern], weight: Floats) -> Floats:
    """What the run saves where all ranks share processors, shape (3,): they work one after the other, so that what each
    of them no longer does counts, and not only what the slowest does; and who used a processor waits the longer later.
    """
    crowded = [crowd for crowd in crowds(calls.shares) if BUSY * len(crowd.ranks) <= sum(
        (share.waited_s or 0.0) / (share.span_s or np.inf) for share in crowd.ranks)]  # fmt: skip
    common = [pattern for pattern in group if pattern.rows.size or np.unique(calls.rank[pattern.sooner]).size > 1]
    if not common or sum(len(crowd.ranks) for crowd in crowded) < calls.ranks:
        return np.zeros(3)
    (call_s, outside_s), _ = _changed(calls, np.arange(len(calls)), common, weight)
    works = (call_s[:, 0] >= WORK_S) & ~calls.named("MPI_Scan", "MPI_Exscan")  # in these each waits for the one before
    worked_s = np.minimum(call_s, (calls.own_s / calls.elapsed_ratio[calls.rank])[:, None]) * works[:, None]
    of_rank, longest_s = np.zeros((calls.ranks, 3)), np.zeros(3)
    np.add.at(of_rank, calls.rank, (worked_s + outside_s) * weight[:, None])
    for share in calls.shares:  # who sleeps needs no processor
        of_rank[share.rank] = np.minimum(of_rank[share.rank], share.ran_s or 0.0)
        longest_s = np.maximum(longest_s, of_rank[share.rank] * calls.elapsed_ratio[share.rank])
    sums = [of_rank[[share.rank for share in crowd.ranks]].sum(axis=0) / len(crowd.processors) for crowd in crowded]
    least_s: Floats = np.maximum(np.min(sums, axis=0), longest_s)
    return least_s


def _of_all_ranks(order: CallOrder, rank: Ints, replayed: Replayed) -> Floats:
    """What all ranks save over all stretches, shape (scenarios,): as much as the one that saves least.

    Between two stretches they need not meet, so that one may save in the first what another saves in the second. Where
    a rank has no call of a stretch, or waits at its end, it saves what the stretch does.
    Args: rank: of each call.
    """
    first = np.unique(order.chain, return_index=True)[1]
    of_rank, of_stretch = rank[first], order.stretch[first]
    saved = np.full((int(rank.max()) + 1, *replayed.saved_s.shape), -np.inf)
    ends = ~np.isin(np.arange(first.size), order.chain[order.before_wait])
    np.maximum.at(saved, (of_rank[ends], of_stretch[ends]), replayed.chains_s[ends])
    saved = np.where(np.isfinite(saved), saved, replayed.saved_s)
    least: Floats = saved[np.unique(of_rank)].sum(axis=1).min(axis=0)
    return least


def _changed(
    calls: ProgramCalls, rows: Ints, group: Sequence[SeenPattern], weight: Floats
) -> tuple[tuple[Floats, Floats], Floats]:
    """What these patterns take off the calls of these rows and off the computing before them, shape (rows, 3) each; and
    by how much all that they change is more than what of it is in these rows.
    """
    sides = np.zeros((2, len(calls), 3))
    freed_s = np.zeros(len(calls))
    for pattern in group:
        np.maximum.at(sides[0], pattern.rows, pattern.saved_s)
        np.maximum.at(sides[1], pattern.sooner, pattern.sooner_s)
        freed_s[pattern.freed[:, 0]] = (calls.end_s - calls.start_s)[pattern.freed[:, 0]]
    size = sides.sum(axis=0) + freed_s[:, None]
    kept, every = size[rows].sum(axis=0), (size * weight[:, None]).sum(axis=0)
    scale = np.where(kept > 0, np.maximum(every / np.where(kept > 0, kept, 1.0), 1.0), 0.0)
    return (sides[0][rows], sides[1][rows]), scale


def _placed(pairs: Ints, calls: int, rows: Ints) -> Ints:
    """These pairs by their numbers among the rows, as far as both are there."""
    place = np.full(calls, NONE, dtype=np.int64)
    place[rows] = np.arange(rows.size)
    placed: Ints = place[pairs][(place[pairs] != NONE).all(axis=1)]
    return placed


def _sampled(order: CallOrder, calls: ProgramCalls) -> tuple[CallOrder, Ints]:
    collective = np.where(calls.is_collective, calls.group, NONE)
    members = np.array([*calls.members, 0], dtype=np.int64)[calls.communicator]
    numbered = replace(order, done=np.stack([np.arange(order.calls), np.arange(order.calls)], axis=1))
    part = sampled(numbered, MOST_REPLAYED, SLICES)
    rows = _numbers(part)
    part = waiting_at_ends(part, collective[rows], members[rows])
    return part, _numbers(part)


def _numbers(part: CallOrder) -> Ints:
    numbers: Ints = part.done[np.argsort(part.done[:, 0]), 1]
    return numbers


def _finding(
    path: SlowPath,
    pattern: SeenPattern,
    saved: Three | None,
    calls: ProgramCalls,
    weight: Floats,
    sites: Sequence[CallSite],
) -> WatchFinding:
    """As results.json has it."""
    seconds = _seconds(pattern, calls, weight)
    known = tuple(site for site in pattern.sites if site != NONE)
    places = [sites[site] for site in known]
    where = place_words(places[0]) if places else "an unknown place"
    other = place_words(places[1]) if len(places) > 1 else "an unknown place"
    return WatchFinding(
        id=f"{path.code}:{_digest(pattern.name or path.name, places)}",
        rule=path.code,
        name=pattern.name or path.name,
        title=path.title,
        text=f"{pattern.text}.".replace("{place}", where).replace("{other}", other),  # C++ has {lambda()#1}
        seconds=seconds[0],
        interval=(seconds[1], seconds[2]),
        share=min(max(seconds[0] / calls.span_s, 0.0), 1.0) if calls.span_s else 0.0,
        saved_s=saved[0] if saved else None,
        saved_interval=(saved[1], saved[2]) if saved else None,
        messages=pattern.count,
        sites=known,
        remedies=pattern.remedies
        or (
            RemedyResult(
                name=path.name,
                text=path.remedy,
                phrase=None,
                snippet=Snippet(),
                removed_ratio=None,
                side_effects=[],
                verdict="not tried",
                reason="no trial was run",
            ),
        ),
        prove=pattern.prove,
        change=None
        if pattern.prove
        else change_in(pattern, [f"{at.file}:{at.line}" if at.line else place_words(at) for at in places]),
        status="priced" if pattern.is_measured else "estimated",
    )


def change_in(pattern: SeenPattern, places: Sequence[str]) -> str:
    """Return where and what to change, in words of the language.

    Args: places: as file:line, else in words, the first one's first.
    """
    where, change = pattern.at or next(iter(places), ""), pattern.change
    if pattern.before and where and not pattern.at:
        is_apart = "{other}" in pattern.text and len(places) > 1 and places[0] != places[1]
        where = f"Between {places[1]} and {where}" if is_apart else f"Before {where}"
    head = f"{where}: " if where and where not in change else ""
    if pattern.name == MAPPED_AGAIN and _FORTRAN.search(head):
        change = f"{change} ({OF_SECTIONS})"
    return f"{head}{change}"


def _with_own_ids(findings: Sequence[WatchFinding]) -> list[WatchFinding]:
    """Two places of one line are two findings."""
    seen: dict[str, int] = {}
    renamed = []
    for finding in findings:
        again = seen[finding.id] = seen.get(finding.id, -1) + 1
        code, _, digest = finding.id.partition(":")
        own = hashlib.sha256(f"{digest} {again}".encode()).hexdigest()[:8] if again else digest
        renamed.append(changed(finding, id=f"{code}:{own}"))
    return renamed


def _digest(name: str, places: Sequence[CallSite]) -> str:
    """Lines move when the program changes, functions less so."""
    place = f"{places[0].object}:{places[0].function or hex(places[0].offset)}:{places[0].line}" if places else ""
    return hashlib.sha256("\n".join((name, place)).encode()).hexdigest()[:8]


def waiting_at_ends(order: CallOrder, collective: Ints, members: Ints) -> CallOrder:
    """Without collectives at the end of a chain that lack ranks: their threads wait, for calls that were not kept.

    Args: collective: shape (n,), number of each call's blocking collective, -1: none.  members: of it.
    """
    if not order.stretch.any():
        return order
    inside = np.flatnonzero(collective >= 0)
    both = np.stack([order.stretch[inside], collective[inside]], axis=1)
    _, number, count = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    lacks = np.zeros(order.calls, dtype=bool)
    lacks[inside] = count[number.reshape(-1)] < members[inside]
    by = np.lexsort((order.start_s, order.chain))
    is_last = np.diff(order.chain[by], append=-1) != 0
    drop = by[is_last & lacks[by]]
    at = np.flatnonzero(is_last & lacks[by])
    at = at[at > 0]
    before = by[at - 1][order.chain[by[at - 1]] == order.chain[by[at]]]
    keep = np.ones(order.calls, dtype=bool)
    keep[drop] = False
    return only(replace(order, before_wait=before), keep, order.stretch)
