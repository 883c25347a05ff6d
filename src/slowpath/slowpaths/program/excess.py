# SPDX-License-Identifier: Apache-2.0
"""SP080: calls that take longer than others of their kind, and what the slow ones share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    grouped,
    most,
    unhindered,
    usual,
)
from slowpath.slowpaths.program.repeats import OF_BINDING, PYTHON, REDUCES, at_place, named_like, no_ends, samples_in
from slowpath.slowpaths.remedies import page_of

LEAST = 100  # receives of a place
FASTEST = 5.0  # percentile that stands for a short search
THERE_S = 200e-6  # since a message was sent: no network takes so long for a short one


@dataclass(frozen=True)
class Search:
    """Calls of a place that search.

    base_s: what one takes that does not search.  past: words for what they pass over.
    """

    rows: Ints
    base_s: float
    past: str


def searching(calls: ProgramCalls) -> list[Search]:
    """Of each place: by the source of messages, and by times that fall as a queue gets shorter."""
    messages = calls.messages
    both = np.flatnonzero((messages.posted != NONE) & (messages.sent != NONE))
    posted, came_s = messages.posted[both], calls.end_s[messages.sent[both]]
    short = (messages.bytes[both] <= calls.eager_bytes) & calls.named("MPI_Recv")[posted]
    there = np.flatnonzero(short & (came_s + THERE_S < calls.start_s[posted]))
    there = there[np.argsort(posted[there], kind="stable")]
    searches = list(_by_source(calls, posted[there]))
    known = [int(calls.site[search.rows[0]]) for search in searches]
    return [*searches, *_falling(calls, posted[there], came_s[there], known)]


BY_SOURCE, SEARCH_S = 10.0, 10e-6  # times what receives from another rank take, and at least so long
MOST_PASSING_S = 1e-6  # of a message that a search passes over


def _by_source(calls: ProgramCalls, there: Ints) -> Iterator[Search]:
    """Places where a rank takes short messages that are there, at once from one rank and slowly from another: those of
    the first had come in between.
    """
    for place, rows in calls.by_site(there[calls.target[there] >= 0]):
        pair, first = grouped(calls.rank[rows], calls.target[rows])
        often = [i for i in range(first.size) if (pair == i).sum() >= LEAST // 2]
        medians = {int(rows[first[i]]): float(np.median(calls.own_s[rows[pair == i]])) for i in often}
        for slow, slow_s in medians.items():
            fast = min((at for at in medians if calls.rank[at] == calls.rank[slow]), key=lambda at: medians[at])
            most_s = MOST_PASSING_S * _deepest(calls, int(calls.rank[slow]))  # longer is a want of a processor
            if most_s >= slow_s >= max(BY_SOURCE * medians[fast], SEARCH_S):
                past = (
                    f"those of rank {calls.target[slow]} in {format_time(slow_s)}, those of rank {calls.target[fast]} "
                    f"in {format_time(medians[fast])} (medians): past all that others sent meanwhile"
                )
                mine = (calls.site == place) & (calls.rank == calls.rank[slow]) & (calls.target == calls.target[slow])
                yield Search(np.flatnonzero(mine), medians[fast], past)


def _deepest(calls: ProgramCalls, rank: int) -> float:
    """How many messages for a rank were under way or there at one time, before their receives."""
    messages = calls.messages
    sent = (messages.destination == rank) & (messages.sent != NONE)
    taken = messages.sent[sent & (messages.posted != NONE)], messages.posted[sent & (messages.posted != NONE)]
    at_s = np.concatenate([calls.start_s[messages.sent[sent]], calls.start_s[taken[1]]])
    more = np.concatenate([calls.weight[messages.sent[sent]], -calls.weight[taken[0]]])
    return float(np.cumsum(more[np.argsort(at_s, kind="stable")]).max(initial=0.0))


BLOCK, BLOCKS = 16, 4  # receives in a row that stand for one time, and such blocks of a row at least
FALLS = 0.8  # of the rows, whose last quarter is faster than the first
RANGE = 3.0  # times as long as the fastest tenth of all blocks the slowest tenth takes
IN_ORDER = 0.9  # of the messages of a place, that are taken in the order in which they came


def _falling(calls: ProgramCalls, there: Ints, came_s: Floats, known: Sequence[int]) -> Iterator[Search]:
    """Short receives in a row, during which their source sends nothing, so that all messages are there; and each row
    gets faster, as a queue does that shrinks.
    """
    receives = calls.named("MPI_Recv") & (calls.bytes <= calls.eager_bytes) & ~np.isin(calls.site, known)
    receives &= _sends_nothing(calls, np.flatnonzero(receives & (calls.target >= 0)))
    for place, rows in calls.by_site(np.flatnonzero(receives)):
        in_turn = np.diff(came_s[calls.site[there] == place]) >= 0
        if rows.size < LEAST or (in_turn.size >= LEAST and in_turn.mean() >= IN_ORDER):
            continue
        ends = np.flatnonzero((np.diff(rows) > 1) | (np.diff(calls.thread[rows]) != 0)) + 1
        long = [row for row in np.split(rows, ends) if row.size >= BLOCK * BLOCKS]
        medians = [np.median(calls.own_s[row[: row.size // BLOCK * BLOCK]].reshape(-1, BLOCK), axis=1) for row in long]
        falls = [np.median(each[: each.size // 4]) > np.median(each[-(each.size // 4) :]) for each in medians]
        if not falls or np.mean(falls) < FALLS:
            continue
        fast_s, slow_s = np.percentile(np.concatenate(medians), [10, 90])
        if slow_s >= RANGE * fast_s:
            past = "and took less time the fewer were left: the library may search them one by one"
            yield Search(rows, float(np.percentile(calls.own_s[rows], FASTEST)), past)


def _sends_nothing(calls: ProgramCalls, receives: Ints) -> Bools:
    """Which of these receives have a source that begins no call which sends meanwhile, shape (n,)."""
    sent = calls.messages.sent[calls.messages.sent != NONE]
    quiet = np.zeros(len(calls), dtype=bool)
    for source in np.unique(calls.target[receives]).tolist():
        begun_s = np.sort(calls.start_s[sent[calls.rank[sent] == source]])
        mine = receives[calls.target[receives] == source]
        quiet[mine] = np.searchsorted(begun_s, calls.start_s[mine]) == np.searchsorted(begun_s, calls.end_s[mine])
    return quiet


def saved_by(calls: ProgramCalls, searches: Sequence[Search]) -> tuple[Ints, Floats]:
    """Calls that search, and what each takes longer than one that does not: value, low, high."""
    rows, every = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    for search in searches:
        own_s, call, base_s = calls.own_s[search.rows], calls.call[search.rows], search.base_s
        value = np.maximum(unhindered(calls, search.rows, own_s) - base_s, 0.0)
        ends = [value, np.minimum(usual(own_s, call, 1.0) - 2 * base_s, value), usual(own_s, call, 9.0) - 0.5 * base_s]
        rows.append(search.rows)
        every.append(np.maximum(np.stack(ends, axis=1), 0.0))
    return np.concatenate(rows), np.concatenate(every)


def _searches(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Of each place receives that take longer the more they pass over: in the order of sending they pass over none.

    Open receives that are never completed are searched, too: a long queue of messages need not be the cause.
    """
    is_receive, by_place = named_like(calls, RECEIVES), dict[int, list[Search]]()
    if any(is_receive[number] for _, number, _ in unfinished(calls)):
        return
    for search in searching(calls):
        by_place.setdefault(int(calls.site[search.rows[0]]), []).append(search)
    for searches in by_place.values():
        rows, saved_s = saved_by(calls, searches)
        count = calls.stood_for(rows)
        more_s, is_thinned = _alone(calls, rows, saved_s), bool((calls.weight[rows] > 1.0).any())
        yield SeenPattern(
            name="receives search a long queue",
            sites=most(calls.site[rows], calls.own_s[rows]),
            count=count,
            text=f"{count:,} {calls.name_of(rows)} in {{place}} took messages that had already arrived, "
            f"{max(searches, key=lambda search: search.rows.size).past}",
            change="receive in the order of arrival (MPI_ANY_SOURCE), or post the receives before the messages arrive "
            "(MPI_Irecv)",
            rows=rows,
            saved_s=saved_s * (not is_thinned),
            more_s=more_s if is_thinned else (0.0, 0.0, 0.0),
        )


def _alone(calls: ProgramCalls, rows: Ints, saved_s: Floats) -> tuple[float, float, float]:
    """What the rank saves that saves most, as long as the others are in MPI: of a thinned record a replay lacks the
    calls in which they wait for it.
    """
    of_rank = np.zeros((calls.ranks, 3))
    np.add.at(of_rank, calls.rank[rows], saved_s * calls.seconds_weight[rows, None])
    in_mpi_s = np.bincount(calls.counted[:, 2], weights=calls.counted_s, minlength=calls.ranks)[: calls.ranks]
    value, low, high = np.minimum(of_rank[of_rank[:, 0].argmax()], in_mpi_s.min())
    return float(value), float(low), float(high)


# A nonblocking call; MPI_Info_create and the like begin with the same letter.
_REQUEST = r"I(?!m?probe|n(it|fo|tercomm)|s_)\w+|Start(all)?|R(put|get|accumulate|get_accumulate)"
RECEIVES, _SENDS = r"(Im?r|Mr|R)ecv", r"(I[bsr]?s|[BSR]?s)end|Send"
LEAST_REQUESTS = 100  # of a rank at one place: those of a program that was stopped are few
COMPLETED = 0.1  # at most that share of what is started


def unfinished(calls: ProgramCalls) -> Iterator[tuple[int, int, Ints]]:
    """Places and a call whose requests are neither completed nor freed, and how many each rank has of them.

    Of completions of requests that the program moved nobody knows the place: they may be of any. Where fewer messages
    are sent than received, by as many as are left of all requests, it is receives that are left.
    """
    if calls.completions is None:
        return
    call, site, rank, count = calls.counted[named_like(calls, _REQUEST)[calls.counted[:, 0]]].T
    gone_site, gone_rank, gone = calls.completions.T
    unknown = np.bincount(gone_rank[gone_site == NONE], weights=gone[gone_site == NONE], minlength=calls.ranks)
    is_receive, left = named_like(calls, RECEIVES), dict[tuple[int, int], Floats]()
    for place in np.unique(site).tolist():
        here, there = site == place, gone_site == place
        ended = np.bincount(gone_rank[there], weights=gone[there], minlength=calls.ranks)
        begun = np.bincount(rank[here], weights=count[here], minlength=calls.ranks)
        left[place, int(np.bincount(call[here], weights=count[here]).argmax())] = np.maximum(begun - ended, 0.0)
    received, sent, cancelled = (int(calls.counted[named_like(calls, like)[calls.counted[:, 0]], 3].sum()) for like in
                                 (RECEIVES, _SENDS, "Cancel"))  # fmt: skip
    every = np.maximum(np.sum([*left.values(), np.zeros(calls.ranks)], axis=0) - unknown, 0.0).sum()
    only_receives = not cancelled and received - sent >= (1 - COMPLETED) * every > 0
    if only_receives:
        others = [each for (_, number), each in left.items() if not is_receive[number]]
        unknown = np.maximum(unknown - np.sum([*others, np.zeros(calls.ranks)], axis=0), 0.0)
    for (place, number), each in left.items():
        surely = np.maximum(each - unknown, 0.0).astype(np.int64) * (is_receive[number] or not only_receives)
        enough = surely.max() >= LEAST_REQUESTS and surely.sum() >= (1 - COMPLETED) * count[site == place].sum()
        if place != NONE and enough:
            yield place, number, surely


OF_PROGRAM, OF_MPI = ("MPI_Win_create", "MPI_Win_create_dynamic"), ("MPI_Win_allocate", "MPI_Win_allocate_shared")
LEAST_CALLS = 100  # one-sided ones, on windows of the program's memory
MORE_THAN_DIRECT = 1.5  # times what they would take on memory that the processor reaches itself
DIRECT_S = 0.05e-6  # of a call that a processor does itself
DIRECT_S_PER_BYTE = 0.1e-9
UNLOCKS = 0.5  # of MPI_Win_unlock, that completes transfers, where no flush shows what that takes


def _created_windows(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """One-sided calls between ranks of a host on memory that MPI did not allocate, so that it may be out of reach."""
    called = {calls.names[call].removesuffix("_c") for call, *_ in calls.counted.tolist()}
    if called.isdisjoint(OF_PROGRAM) or not called.isdisjoint(OF_MPI):
        return
    hosts = {share.rank: share.host for share in calls.shares}
    host = np.array([hash(hosts.get(rank, "")) for rank in range(calls.ranks)])
    known = calls.is_one_sided & ~calls.is_collective & (calls.target >= 0) & (calls.target < calls.ranks)
    rows = np.flatnonzero(known & (calls.target != calls.rank) & ~calls.named("MPI_Win_lock"))
    rows = rows[host[calls.rank[rows]] == host[calls.target[rows]]]
    own_s = np.maximum(calls.own_s[rows] - calls.target_wait_s[rows], 0.0)
    direct_s = DIRECT_S + DIRECT_S_PER_BYTE * calls.bytes[rows].astype(float)
    if rows.size < LEAST_CALLS or own_s.sum() < MORE_THAN_DIRECT * direct_s.sum():
        return
    own_s = usual(own_s, calls.call[rows])
    is_unlock = calls.named("MPI_Win_unlock")[rows]
    flush_s = own_s[calls.named("MPI_Win_flush", "MPI_Win_flush_local")[rows]]
    completes_s = float(np.median(flush_s)) if flush_s.size else np.inf
    # An unlock completes transfers, as a flush does, and gives the lock back, which it does in any window.
    own_s = np.where(is_unlock, np.minimum(own_s * (1.0 if flush_s.size else UNLOCKS), completes_s), own_s)
    value = np.maximum(own_s - direct_s, 0.0)
    made = calls.counted[calls.name_is(*OF_PROGRAM)[calls.counted[:, 0]]]
    name = calls.names[int(np.bincount(made[:, 0], weights=made[:, 3]).argmax())]
    total = calls.stood_for(rows)
    sites = most(made[:, 1], made[:, 3].astype(float), 1) + most(calls.site[rows], own_s, 3)
    yield SeenPattern(
        name="window of memory that is not MPI's",
        sites=tuple(dict.fromkeys(sites)),
        count=total,
        text=f"{total:,} one-sided calls, most of the time in {calls.name_of(rows, own_s)}, on windows that "
        f"{name} made in {{place}}: ranks of one host may not reach that memory themselves",
        change="make the window by MPI_Win_allocate, and use the memory that it returns"
        + ", if its size is known then" * ("dynamic" in name),
        rows=rows,
        saved_s=no_ends(value),
    )


IN_BLOCKS = "a datatype of short blocks"
MOST_BLOCK_BYTES = 256  # of a datatype's stretches: longer ones are copied as fast as one
LEAST_BLOCKS, LEAST_IN_BLOCKS = 128, 16  # of a call, and calls of a place
LEAST_LOST_S = 2e-6  # beyond: a call takes some time for what is contiguous, too
CALL_S = 0.2e-6  # of a call that only copies within its process
S_PER_BLOCK = 2e-9  # that a loop takes which packs them
S_PER_PACKED_BYTE = 0.2e-9  # read and written once more: 5 GB/s
MORE_THAN_PACKED = 2.0  # times what packing by a loop and moving the bytes takes


def in_blocks(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Calls that move a datatype of many short stretches far slower than a loop packs them."""
    moved_bytes = _moved_bytes(calls)
    blocks = moved_bytes / np.maximum(np.nan_to_num(calls.block_bytes, nan=np.inf), 1.0)
    packed_s = CALL_S + S_PER_BLOCK * blocks + S_PER_PACKED_BYTE * moved_bytes
    # A rank without a processor does not pack: what it stood in the queue is no excess of its datatype.
    every_s = calls.own_s / calls.elapsed_ratio[calls.rank]
    reduces = named_like(calls, REDUCES)[calls.call]  # by an operation of its own: MPI-4.1, 6.9.2
    chosen = np.flatnonzero((blocks >= LEAST_BLOCKS) & (calls.block_bytes <= MOST_BLOCK_BYTES) & ~reduces)
    for _, rows in calls.by_site(chosen):
        own_s, call = every_s[rows], calls.call[rows]
        if rows.size < LEAST_IN_BLOCKS or float(np.median(own_s - MORE_THAN_PACKED * packed_s[rows])) < LEAST_LOST_S:
            continue
        size, each = float(np.median(moved_bytes[rows])), float(np.median(calls.block_bytes[rows]))
        took_s = float(np.median(own_s))
        value, low = (np.maximum(usual(own_s, call) - times * packed_s[rows], 0.0) for times in (1.0, 3.0))
        what = (
            f"in {{place}} move {format_bytes(round(size))} in blocks of {format_bytes(round(each))}: "
            f"{format_time(took_s)} a call, {format_time(took_s * each / size)} a block (medians)"
        )
        change = "copy the blocks into a contiguous buffer by a loop and pass that, or keep what is sent contiguous"
        saved_s = np.stack([value, low, np.maximum(usual(own_s, call) - CALL_S, value)], axis=1)
        yield at_place(calls, rows, IN_BLOCKS, what, change, saved_s)


def _moved_bytes(calls: ProgramCalls) -> Floats:
    """Of each call those of its own message, or of all that it completed; shape (n,)."""
    moved_bytes, messages = calls.bytes.astype(float), calls.messages
    for done, started in ((messages.left, messages.sent), (messages.arrived, messages.posted)):
        other = (done != NONE) & (done != started)
        np.add.at(moved_bytes, done[other], messages.bytes[other].astype(float))
    return moved_bytes


LEAST_CALLED_BACK = 0.1  # of the run
OF_OPERATION = 0.8  # that goes: some of the work is needed, and handing it over takes time


def _own_operations(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """By samples within calls; MPI_Reduce_local has no time of its own, and so Python's steps between calls at most."""
    back, (call, site, rank, count), spent_s = calls.called_back, calls.counted.T, calls.counted_s
    inside, local = named_like(calls, REDUCES)[calls.call[back.row]], named_like(calls, "Reduce_local")[call]
    steps = samples_in(calls, PYTHON) | samples_in(calls, OF_BINDING)
    steps_s = np.bincount(calls.rank[calls.sampled.row[steps]], calls.sampled.seconds[steps], calls.ranks)
    local_s = np.minimum(np.bincount(rank[local], spent_s[local], calls.ranks), steps_s)
    whole_s = float(back.seconds[inside].sum() + local_s.sum())
    if whole_s <= LEAST_CALLED_BACK * calls.span_s * calls.ranks:
        return
    is_python = local_s.any() or any(re.match(PYTHON, back.codes[code].object) for code in np.unique(back.code[inside]))
    code = None if is_python else back.longest(inside)[0][0]
    rows = np.flatnonzero(named_like(calls, REDUCES)[calls.call] & np.isin(calls.site, calls.site[back.row[inside]]))
    own_s = calls.own_s[rows]
    share = min(float(back.seconds[inside].sum() / max((own_s * calls.seconds_weight[rows]).sum(), 1e-12)), 1.0)
    places, each_s = (
        np.append(calls.site[back.row[inside]], site[local]),
        np.append(back.seconds[inside], spent_s[local]),
    )
    value_s = OF_OPERATION * float(local_s.max())
    yield SeenPattern(
        name="operations of the program's own",
        sites=most(places, each_s),
        count=calls.stood_for(rows) + int(count[local].sum()),
        text=f"{format_time(whole_s / calls.ranks)} a rank pass in {code.words if code else 'Python'}, which MPI calls "
        "for the reductions in {place}",
        change="make the operation cheaper, or use one of MPI's, and tell MPI_Op_create if it is commutative"
        if code
        else "let the operation work on whole arrays (numpy), or use one of MPI's, such as MPI_MINLOC",
        at=code.at if code else "",
        rows=rows,
        saved_s=no_ends(OF_OPERATION * share * own_s),
        more_s=(value_s, value_s, value_s),
    )


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Return what is slower than its kind, with what the slow calls share."""
    return [*_searches(calls), *_created_windows(calls), *in_blocks(calls), *_own_operations(calls)]


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(pattern=see, **page_of("SP080"))
