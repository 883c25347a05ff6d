# SPDX-License-Identifier: Apache-2.0
"""Short sends that wait for room, because their receiver does not take what was sent before. Pure.

A library sends a short message at once, into memory that it has for so many (eager buffers, cells of a queue in shared
memory). Where that is full, the next send waits until the receiver's library takes some out. So a sender waits for a
receiver that searches or computes, though its messages need no receive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowpath.findings.program_pattern import NONE, Bools, Floats, Ints, ProgramCalls
from slowpath.findings.program_resources import crowds

FASTEST = 5.0  # percentile that stands for a send with room
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
    send_s = float(np.percentile(own_s, FASTEST))
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
