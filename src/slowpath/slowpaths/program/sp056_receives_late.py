# SPDX-License-Identifier: Apache-2.0
"""SP056: receives that search hundreds of messages which came before them, in another order than they were sent.

A library sends a short message at once, into memory that it has for so many (eager buffers, cells of a queue in shared
memory). Where that is full, the next send waits until the receiver's library takes some out. So a sender waits for a
receiver that searches or computes, though its messages need no receive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.units import format_time
from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    crowds,
    grouped,
    most,
    usual,
)

FASTEST_SEND = 5.0  # percentile that stands for a send with room
USUAL = 3.0  # times the usual wait: longer is a rank without a core, unless the receiver was seen to be busy


@dataclass(frozen=True)
class NoRoom:
    """Sends, rows of ProgramCalls, and what each would take less: value, low and high end, shape (rows, 3)."""

    rows: Ints
    saved_s: Floats


def sends_without_room(calls: ProgramCalls, taking: Ints, receive_s: float) -> NoRoom:
    """Blocking sends of the messages that certain receives take.

    Args: taking: rows of these receives.  receive_s: what such a receive takes at least.
    Where messages are received in time, each takes a send with room and such a receive, one after the other; in the
    high end the longer of both, as they go at once. The low end has what the sender waited while the receiver was in
    these receives, and nothing else: the library's own copies may be what it waited for at other times.
    """
    nothing = NoRoom(np.zeros(0, dtype=np.int64), np.zeros((0, 3)))
    if calls.resources is not None and crowds(calls.resources.ranks):
        return nothing  # a send is long where its rank has no core
    messages = calls.messages
    sends = (messages.sent != NONE) & (messages.sent == messages.left)
    taken = sends & np.isin(messages.posted, taking)
    chosen = np.flatnonzero(sends & _alike(calls, taken))
    if not chosen.size:
        return nothing
    rows, first = np.unique(messages.sent[chosen], return_index=True)
    own_s = calls.own_s[rows]
    send_s = float(np.percentile(own_s, FASTEST_SEND))
    next_s = np.append(calls.start_s[1:], np.inf)
    follows = np.append(calls.thread[1:] == calls.thread[:-1], False)
    ended_s = np.where(follows, next_s, calls.end_s)
    to = messages.destination[chosen][first]
    busy_s = np.minimum(_within(calls, rows, to, taking, ended_s), own_s)
    searched_s = np.minimum(_within(calls, rows, to, taking, calls.end_s), busy_s)
    rest_s = own_s - busy_s
    known_s = busy_s + np.minimum(rest_s, USUAL * _usual_wait_s(rest_s))
    value = _longer(known_s, send_s + receive_s)
    low = np.minimum(_longer(searched_s, send_s + receive_s), value)
    return NoRoom(rows, np.stack([value, low, _longer(own_s, max(send_s, receive_s))], axis=1))


def _usual_wait_s(waited_s: Floats) -> float:
    """The wait up to which half of all waiting time is: one send waits for as many as there is room for, and those
    behind it go at once, so that the median wait is none.
    """
    in_order = np.sort(waited_s)
    past_s = np.cumsum(in_order)
    return float(in_order[np.searchsorted(past_s, 0.5 * past_s[-1])])


def _alike(calls: ProgramCalls, among: Bools) -> Bools:
    """Messages that leave a place for a rank as any of these do, whose own receive may not have been kept."""
    messages = calls.messages
    place = np.where(messages.sent != NONE, calls.site[messages.sent], NONE)
    key = place * (int(messages.destination.max(initial=0)) + 1) + messages.destination
    found: Bools = np.isin(key, key[among]) & (place != NONE)
    return found


def _within(calls: ProgramCalls, rows: Ints, to: Ints, taking: Ints, ended_s: Floats) -> Floats:
    """How much of each send lies in the receives of its receiver. Args: to: rank of it.  ended_s: of each call."""
    found = np.zeros(rows.size)
    for rank in np.unique(to).tolist():
        mine, there = np.flatnonzero(to == rank), taking[calls.rank[taking] == rank]
        if not there.size:
            continue
        there = there[np.argsort(calls.start_s[there], kind="stable")]
        edges = np.maximum.accumulate(np.stack([calls.start_s[there], ended_s[there]], axis=1).ravel())
        spent = np.cumsum(np.diff(edges, prepend=edges[0]) * (np.arange(edges.size) % 2))
        sends = rows[mine]
        until, since = (np.interp(at[sends], edges, spent) for at in (calls.end_s, calls.start_s))
        found[mine] = until - since
    return found


def _longer(own_s: Floats, each_s: float) -> Floats:
    """By how much these calls exceed what they would take: together, and each in proportion to what it exceeds."""
    each = np.maximum(own_s - each_s, 0.0)
    whole = float(each.sum())
    found: Floats = each * (max(float(own_s.sum()) - own_s.size * each_s, 0.0) / whole if whole > 0 else 0.0)
    return found


DEEP = 256  # messages that came before, and that a receive passes over
SHALLOW = 16
LEAST = 100  # receives that pass over so many
FASTEST = 5.0  # percentile that stands for a short search where windows of time are missing
LONGER = 1.3  # times what the same call takes where it passes over few
LEAST_WAITING = 0.01  # of the run, that senders wait for room
BASIS_OF_SENDS = (
    ", and the sends' time beyond a send with room plus a short receive; low: only while the receiver searched; "
    "high: the sends' time beyond the longer of these two"
)


@dataclass(frozen=True)
class _Early:
    """Messages that were there before their receive, shape (m,): row of the receive, how many waited with it, and how
    many of these had come before it, so that a search from the queue's beginning passes over them.
    """

    row: Ints
    depth: Ints
    passed: Ints
    rank: Ints


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Receives that take longer the more messages they pass over: in the order of sending they pass over none."""
    early = _early(calls)
    deep = early.passed >= DEEP
    site = calls.site[early.row]
    alike, _ = grouped(calls.call[early.row], site)
    found = []
    for kind in np.unique(alike[deep]).tolist():
        here = np.flatnonzero(alike == kind)
        base_s = _base_s(calls, early, here)
        slow = here[early.passed[here] >= DEEP]
        if np.unique(early.row[slow]).size < LEAST:
            continue
        longer = float(np.median(calls.own_s[early.row[slow]])) >= LONGER * base_s
        if longer and grows(calls.own_s[early.row[here]], early.passed[here]):
            found.append(_pattern(calls, early, here, base_s))
    return found


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
    usable = np.flatnonzero(messages.early & (messages.posted != NONE) & (messages.left != NONE))
    row = messages.posted[usable]
    depth, passed = np.zeros((2, usable.size), dtype=np.int64)
    came_s, taken_s = calls.end_s[messages.left[usable]], calls.start_s[row]
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


def _pattern(calls: ProgramCalls, early: _Early, here: Ints, base_s: float) -> SeenPattern:
    mine = here[early.passed[here] > SHALLOW]
    rows = np.unique(early.row[mine])
    own_s, call = calls.own_s[rows], calls.call[rows]
    value = np.maximum(usual(own_s, call) - base_s, 0.0)
    ends = [value, np.minimum(usual(own_s, call, 1.0) - 2 * base_s, value), own_s - base_s]
    saved_s = np.maximum(np.stack(ends, axis=1), 0.0)
    # Receives at that place whose send was not kept are as those whose send was.
    there = np.flatnonzero((calls.call == call[0]) & (calls.site == calls.site[rows[0]]))
    is_known = np.isin(there, calls.messages.posted)
    unknown = there[~is_known]
    usual_s = saved_s.sum(axis=0) / is_known.sum()
    spare_s = np.minimum(usual_s, calls.own_s[unknown][:, None])
    most_passed = int(early.passed[mine].max())
    rank = int(early.rank[mine][early.passed[mine].argmax()])
    sends = sends_without_room(calls, there, base_s)
    waits_s = float((sends.saved_s[:, 0] * calls.seconds_weight[sends.rows]).sum())
    has_waits = waits_s >= LEAST_WAITING * calls.span_s
    if not has_waits:
        sends = NoRoom(sends.rows[:0], sends.saved_s[:0])
    sites = most(calls.site[rows], own_s)
    count = calls.stood_for(np.concatenate([rows, unknown]))
    waiting = f"; the sends in {{other}} waited {format_time(waits_s)} for room" if has_waits else ""
    return SeenPattern(
        sites=sites + tuple(site for site in most(calls.site[sends.rows], sends.saved_s[:, 0]) if site not in sites),
        count=count,
        text=f"{count:,} {calls.names[int(call[0])]} in {{place}} took messages that had already arrived, past up "
        f"to {most_passed:,} earlier ones that waited on rank {rank}{waiting}",
        change="post the receives before the messages arrive (MPI_Irecv), receive them in the order of sending, or "
        "let the sender wait for the receiver at times",
        basis="these receives' time beyond that of receives that pass over few messages"
        + (BASIS_OF_SENDS if has_waits else ""),
        rows=np.concatenate([rows, unknown, sends.rows]),
        saved_s=np.concatenate([saved_s, spare_s, sends.saved_s]),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP056",
    name="receives posted late",
    title="Receives are posted when hundreds of messages have come, and search them",
    what="Messages that no receive waits for are kept in a queue that most libraries search from its beginning.",
    needs="A watched program: a hundred receives or more at one place pass over 256 messages or more, and take 1.3 "
    "times as long as those there that pass over few.",
    remedy="Post receives early, receive in the order of sending, use fewer and longer messages, or let the sender "
    "wait.",
    cause="Each receive searches the messages that came before it.",
    needs_law=False,
    kind="property",
    pattern=see,
)
