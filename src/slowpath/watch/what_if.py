# SPDX-License-Identifier: Apache-2.0
"""What a program would save, end to end: the order of its calls, replayed with cheaper messages. Pure.

Each thread is a chain of calls with computing between them. A call returns when it has moved its bytes, and it can
begin that only when it was entered and the calls that it depends on were entered, or had returned: the send of a
message that it receives, the receive of a message that it sends by rendezvous, the other ranks of a collective. What it
takes from then on is its transfer time. A replay keeps the computing between calls and the transfer times, but for what
a change takes off these, and lets the waits come out as they will.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from slowpath.core.result import Interval

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

    error_ratio: of a replay that changes nothing, against the spans.
    """

    saved_s: Floats
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


def savings(order: CallOrder, transfer_s: Floats, price_s: Floats, as_is_s: Floats) -> Floats:
    """What each scenario takes off each call, shape (n, scenarios), seconds.

    The price of the messages that the call moved, but no larger share of its own transfer time than of theirs: where
    a call takes less than its messages would one by one, as when they go at once, it saves less.

    Args: price_s: shape (kinds, scenarios), negative: dearer.  as_is_s: shape (kinds,), the whole message in the cell
          that priced it; NaN: not known.
    """
    found = np.zeros((order.calls, price_s.shape[1]))
    if not len(order.done):
        return found
    call, kind = order.done[:, 0], order.done[:, 1]
    whole = np.bincount(call, weights=np.nan_to_num(as_is_s[kind]), minlength=order.calls)
    known = (whole > 0) & (np.bincount(call, weights=np.isnan(as_is_s[kind]), minlength=order.calls) == 0)
    scale = np.where(known, np.minimum(1.0, transfer_s / np.where(known, whole, 1.0)), 1.0)
    for scenario in range(price_s.shape[1]):
        full = np.bincount(call, weights=price_s[kind, scenario], minlength=order.calls)
        found[:, scenario] = np.minimum(full * scale, transfer_s)
    return found


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
    last = _last_of_chains(order)
    measured, began = np.full(stretches, -np.inf), np.full(stretches, np.inf)
    np.maximum.at(measured, order.stretch, order.end_s)
    np.minimum.at(began, order.stretch, order.start_s)
    tail = measured[order.stretch[last]] - order.end_s[last]  # what each thread computes until the stretch ends
    tail[np.isin(last, order.before_wait)] = 0.0

    def ended_s(way: Change) -> Floats:
        later = np.full((stretches, way.call_s.shape[1]), -np.inf)
        np.maximum.at(later, order.stretch[last], _ends(order, way, last) + tail[:, None])
        return later

    nothing = Change(np.zeros((order.calls, 1)))
    if not len(change.freed):  # in one pass
        off = np.zeros_like(change.call_s) if change.outside_s is None else change.outside_s
        later = ended_s(Change(*(np.hstack([nothing.call_s, each]) for each in (change.call_s, off))))
        as_is, later = later[:, :1], later[:, 1:]
    else:
        as_is, later = ended_s(nothing), ended_s(change)
    spans = measured - began
    off_s, total = float(np.abs(as_is[:, 0] - measured).sum()), float(spans.sum())
    return Replayed(as_is - later, spans, off_s / total if total > 0 else 0.0)


def _last_of_chains(order: CallOrder) -> Ints:
    """The last call of each chain, in the order of the chains' numbers."""
    by = np.lexsort((order.start_s, order.chain))
    return by[np.flatnonzero(np.diff(order.chain[by], append=-1))]


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
    found: Floats = past[count + place[last]]
    return found


MOST_CALLS: Final = 200_000  # that are replayed: more are sampled, in slices of time
MOST_ERROR: Final = 0.10  # of a replay that changes nothing; above it, nothing is predicted
_SLICES: Final = 50


@dataclass(frozen=True)
class Scenario:
    """One scenario. price_s: kind of message -> (value, low, high), taken off each, seconds."""

    price_s: Mapping[int, tuple[float, float, float]]


@dataclass(frozen=True)
class Saved:
    """Of the whole run, seconds; None: not predicted, and why."""

    value_s: float | None
    interval: Interval | None
    reason: str | None


@dataclass(frozen=True)
class Prediction:
    """saved: by scenario.  error_ratio: of a replay that changes nothing.  calls: replayed."""

    saved: tuple[Saved, ...]
    error_ratio: float
    calls: int


@dataclass(frozen=True)
class KindCounts:
    """By kind. counts: in the whole run.  kept: with calls in the order.  as_is_s: of one, as for `savings`; NaN:
    not known.
    """

    counts: Floats
    kept: Floats
    as_is_s: Floats


def what_if(order: CallOrder, changes: Sequence[Scenario], messages: KindCounts, span_s: float) -> Prediction:
    """What each change saves of the run: of the kept calls, scaled by the price of all messages over that of theirs.

    Args: span_s: of the run; nothing saves more.
    """
    whole = possible(order)
    kept = sampled(whole)
    if not kept.calls:
        return Prediction(tuple(Saved(None, None, "no calls of its own were kept") for _ in changes), 0.0, 0)
    kinds = len(messages.counts)
    price_s = np.array([_column(scenario, end, kinds) for scenario in changes for end in range(3)]).reshape(-1, kinds).T
    found = replay(kept, Change(savings(kept, transfers(kept), price_s, messages.as_is_s)))
    if found.error_ratio > MOST_ERROR:
        why = f"a replay without changes is off by {100 * found.error_ratio:.0f} % of the measured time"
        return Prediction(tuple(Saved(None, None, why) for _ in changes), found.error_ratio, kept.calls)
    total = found.saved_s.sum(axis=0).reshape(len(changes), 3)
    moved = messages.kept * _ratio(_moves(kept, kinds), _moves(whole, kinds))
    saved = [_scaled(change, total[i], moved, messages.counts, span_s) for i, change in enumerate(changes)]
    return Prediction(tuple(saved), found.error_ratio, kept.calls)


def _moves(order: CallOrder, kinds: int) -> Floats:
    return np.bincount(order.done[:, 1], minlength=kinds).astype(float)


def _ratio(values: Floats, other: Floats) -> Floats:
    return np.divide(values, other, out=np.zeros_like(values), where=other > 0)


def _column(change: Scenario, end: int, kinds: int) -> list[float]:
    return [change.price_s.get(kind, (0.0, 0.0, 0.0))[end] for kind in range(kinds)]


def _scaled(change: Scenario, total_s: Floats, moved: Floats, counts: Floats, span_s: float) -> Saved:
    every = sum(counts[kind] * abs(price[0]) for kind, price in change.price_s.items())
    kept = sum(moved[kind] * abs(price[0]) for kind, price in change.price_s.items())
    if kept <= 0:
        return Saved(None, None, "none of its messages is among the recorded calls")
    scale = max(1.0, every / kept)
    value, low, high = (float(np.clip(seconds * scale, -np.inf, span_s)) for seconds in total_s)
    return Saved(value, (min(low, value, high), max(low, value, high)), None)


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
