# SPDX-License-Identifier: Apache-2.0
"""SP080: calls that take longer than others of their kind, and what the slow ones share."""

from __future__ import annotations

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

DEEP = 256  # messages that came before, and that a receive passes over
SHALLOW = 16
LEAST = 100  # receives that pass over so many
FASTEST = 5.0  # percentile that stands for a short search where windows of time are missing
LONGER = 1.3  # times what the same call takes where it passes over few


@dataclass(frozen=True)
class _Early:
    """Messages that were there before their receive, shape (m,): row of the receive, how many waited with it, and how
    many of these had come before it, so that a search from the queue's beginning passes over them.
    """

    row: Ints
    depth: Ints
    passed: Ints
    rank: Ints


@dataclass(frozen=True)
class Search:
    """Receives of a place that search. base_s: what one takes that does not.  past: words for what they pass over."""

    rows: Ints
    base_s: float
    past: str


def searching(calls: ProgramCalls) -> list[Search]:
    """Of each place: by messages that were there before, or by times that fall with the queue."""
    early = _early(calls)
    deep = early.passed >= DEEP
    alike, _ = grouped(calls.call[early.row], calls.site[early.row])
    searches = []
    for kind in np.unique(alike[deep]).tolist():
        here = np.flatnonzero(alike == kind)
        base_s = _base_s(calls, early, here)
        slow = here[early.passed[here] >= DEEP]
        if np.unique(early.row[slow]).size < LEAST:
            continue
        longer = float(np.median(calls.own_s[early.row[slow]])) >= LONGER * base_s
        if longer and grows(calls.own_s[early.row[here]], early.passed[here]):
            mine = here[early.passed[here] > SHALLOW]
            worst = mine[early.passed[mine].argmax()]
            past = f"past up to {early.passed[worst]:,} earlier ones that waited on rank {early.rank[worst]}"
            searches.append(Search(np.unique(early.row[mine]), base_s, past))
    return searches + _falling(calls, [int(calls.site[search.rows[0]]) for search in searches])


BLOCK, BLOCKS = 16, 4  # receives in a row that stand for one time, and such blocks of a row at least
FALLS = 0.8  # of the rows, whose last quarter is faster than the first
RANGE = 4.0  # times as long as the fastest tenth of all blocks the slowest tenth takes


def _falling(calls: ProgramCalls, known: Sequence[int]) -> list[Search]:
    """Where the sends of what is received were not kept: short receives in a row, during which their source sends
    nothing, so that all messages are there; and each row gets faster, as a queue does that shrinks.
    """
    if calls.target is None:
        return []
    receives = calls.named("MPI_Recv") & (calls.bytes <= calls.eager_bytes) & ~np.isin(calls.site, known)
    receives &= _sends_nothing(calls, np.flatnonzero(receives & (calls.target >= 0)))
    early = _early(calls)
    in_order = calls.site[early.row[early.passed == 0]]
    searches = []
    for place, rows in calls.by_site(np.flatnonzero(receives)):
        if rows.size < LEAST or (in_order == place).sum() >= LEAST:
            continue
        ends = np.flatnonzero((np.diff(rows) > 1) | (np.diff(calls.thread[rows]) != 0)) + 1
        long = [row for row in np.split(rows, ends) if row.size >= BLOCK * BLOCKS]
        medians = [np.median(calls.own_s[row[: row.size // BLOCK * BLOCK]].reshape(-1, BLOCK), axis=1) for row in long]
        falls = [np.median(each[: each.size // 4]) > np.median(each[-(each.size // 4) :]) for each in medians]
        if not falls or np.mean(falls) < FALLS:
            continue
        fast_s, slow_s = np.percentile(np.concatenate(medians), [10, 90])
        if slow_s >= RANGE * fast_s:
            base_s = float(np.percentile(calls.own_s[rows], FASTEST))
            searches.append(Search(rows, base_s, "and take less time the fewer are left, as a search of them does"))
    return searches


def _sends_nothing(calls: ProgramCalls, receives: Ints) -> Bools:
    """Which of these receives have a source that is in no call which sends meanwhile, shape (n,)."""
    assert calls.target is not None
    sends = np.zeros(len(calls), dtype=bool)
    sends[calls.messages.sent[calls.messages.sent != NONE]] = True
    quiet = np.zeros(len(calls), dtype=bool)
    for source in np.unique(calls.target[receives]).tolist():
        theirs = np.flatnonzero(sends & (calls.rank == source))
        theirs = theirs[np.argsort(calls.start_s[theirs], kind="stable")]
        mine = receives[calls.target[receives] == source]
        last = np.searchsorted(calls.start_s[theirs], calls.end_s[mine]) - 1
        ended_s = np.append(np.maximum.accumulate(calls.end_s[theirs]), -np.inf)
        quiet[mine] = ended_s[last] < calls.start_s[mine]
    return quiet


def grows(own_s: Floats, passed: Ints) -> bool:
    """Whether receives that pass over most take longer than those that pass over fewest.

    The fastest twentieth is fast by chance as well: Intel MPI 2021.18 finds a message at once wherever it stands.
    """
    low, high = np.percentile(passed, [25, 75])
    return bool(np.median(own_s[passed >= high]) >= LONGER * np.median(own_s[passed <= low]))


def _base_s(calls: ProgramCalls, early: _Early, here: Ints) -> float:
    """What such a receive takes that passes over few."""
    own_s = calls.own_s[early.row[here]]
    few = early.passed[here] <= SHALLOW
    if few.sum() >= SHALLOW and (calls.weight[early.row[here]] <= 1.0).all():
        return float(np.median(own_s[few]))
    return float(np.percentile(own_s, FASTEST))  # of thinned records what was passed over is the least that it was


def _early(calls: ProgramCalls) -> _Early:
    messages = calls.messages
    sent_s, post_s = calls.end_s[messages.sent], calls.start_s[messages.posted]
    is_there = messages.early | ((messages.bytes <= calls.eager_bytes) & (sent_s < post_s))
    usable = np.flatnonzero(is_there & (messages.posted != NONE) & (messages.sent != NONE))
    row = messages.posted[usable]
    depth, passed = np.zeros((2, usable.size), dtype=np.int64)
    came_s, taken_s = sent_s[usable], post_s[usable]
    for rank in np.unique(messages.destination[usable]).tolist():
        here = np.flatnonzero(messages.destination[usable] == rank)
        came, taken = np.sort(came_s[here]), np.sort(taken_s[here])
        at = taken_s[here]
        depth[here] = np.searchsorted(came, at, side="left") - np.searchsorted(taken, at, side="left")
        in_turn = here[np.lexsort((row[here], came_s[here]))]
        passed[in_turn] = _later_before(np.argsort(np.argsort(taken_s[in_turn], kind="stable"), kind="stable"))
    return _Early(row, depth, passed, messages.destination[usable])


def _later_before(turn: Ints) -> Ints:
    """Of each element of a permutation how many larger ones stand before it: counted digit by digit, from the top."""
    found = np.zeros(turn.size, dtype=np.int64)
    order = np.arange(turn.size)  # places, by the digits so far and then as they stand
    for bit in reversed(range(int(turn.size).bit_length())):
        block, has = turn[order] >> (bit + 1), (turn[order] >> bit & 1).astype(np.int64)
        ones = np.cumsum(has) - has
        first = np.concatenate([[True], block[1:] != block[:-1]]) if turn.size else has.astype(bool)
        before = ones - np.maximum.accumulate(np.where(first, ones, 0))
        found[order] += np.where(has == 0, before, 0)
        order = order[np.lexsort((has, block))]
    return found


def _searches(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Receives that take longer the more messages they pass over: in the order of sending they pass over none."""
    for search in searching(calls):
        rows, base_s = search.rows, search.base_s
        own_s, call = calls.own_s[rows], calls.call[rows]
        value = np.maximum(unhindered(calls, rows) - base_s, 0.0)
        ends = [value, np.minimum(usual(own_s, call, 1.0) - 2 * base_s, value), usual(own_s, call, 9.0) - 0.5 * base_s]
        saved_s = np.maximum(np.stack(ends, axis=1), 0.0)
        # Receives at that place whose send was not kept are as those whose send was.
        there = np.flatnonzero((calls.call == call[0]) & (calls.site == calls.site[rows[0]]))
        is_known = np.isin(there, calls.messages.posted) | np.isin(there, rows)
        unknown = there[~is_known]
        spare_s = np.minimum(saved_s.sum(axis=0) / is_known.sum(), calls.own_s[unknown][:, None])
        count = calls.stood_for(np.concatenate([rows, unknown]))
        yield SeenPattern(
            name="receives search a long queue",
            sites=most(calls.site[rows], own_s),
            count=count,
            text=f"{count:,} {calls.names[int(call[0])]} in {{place}} took messages that had already arrived, "
            f"{search.past}",
            change="receive in the order of sending, post the receives before the messages arrive (MPI_Irecv), or "
            "let the sender wait for the receiver at times",
            basis="these receives' time beyond that of receives that pass over few messages",
            rows=np.concatenate([rows, unknown]),
            saved_s=np.concatenate([saved_s, spare_s]),
        )


OTHER_WINDOWS = ("MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create_dynamic")
LEAST_CALLS = 100  # one-sided ones, on windows that MPI_Win_create made
MORE_THAN_DIRECT = 1.5  # times what they would take on memory that the processor reaches itself
DIRECT_S = 0.05e-6  # of a call that a processor does itself
DIRECT_S_PER_BYTE = 0.1e-9
UNLOCKS = 0.5  # of MPI_Win_unlock, that completes transfers, where no flush shows what that takes
SLIGHT = 0.5  # of what can be saved, where a library does little else for memory of its own


def _created_windows(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """One-sided calls between ranks of a host on memory that MPI did not allocate, so that it may be out of reach."""
    many = {name: _counted(calls, name) for name in ("MPI_Win_create", *OTHER_WINDOWS)}
    if not many["MPI_Win_create"] or any(many[name] for name in OTHER_WINDOWS) or calls.target is None:
        return
    hosts = {} if calls.resources is None else {share.rank: share.host for share in calls.resources.ranks}
    host = np.array([hash(hosts.get(rank, "")) for rank in range(calls.ranks)])
    known = calls.is_one_sided & ~calls.is_collective & (calls.target >= 0) & (calls.target < calls.ranks)
    rows = np.flatnonzero(known & (calls.target != calls.rank) & ~calls.named("MPI_Win_lock"))
    rows = rows[host[calls.rank[rows]] == host[calls.target[rows]]]
    late_s = 0.0 if calls.target_wait_s is None else calls.target_wait_s[rows]
    own_s = np.maximum(calls.own_s[rows] - late_s, 0.0)
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
    made = calls.counted[calls.name_is("MPI_Win_create")[calls.counted[:, 0]]]
    by_call = np.bincount(calls.call[rows], weights=own_s)
    total = calls.stood_for(rows)
    sites = most(made[:, 1], made[:, 3].astype(float), 1) + most(calls.site[rows], own_s, 3)
    yield SeenPattern(
        name="window of memory that is not MPI's",
        sites=tuple(dict.fromkeys(sites)),
        count=total,
        text=f"{total:,} one-sided calls, most of the time in {calls.names[int(by_call.argmax())]}, on windows that "
        "MPI_Win_create made in {place}: ranks of one host may not reach that memory themselves",
        change="make the window by MPI_Win_allocate, and use the memory that it returns",
        basis="what transfers, flushes, and as much of MPI_Win_unlock take beyond 0.05 us each and 10 GB/s; it depends "
        "on the library and was not measured here: low: half; high: MPI_Win_lock less, too",
        rows=rows,
        saved_s=np.stack([value, SLIGHT * value, MORE_THAN_DIRECT * value], axis=1),
    )


IN_BLOCKS = "a datatype of short blocks"
MOST_BLOCK_BYTES = 256  # of a datatype's stretches: longer ones are copied as fast as one
LEAST_BLOCKS = 128  # of a call
LEAST_LOST_S = 2e-6  # beyond: a call takes some time for what is contiguous, too
PACKING_S = 0.2e-6  # of a call that packs
S_PER_BLOCK = 2e-9  # that a loop takes which packs them
S_PER_PACKED_BYTE = 0.2e-9  # read and written once more: 5 GB/s
MORE_THAN_PACKED = 2.0  # times what packing by a loop and moving the bytes takes


def in_blocks(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Calls that move a datatype of many short stretches far slower than a loop packs them."""
    if calls.block_bytes is None:
        return
    moved_bytes = _moved_bytes(calls)
    blocks = moved_bytes / np.maximum(np.nan_to_num(calls.block_bytes, nan=np.inf), 1.0)
    packed_s = PACKING_S + S_PER_BLOCK * blocks + S_PER_PACKED_BYTE * moved_bytes
    # A rank without a processor does not pack: what it stood in the queue is no excess of its datatype.
    ratio = {share.rank: share.elapsed_ratio for share in (calls.resources.ranks if calls.resources else ())}
    every_s = calls.own_s / np.array([ratio.get(rank, 1.0) for rank in range(calls.ranks)])[calls.rank]
    chosen = np.flatnonzero((blocks >= LEAST_BLOCKS) & (calls.block_bytes <= MOST_BLOCK_BYTES))
    for place, rows in calls.by_site(chosen):
        own_s, call = every_s[rows], calls.call[rows]
        if rows.size < SHALLOW or float(np.median(own_s - MORE_THAN_PACKED * packed_s[rows])) < LEAST_LOST_S:
            continue
        size, each = float(np.median(moved_bytes[rows])), float(np.median(calls.block_bytes[rows]))
        took_s, name = float(np.median(own_s)), calls.name_of(rows)
        block_s = took_s * each / size
        value, low = (np.maximum(usual(own_s, call) - times * packed_s[rows], 0.0) for times in (1.0, 3.0))
        total = calls.stood_for(rows)
        yield SeenPattern(
            name=IN_BLOCKS,
            sites=(place,),
            count=total,
            text=f"{total:,} {name} in {{place}} move {format_bytes(round(size))} "
            f"in blocks of {format_bytes(round(each))}: {format_time(took_s)} a call, {format_time(block_s)} "
            "a block (medians)",
            change="copy the blocks into a contiguous buffer by a loop and pass that, or keep what is sent contiguous",
            basis="what these calls take on a processor beyond a loop that packs, at 2 ns a block and 0.2 ns a byte; "
            "low: at three times that; high: contiguous data",
            rows=rows,
            saved_s=np.stack([value, low, np.maximum(usual(own_s, call) - PACKING_S, value)], axis=1),
        )


def _moved_bytes(calls: ProgramCalls) -> Floats:
    """Of each call those of its own message, or of all that it completed; shape (n,)."""
    moved_bytes, messages = calls.bytes.astype(float), calls.messages
    for done, started in ((messages.left, messages.sent), (messages.arrived, messages.posted)):
        other = (done != NONE) & (done != started)
        np.add.at(moved_bytes, done[other], messages.bytes[other].astype(float))
    return moved_bytes


def _counted(calls: ProgramCalls, name: str) -> int:
    here = calls.name_is(name)[calls.counted[:, 0]] if len(calls.counted) else np.zeros(0, dtype=bool)
    return int(calls.counted[here, 3].sum())


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Return what is slower than its kind, with what the slow calls share."""
    return [*_searches(calls), *_created_windows(calls), *in_blocks(calls)]


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP080",
    name="slower than its kind",
    title="Calls take longer than others of their kind, for a reason that they share",
    summary="Calls of one kind and length take longer where a receive searches a long queue of earlier messages, where "
    "other ranks can't access a window's memory directly, or where a datatype has many short blocks.",
    needs="A watched program. Receives: a hundred or more at one place pass over 256 messages or more, and take 1.3 "
    "times as long as those there that pass over few. Windows: all were made by MPI_Win_create, and a hundred "
    "one-sided calls or more between ranks of one host take longer than a processor would itself. Datatypes: 128 "
    "blocks or more of at most 256 B, moved in twice the time that a loop needs which packs them, and 2 us.",
    remedy="Post receives early or receive in the order of sending; let MPI allocate the memory of windows; "
    "pack by a loop.",
    cause="What the slow calls share makes the library do more.",
    needs_law=False,
    kind="property",
    pattern=see,
)
