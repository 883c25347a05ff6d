# SPDX-License-Identifier: Apache-2.0
"""Which receive got which send, and which calls of a collective belong together.

What both sides of a message say of its length checks that (docs/internals/watch.md).

One clock for all hosts: no message arrives before it is sent.

A message from host A to host B says: B's clock at its arrival is at least A's at its sending plus the offset between
them. Messages both ways bound the offset from above and below, a line through the run is laid between the bounds, and
what they leave open is the error. A barrier is such a message from each of its ranks to each other.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.record.layout import NONE_32, EventKind

NO_EVENT = -1
NOT_NUMBERED = NONE_32  # sequence of a receive that another one, posted earlier for any source, may have overtaken
_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT = np.uint64(33)


@dataclass(frozen=True)
class SideEvents:
    """Messages as one side tells of them, shape (m,) each.

    reported     event that holds the stream, the number in it and the length: DONE of a request, else the call itself
    posted   event that started it: the blocking call, or the post of its request; NO_EVENT: not kept
    done     the call in which it completed; NO_EVENT: not kept
    """

    reported: Ints
    posted: Ints
    done: Ints

    def __len__(self) -> int:
        return int(self.reported.size)

    def take(self, rows: Ints | Bools) -> SideEvents:
        """These messages alone."""
        return SideEvents(self.reported[rows], self.posted[rows], self.done[rows])


@dataclass(frozen=True)
class Matched:
    """Messages by both sides.

    sends, receives: all recorded ones.  send, receive: shape (pairs,), rows of them that are one message.
    repeated: sends and receives that have the stream and number of another one, and are not matched.
    """

    sends: SideEvents
    receives: SideEvents
    send: Ints
    receive: Ints
    repeated: int


@dataclass(frozen=True)
class Collectives:
    """Calls of one collective each.

    event: shape (c,), calls, ordered by group.  group: shape (c,), 0 to groups - 1.  first: shape (groups + 1,), where
    each group begins in `event`.
    """

    event: Ints
    group: Ints
    first: Ints

    @property
    def groups(self) -> int:
        """How many there are."""
        return int(self.first.size) - 1


def matched(events: Events) -> Matched:
    """All recorded messages, and which of them are one."""
    sends, receives = _side(events, EventKind.SEND), _side(events, EventKind.RECEIVE)
    columns_s = _stream(events, sends, is_send=True)
    again = ~_once(hashed(_stream(events, receives, is_send=False)))
    receives = receives.take(~(again & events.has(EventKind.POST)[receives.reported]))  # without the cancelled
    columns_r = _stream(events, receives, is_send=False)
    key_s, key_r = hashed(columns_s), hashed(columns_r)
    numbered_s = events.sequence[sends.reported] != NOT_NUMBERED
    numbered_r = events.sequence[receives.reported] != NOT_NUMBERED
    once_s, once_r = _once(key_s) & numbered_s, _once(key_r) & numbered_r
    order = np.flatnonzero(once_s)[np.argsort(key_s[once_s], kind="stable")]
    candidates = np.flatnonzero(once_r)
    at = np.searchsorted(key_s[order], key_r[candidates])
    at[at == order.size] = 0
    hit = np.zeros(candidates.size, dtype=bool) if not order.size else key_s[order[at]] == key_r[candidates]
    send, receive = order[at[hit]], candidates[hit]
    same = np.logical_and.reduce([a[send] == b[receive] for a, b in zip(columns_s, columns_r, strict=True)])
    repeated = int((~once_s & numbered_s).sum() + (~once_r & numbered_r).sum())
    return Matched(sends, receives, send[same], receive[same], repeated)


def contradictions(events: Events, pairs: Matched) -> Bools:
    """Pairs whose lengths are not the same, shape (pairs,)."""
    sent = events.bytes[pairs.sends.reported[pairs.send]]
    arrived = events.bytes[pairs.receives.reported[pairs.receive]]
    differ: Bools = sent != arrived
    return differ


def _stream(events: Events, side: SideEvents, *, is_send: bool) -> tuple[NDArray[Any], ...]:
    mine, other = events.rank[side.reported], events.peer[side.reported]
    source, destination = (mine, other) if is_send else (other, mine)
    return (
        events.communicator[side.reported],
        source,
        destination,
        events.tag[side.reported],
        events.sequence[side.reported],
    )


def _side(events: Events, side: EventKind) -> SideEvents:
    """Every message of one side: blocking calls, completed requests, and posts whose completion was not kept."""
    of_side = events.has(side) & ~events.has(EventKind.COLLECTIVE | EventKind.CANCELLED | EventKind.NOTHING)
    of_side &= (events.communicator != 0) & ~events.has(EventKind.ONE_SIDED)
    is_done, is_post = of_side & events.has(EventKind.DONE), of_side & events.has(EventKind.POST)
    post_of_done, open_posts = posts_of(events, is_post, is_done)
    dones = np.flatnonzero(is_done)
    blocking = np.flatnonzero(of_side & ~is_done & ~is_post)
    known = open_posts[events.sequence[open_posts] != NOT_NUMBERED]
    reported = np.concatenate([blocking, dones, known])
    posted = np.concatenate([blocking, post_of_done, known])
    parents = parents_of(events)
    done = np.concatenate([parents[blocking], parents[dones], np.full(known.size, NO_EVENT, dtype=np.int64)])
    real = events.peer[reported] >= 0
    return SideEvents(reported, posted, done).take(real)


def posts_of(events: Events, is_post: Bools, is_done: Bools) -> tuple[Ints, Ints]:
    """Of each DONE, the last post of its request before it; and posts that no DONE follows.

    Returns: shape (dones,), NO_EVENT: the post was not kept; and events.
    """
    rows = np.flatnonzero(is_post | is_done)
    done = is_done[rows]
    when = np.where(done, events.end_s[rows], events.start_s[rows])
    order = np.lexsort((done, when, events.request[rows], events.record[rows]))
    rows, done = rows[order], done[order]
    same = np.zeros(rows.size, dtype=bool)
    same[1:] = (events.request[rows][1:] == events.request[rows][:-1]) & (
        events.record[rows][1:] == events.record[rows][:-1]
    )
    same &= events.request[rows] != 0
    follows = done & same
    follows[1:] &= ~done[:-1]
    post = np.full(len(events), NO_EVENT, dtype=np.int64)
    post[rows[follows]] = rows[np.flatnonzero(follows) - 1]
    is_open = ~done
    is_open[:-1] &= ~follows[1:]
    return post[np.flatnonzero(is_done)], rows[is_open]


def parents_of(events: Events) -> Ints:
    """The call whose time an event is in: itself, or for DONE and PART the call of the same thread and times.

    Returns: shape (n,), NO_EVENT: that call was not kept.
    """
    timed = events.is_timed
    order = np.lexsort((~timed, events.start_s, events.end_s, events.lane, events.record))
    ahead = np.where(timed[order], np.arange(order.size), -1)
    last = np.maximum.accumulate(ahead) if ahead.size else ahead
    at = order[np.maximum(last, 0)]
    same = last >= 0
    for column in (events.record, events.lane, events.start_s, events.end_s):
        same &= column[at] == column[order]
    parents = np.full(len(events), NO_EVENT, dtype=np.int64)
    parents[order] = np.where(same, at, NO_EVENT)
    parents[timed] = np.flatnonzero(timed)
    return parents


def collectives(events: Events, world: World) -> Collectives:
    """Calls with the same communicator and number; fences, and calls on files, with the same epoch and place, too.

    Groups whose calls are not one operation are left out.
    """
    is_fence = np.array([name.startswith(("MPI_Win_fence", "MPI_File_")) for name in world.calls], dtype=bool)
    fence = is_fence[events.call] & ~events.has(EventKind.COLLECTIVE) if is_fence.size else np.zeros(0, dtype=bool)
    chosen = (
        (events.has(EventKind.COLLECTIVE) | fence)
        & ~events.has(EventKind.DONE | EventKind.PART)
        & (events.communicator != 0)
    )
    rows = np.flatnonzero(chosen & (events.sequence != NOT_NUMBERED))
    place = _occurrence(events, rows, fence[rows])
    keys = (place, events.sequence[rows], fence[rows], events.communicator[rows])
    order = np.lexsort((events.rank[rows], *keys))
    rows = rows[order]
    new = np.ones(rows.size, dtype=bool)
    new[1:] = False
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    group = np.cumsum(new) - 1
    if not rows.size:
        return Collectives(rows, group, np.zeros(1, dtype=np.int64))
    bad = np.zeros(int(group[-1]) + 1, dtype=bool)
    names = [name.removesuffix("_c") for name in world.calls]  # a large-count form is the same operation
    operation = np.unique(names, return_inverse=True)[1][events.call[rows]]
    np.logical_or.at(bad, group, operation != operation[np.flatnonzero(new)][group])
    twice = np.zeros(rows.size, dtype=bool)
    twice[1:] = ~new[1:] & (events.rank[rows][1:] == events.rank[rows][:-1])
    np.logical_or.at(bad, group, twice)
    return grouped(rows[~bad[group]], group[~bad[group]])


def grouped(rows: Ints, group: Ints) -> Collectives:
    """Calls, ordered by group, with groups numbered anew."""
    if not rows.size:
        return Collectives(rows, rows, np.zeros(1, dtype=np.int64))
    _, number = np.unique(group, return_inverse=True)
    number = number.astype(np.int64)
    return Collectives(rows, number, np.append(0, np.cumsum(np.bincount(number))).astype(np.int64))


def _occurrence(events: Events, rows: Ints, fence: Bools) -> Ints:
    """Of fences on several windows of one communicator the how-manieth with this epoch on its rank; of others 0."""
    counts = np.zeros(rows.size, dtype=np.int64)
    at = np.flatnonzero(fence)
    at = at[np.argsort(events.start_s[rows[at]], kind="stable")]
    key = hashed(tuple(column[rows[at]] for column in (events.sequence, events.communicator, events.rank)))
    at, key = at[np.argsort(key, kind="stable")], np.sort(key)
    counts[at] = np.arange(at.size) - np.searchsorted(key, key)
    return counts


def hashed(columns: tuple[NDArray[Any], ...]) -> NDArray[np.uint64]:
    """One number of each row; equal rows have equal ones, others almost never."""
    mixed = np.zeros(columns[0].shape, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * _MIX[0]
        mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX[1]
        mixed ^= mixed >> _SHIFT
    return mixed


def _once(keys: NDArray[np.uint64]) -> Bools:
    _, number, count = np.unique(keys, return_inverse=True, return_counts=True)
    alone: Bools = count[number.reshape(-1)] == 1
    return alone


STRETCHES = 32  # of the run, in each of which the tightest bounds are taken
ERROR_STRETCHES = 0.9  # share of the stretches with bounds that the error covers, and the largest one beyond


@dataclass(frozen=True)
class Clocks:
    """What joining the hosts' clocks left open.

    error_s: shape (clocks, clocks), of one against another; inf: no messages tell.
    """

    error_s: Floats

    @property
    def largest_error_s(self) -> float:
        """inf: some hosts have no messages both ways."""
        return float(self.error_s.max(initial=0.0))


@dataclass(frozen=True)
class _Bounds:
    """Of clock b - clock a at moments of a, shape (stretches,); infinite where nothing tells."""

    at_s: Floats
    low_s: Floats
    high_s: Floats


@dataclass(frozen=True)
class _ClockLine:
    """clock b - clock a = offset_s + drift * time of a."""

    offset_s: float
    drift: float
    error_s: float


def joined(events: Events, world: World, pairs: Matched, barriers: Collectives) -> tuple[Events, Clocks]:
    """Events on the clock of the first host that has the most ranks, and the errors.

    Args: barriers: groups of calls of which none returns before all have begun.
    """
    clocks = world.origin_s.size
    if clocks <= 1:
        return events, Clocks(np.zeros((clocks, clocks)))
    clock = world.clock[events.record]
    sent, arrived, source, target = _crossings(events, clock, pairs, barriers)
    lines: dict[tuple[int, int], _ClockLine] = {}
    for a, b in {(int(min(s, t)), int(max(s, t))) for s, t in set(zip(source.tolist(), target.tolist(), strict=True))}:
        forth = (source == a) & (target == b)
        back = (source == b) & (target == a)
        line = _line(_bounds(sent[forth], arrived[forth], sent[back], arrived[back]))
        if line is not None:
            lines[a, b] = line
    reference = int(np.bincount(world.clock).argmax())
    offsets, errors = _spread(lines, reference, clocks)
    start = _on_reference(events.start_s, clock, offsets)
    end = np.maximum(_on_reference(events.end_s, clock, offsets), start)
    return replace(events, start_s=start, end_s=end), Clocks(errors)


def _crossings(events: Events, clock: Ints, pairs: Matched, barriers: Collectives) -> tuple[Floats, Floats, Ints, Ints]:
    """Sent, arrived, clock of either side: of messages between hosts, and of collectives that all wait for all in."""
    send, done = pairs.sends.posted[pairs.send], pairs.receives.done[pairs.receive]
    kept = (send != NO_EVENT) & (done != NO_EVENT)
    send, done = send[kept], done[kept]
    first, last = _barrier_edges(events, clock, barriers)
    early, late = np.concatenate([send, first]), np.concatenate([done, last])
    between = clock[early] != clock[late]
    early, late = early[between], late[between]
    return events.start_s[early], events.end_s[late], clock[early], clock[late]


def _barrier_edges(events: Events, clock: Ints, barriers: Collectives) -> tuple[Ints, Ints]:
    """Of each group and pair of hosts: who entered last on one, who left first on the other."""
    rows, group = barriers.event, barriers.group
    if not rows.size:
        return rows, rows
    clocks = int(clock.max()) + 1
    key = group * clocks + clock[rows]
    last = rows[_one_of_each(key, events.start_s[rows])]
    first_out = rows[_one_of_each(key, -events.end_s[rows])]
    numbers = np.unique(key)
    early, late = [], []
    for shift in range(1, clocks):
        partner = (numbers // clocks) * clocks + (numbers % clocks + shift) % clocks
        at = np.minimum(np.searchsorted(numbers, partner), numbers.size - 1)
        both = numbers[at] == partner
        early.append(last[both])
        late.append(first_out[at[both]])
    return np.concatenate([rows[:0], *early]), np.concatenate([rows[:0], *late])


def _one_of_each(key: Ints, value: Floats) -> Ints:
    order = np.lexsort((value, key))
    picked: Ints = order[np.append(key[order][1:] != key[order][:-1], True)]
    return picked


def _bounds(sent_a: Floats, arrived_b: Floats, sent_b: Floats, arrived_a: Floats) -> _Bounds:
    """Offset <= arrival at b - sending at a; offset >= sending at b - arrival at a."""
    times = np.concatenate([sent_a, arrived_a])
    edges = np.linspace(times.min(), times.max(), STRETCHES + 1) if times.size else np.zeros(STRETCHES + 1)
    low, high = np.full(STRETCHES, -np.inf), np.full(STRETCHES, np.inf)
    np.minimum.at(high, _stretch(edges, sent_a), arrived_b - sent_a)
    np.maximum.at(low, _stretch(edges, arrived_a), sent_b - arrived_a)
    return _Bounds((edges[1:] + edges[:-1]) / 2, low, high)


def _stretch(edges: Floats, times: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, times, side="right") - 1, 0, STRETCHES - 1)


def _line(bounds: _Bounds) -> _ClockLine | None:
    both = np.isfinite(bounds.low_s) & np.isfinite(bounds.high_s)
    if not both.any():
        most_s, least_s = float(bounds.low_s.max()), float(bounds.high_s.min())
        if not np.isfinite(most_s + least_s):
            return None
        return _ClockLine((most_s + least_s) / 2, 0.0, abs(least_s - most_s) / 2)
    at, low, high = bounds.at_s[both], bounds.low_s[both], bounds.high_s[both]
    middle, width = (low + high) / 2, np.maximum(np.abs(high - low) / 2, 1e-9)
    offset, drift = _fitted(at, middle, 1.0 / width**2)
    line = offset + drift * at
    error = np.sort(np.maximum(high - line, line - low))
    return _ClockLine(offset, drift, float(max(error[int(ERROR_STRETCHES * (error.size - 1))], 0.0)))


def _fitted(at: Floats, middle: Floats, weight: Floats) -> tuple[float, float]:
    """Weighted least squares; no drift from fewer than 4 stretches."""
    total = weight.sum()
    mean_at, mean = float((weight * at).sum() / total), float((weight * middle).sum() / total)
    spread = float((weight * (at - mean_at) ** 2).sum())
    if at.size < 4 or spread == 0:
        return mean, 0.0
    drift = float((weight * (at - mean_at) * (middle - mean)).sum()) / spread
    return mean - drift * mean_at, drift


def _spread(
    lines: dict[tuple[int, int], _ClockLine], reference: int, clocks: int
) -> tuple[dict[int, list[tuple[float, float]]], Floats]:
    """Of each clock the lines that lead to the reference, one after the other; errors add up along them."""
    paths: dict[int, list[tuple[float, float]]] = {reference: []}
    error_to = {reference: 0.0}
    waiting = deque([reference])
    while waiting:
        here = waiting.popleft()
        near = [(line.error_s, a, b, line) for (a, b), line in lines.items() if here in (a, b)]
        for error, a, b, line in sorted(near, key=lambda entry: entry[0]):
            there = b if here == a else a
            if there in paths:
                continue
            # Seconds of `there` to seconds of `here`.
            step = (line.offset_s, 1.0 + line.drift)
            if here == a:  # b = offset + (1 + drift) a, solved for a
                step = -step[0] / step[1], 1.0 / step[1]
            paths[there] = [step, *paths[here]]
            error_to[there] = error_to[here] + error
            waiting.append(there)
    errors = np.full((clocks, clocks), np.inf)
    for a, error_a in error_to.items():
        for b, error_b in error_to.items():
            errors[a, b] = error_a + error_b
    np.fill_diagonal(errors, 0.0)
    return paths, errors


def _on_reference(times: Floats, clock: Ints, paths: dict[int, list[tuple[float, float]]]) -> Floats:
    shifted = times.copy()
    for number, steps in paths.items():
        of_clock = clock == number
        for offset, factor in steps:
            shifted[of_clock] = offset + factor * shifted[of_clock]
    return shifted
