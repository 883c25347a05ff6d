# SPDX-License-Identifier: Apache-2.0
"""What a program would save, end to end: the order of its calls, replayed with cheaper messages. Pure.

Each thread is a chain of calls with computing between them. A call returns when it has moved its bytes, and it can
begin that only when it was entered and the calls that it depends on were entered, or had returned: the send of a
message that it receives, the receive of a message that it sends by rendezvous, the other ranks of a collective. What it
takes from then on is its transfer time. A replay keeps the computing between calls and the transfer times, but for what
a change takes off these, and lets the waits come out as they will.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


ENTRY, RETURN = 0, 1


@dataclass(frozen=True)
class CallOrder:
    """Calls of all threads, on one clock.

    chain      shape (n,): thread that made the call, and stretch of kept time: between two stretches nothing is known
    stretch    shape (n,): number of the stretch
    start_s, end_s   shape (n,): entry and return, seconds; calls of one chain do not overlap
    after      shape (m, 3): call, call of another chain without which it can't return, and what of that has to be past:
               ENTRY or RETURN
    done       shape (k, 2): call, and kind of a message that it moved
    before_wait   shape (w,): last calls of their chains, whose thread then waits in a call that is not among these
    meets      shape (n,): number of the collective without all of whose entries a call can't return, -1: none; empty:
               there are none. `after` has the last entry alone, which a change may make another one's
    """

    chain: Ints
    stretch: Ints
    start_s: Floats
    end_s: Floats
    after: Ints
    done: Ints
    before_wait: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    meets: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def calls(self) -> int:
        """How many there are."""
        return len(self.start_s)


@dataclass(frozen=True)
class KeptOrder:
    """What was kept of the program's order.

    order     `done` names messages, and not yet kinds
    pairs     shape (messages, 2): class of the sender's side and of the receiver's, -1: not recorded
    """

    order: CallOrder
    pairs: Ints


@dataclass(frozen=True)
class Replayed:
    """Shape (stretches, scenarios): what is saved of each stretch, seconds; and the stretches' measured spans.

    chains_s: shape (chains, scenarios), by how much sooner each chain's last call returns.
    error_ratio: of a replay that changes nothing, against the spans.
    """

    saved_s: Floats
    chains_s: Floats
    span_s: Floats
    error_ratio: float


def possible(order: CallOrder) -> CallOrder:
    """Without dependencies on what was past only after the dependent call had returned: errors of clocks or matching.

    A message may arrive before the call that sends it has returned: then its entry is what was waited for.
    Stretches are independent, so a dependency across two of them goes, too.
    """
    call, other = order.after[:, 0], order.after[:, 1]
    after = order.after.copy()
    after[dependency_moments(order) >= order.end_s[call], 2] = ENTRY
    fits = (dependency_moments(replace(order, after=after)) < order.end_s[call]) & (
        order.stretch[call] == order.stretch[other]
    )
    return replace(order, after=after[fits])


def transfers(order: CallOrder) -> Floats:
    """From the moment when nothing else was waited for to the return of each call, shape (n,), seconds, >= 0."""
    begun = order.start_s.copy()
    np.maximum.at(begun, order.after[:, 0], dependency_moments(order))
    return np.maximum(order.end_s - begun, 0.0)


def dependency_moments(order: CallOrder) -> Floats:
    """When each dependency was met, seconds."""
    other = order.after[:, 1]
    return np.where(order.after[:, 2] == RETURN, order.end_s[other], order.start_s[other])


@dataclass(frozen=True)
class Change:
    """What scenarios take off, shape (n, scenarios), seconds; and what none of them waits for.

    call_s: of the transfer of each call.  outside_s: of the computing before it; None: nothing.
    freed: shape (k, 2), calls, and calls for which they no longer wait; a call of a collective waits for none of it.
    """

    call_s: Floats
    outside_s: Floats | None = None
    freed: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))


def replay(order: CallOrder, change: Change) -> Replayed:
    """Every scenario at once.  Args: order: a possible one."""
    stretches = int(order.stretch.max()) + 1 if order.calls else 0
    by = np.lexsort((order.start_s, order.chain))
    last = by[np.flatnonzero(np.diff(order.chain[by], append=-1))]  # of each chain, in the order of their numbers
    measured, began = np.full(stretches, -np.inf), np.full(stretches, np.inf)
    np.maximum.at(measured, order.stretch, order.end_s)
    np.minimum.at(began, order.stretch, order.start_s)
    tail = measured[order.stretch[last]] - order.end_s[last]  # what each thread computes until the stretch ends
    tail[np.isin(last, order.before_wait)] = 0.0

    def all_past(ends: Floats) -> Floats:
        later = np.full((stretches, ends.shape[1]), -np.inf)
        np.maximum.at(later, order.stretch[last], ends + tail[:, None])
        return later

    nothing = Change(np.zeros((order.calls, 1)))
    if not len(change.freed):  # in one pass
        off = np.zeros_like(change.call_s) if change.outside_s is None else change.outside_s
        ends = _ends(order, Change(*(np.hstack([nothing.call_s, each]) for each in (change.call_s, off))), last)
        ends, sooner = ends[:, :1], ends[:, 1:]
    else:
        ends, sooner = _ends(order, nothing, last), _ends(order, change, last)
    as_is, spans = all_past(ends), measured - began
    off_s, total = float(np.abs(as_is[:, 0] - measured).sum()), float(spans.sum())
    return Replayed(as_is - all_past(sooner), ends - sooner, spans, off_s / total if total > 0 else 0.0)


def _ends(order: CallOrder, change: Change, last: Ints) -> Floats:
    """When the last call of each chain returns, shape (chains, scenarios).

    Calls that depend on nothing, that nothing depends on and that no scenario changes belong to the computing around
    them. The others are gone through in the order of their times: what is depended on is entered before the dependent
    call returns.
    """
    after, meets = order.after, order.meets if order.meets.size else np.full(order.calls, -1)
    if len(change.freed):
        pair, gone = (each[:, 0] * order.calls + each[:, 1] for each in (after, change.freed))
        after = after[~np.isin(pair, gone)]
    matters: Bools = np.any(change.call_s != 0, axis=1).reshape(-1) | (meets >= 0)
    if change.outside_s is not None:
        matters |= np.any(change.outside_s != 0, axis=1).reshape(-1)
    matters[order.after[:, :2].ravel()] = True
    matters[last] = True
    kept = np.flatnonzero(matters)
    kept = kept[np.lexsort((order.start_s[kept], order.chain[kept]))]
    place = np.full(order.calls, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    start_s, end_s, chain = order.start_s[kept], order.end_s[kept], order.chain[kept]
    is_first = np.diff(chain, prepend=-1) != 0
    gap_s = np.where(is_first, start_s, start_s - np.roll(end_s, 1))[:, None]
    if change.outside_s is not None:
        gap_s = np.maximum(gap_s - change.outside_s[kept], np.minimum(gap_s, 0.0))
    gap_s = np.broadcast_to(gap_s, (len(kept), change.call_s.shape[1]))
    transfer_s = np.maximum(transfers(order)[kept, None] - change.call_s[kept], 0.0)
    count = len(kept)
    needed: dict[int, list[int]] = {}
    for call, moment in zip(place[after[:, 0]], place[after[:, 1]] + count * after[:, 2], strict=True):
        needed.setdefault(int(call), []).append(int(moment))
    turn = 2 * np.arange(count)  # of one moment, a chain's entries and returns in their order
    moments = np.lexsort((np.concatenate([turn, turn + 1]), np.concatenate([start_s, end_s])))
    past = np.zeros((2 * count, transfer_s.shape[1]))  # entries, then returns
    met = np.full((int(meets.max(initial=-1)) + 1, transfer_s.shape[1]), -np.inf)
    first, entered = is_first.tolist(), meets[kept].tolist()
    waits_for = np.where(np.isin(kept, change.freed[:, 0]), -1, meets[kept]).tolist()
    for moment in moments.tolist():
        if moment < count:
            past[moment] = gap_s[moment] if first[moment] else past[count + moment - 1] + gap_s[moment]
            if entered[moment] >= 0:
                met[entered[moment]] = np.maximum(met[entered[moment]], past[moment])
            continue
        call = moment - count
        begun = past[call] if waits_for[call] < 0 else met[waits_for[call]]
        for other in needed.get(call, ()):
            begun = np.maximum(begun, past[other])
        past[moment] = begun + transfer_s[call]
    return past[count + place[last]]


MOST_CALLS: Final = 200_000  # that are replayed: more are sampled, in slices of time
MOST_ERROR: Final = 0.10  # of a replay that changes nothing; above it, nothing is predicted
_SLICES: Final = 50


def sampled(order: CallOrder, most: int = MOST_CALLS, slices: int = _SLICES) -> CallOrder:
    """At most about so many calls: slices, evenly over all calls in their order, each a stretch of its own.

    A cut that falls into a call leaves that call out; what it depends on goes with it.
    """
    if order.calls <= most:
        return order
    start_s = np.sort(order.start_s)
    first = np.arange(slices) * order.calls // slices
    part = np.maximum(np.searchsorted(start_s[first], order.start_s, side="right") - 1, 0)
    until_s = start_s[first + most // slices]
    return only(order, order.end_s <= until_s[part], part)


def only(order: CallOrder, keep: Bools, part: Ints) -> CallOrder:
    """These calls. Args: keep, part: shape (n,); each part of a stretch is a stretch of its own."""
    kept = np.flatnonzero(keep)
    place = np.full(order.calls, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    _, stretch = np.unique(np.stack([order.stretch[kept], part[kept]]), axis=1, return_inverse=True)
    _, chain = np.unique(np.stack([order.chain[kept], part[kept]]), axis=1, return_inverse=True)
    after = np.hstack([place[order.after[:, :2]], order.after[:, 2:]])
    done = order.done[place[order.done[:, 0]] >= 0]
    before_wait = place[order.before_wait]
    return possible(
        replace(
            order,
            chain=chain.reshape(-1),
            stretch=stretch.reshape(-1),
            start_s=order.start_s[kept],
            end_s=order.end_s[kept],
            after=after[(after >= 0).all(axis=1)],
            done=np.stack([place[done[:, 0]], done[:, 1]], axis=1),
            before_wait=before_wait[before_wait >= 0],
            meets=order.meets[kept] if order.meets.size else order.meets,
        )
    )
