# SPDX-License-Identifier: Apache-2.0
"""What a program would save, end to end: the order of its calls replayed with prices taken off. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from slowpath.core.result import Interval
from slowpath.watch.graph import Floats, Ints, Order, possible, replay, savings, transfers

MOST_CALLS: Final = 200_000  # that are replayed: more are sampled, in slices of time
MOST_ERROR: Final = 0.10  # of a replay that changes nothing; above it, nothing is predicted
_SLICES: Final = 50


@dataclass(frozen=True)
class Change:
    """One scenario. price_s: kind of message -> (value, low, high), taken off each, seconds."""

    price_s: Mapping[int, tuple[float, float, float]]


@dataclass(frozen=True)
class Saved:
    """Of the whole run, seconds; None: not predicted, and why."""

    value_s: float | None
    interval: Interval | None
    reason: str | None


@dataclass(frozen=True)
class Predicted:
    """saved: by scenario.  error_ratio: of a replay that changes nothing.  calls: replayed."""

    saved: tuple[Saved, ...]
    error_ratio: float
    calls: int


@dataclass(frozen=True)
class Messages:
    """By kind. counts: in the whole run.  kept: with calls in the order.  as_is_s: of one, as for `savings`; NaN:
    not known.
    """

    counts: Floats
    kept: Floats
    as_is_s: Floats


def what_if(order: Order, changes: Sequence[Change], messages: Messages, span_s: float) -> Predicted:
    """What each change saves of the run: of the kept calls, scaled by the price of all messages over that of theirs.

    Args: span_s: of the run; nothing saves more.
    """
    whole = possible(order)
    kept = sampled(whole)
    if not kept.calls:
        return Predicted(tuple(Saved(None, None, "no calls of its own were kept") for _ in changes), 0.0, 0)
    kinds = len(messages.counts)
    price_s = np.array([_column(one, end, kinds) for one in changes for end in range(3)]).reshape(-1, kinds).T
    found = replay(kept, savings(kept, transfers(kept), price_s, messages.as_is_s))
    if found.error_ratio > MOST_ERROR:
        why = f"a replay that changes nothing is off by {100 * found.error_ratio:.0f} % of the measured time"
        return Predicted(tuple(Saved(None, None, why) for _ in changes), found.error_ratio, kept.calls)
    total = found.saved_s.sum(axis=0).reshape(len(changes), 3)
    moved = messages.kept * _ratio(_moves(kept, kinds), _moves(whole, kinds))
    saved = [_scaled(change, total[i], moved, messages.counts, span_s) for i, change in enumerate(changes)]
    return Predicted(tuple(saved), found.error_ratio, kept.calls)


def _moves(order: Order, kinds: int) -> Floats:
    return np.bincount(order.done[:, 1], minlength=kinds).astype(float)


def _ratio(one: Floats, other: Floats) -> Floats:
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0)


def _column(change: Change, end: int, kinds: int) -> list[float]:
    return [change.price_s.get(kind, (0.0, 0.0, 0.0))[end] for kind in range(kinds)]


def _scaled(change: Change, total_s: Floats, moved: Floats, counts: Floats, span_s: float) -> Saved:
    every = sum(counts[kind] * abs(price[0]) for kind, price in change.price_s.items())
    kept = sum(moved[kind] * abs(price[0]) for kind, price in change.price_s.items())
    if kept <= 0:
        return Saved(None, None, "none of its messages is among the calls that were kept")
    scale = max(1.0, every / kept)
    value, low, high = (float(np.clip(one * scale, -np.inf, span_s)) for one in total_s)
    return Saved(value, (min(low, value, high), max(low, value, high)), None)


def sampled(order: Order, most: int = MOST_CALLS) -> Order:
    """At most about so many calls: slices of each stretch, evenly over its time, each a stretch of its own.

    A cut that falls into a call leaves that call out; what it depends on goes with it.
    """
    if order.calls <= most:
        return order
    began, ended = float(order.start_s.min()), float(order.end_s.max())
    edges = np.linspace(began, ended, _SLICES + 1)
    part = np.minimum(np.searchsorted(edges, order.start_s, side="right") - 1, _SLICES - 1)
    share = most / order.calls
    until = edges[part] + share * (edges[part + 1] - edges[part])
    return _only(order, (order.end_s <= until), part)


def _only(order: Order, keep: npt.NDArray[np.bool_], part: Ints) -> Order:
    kept = np.flatnonzero(keep)
    place = np.full(order.calls, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    _, stretch = np.unique(np.stack([order.stretch[kept], part[kept]]), axis=1, return_inverse=True)
    _, chain = np.unique(np.stack([order.chain[kept], part[kept]]), axis=1, return_inverse=True)
    after = np.hstack([place[order.after[:, :2]], order.after[:, 2:]])
    done = order.done[place[order.done[:, 0]] >= 0]
    return possible(
        replace(
            order,
            chain=chain.reshape(-1),
            stretch=stretch.reshape(-1),
            start_s=order.start_s[kept],
            end_s=order.end_s[kept],
            after=after[(after >= 0).all(axis=1)],
            done=np.stack([place[done[:, 0]], done[:, 1]], axis=1),
        )
    )
