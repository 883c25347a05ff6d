# SPDX-License-Identifier: Apache-2.0
"""The order of a program's calls, from what was matched and attributed: what graph.py replays."""

from __future__ import annotations

import numpy as np

from slowpath.watch.attributed import Attributed
from slowpath.watch.conclude import Kept
from slowpath.watch.events import Events
from slowpath.watch.graph import ENTRY, RETURN, Floats, Ints, Order
from slowpath.watch.match import NO_EVENT
from slowpath.watch.reasons import Why
from slowpath.watch.record.layout import Kind


def kept_of(found: Attributed, pairs: Ints) -> Kept:
    """Calls as chains of their threads, their dependencies, and the matched messages that they moved.

    Args: pairs: shape (messages, 2), the classes of each matched message's sides.
    """
    events = found.events
    level = found.world.level
    calls = np.flatnonzero(events.is_timed & (events.window % 2**level == 0))
    place = np.full(len(events), NO_EVENT, dtype=np.int64)
    place[calls] = np.arange(calls.size)
    stretch = _numbered(events.window[calls] >> level) if level else np.zeros(calls.size, dtype=np.int64)
    lanes = int(events.lane.max(initial=0)) + 1
    records = int(events.record.max(initial=0)) + 1
    chain = _numbered((stretch * records + events.record[calls]) * lanes + events.lane[calls])
    order = Order(
        chain,
        stretch,
        events.start_s[calls],
        events.end_s[calls],
        _dependencies(found, place),
        _moved(found, place),
    )
    return Kept(order, pairs)


def _numbered(values: Ints) -> Ints:
    found: Ints = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def _in_calls(found: Attributed, events: Ints, place: Ints) -> Ints:
    """Number of the call whose time each event is in; NO_EVENT: not kept."""
    known = events != NO_EVENT
    call = np.where(known, found.parents[events], NO_EVENT)
    call = np.where(known & found.events.is_timed[events], events, call)
    return np.where(call != NO_EVENT, place[call], NO_EVENT)


def _dependencies(found: Attributed, place: Ints) -> Ints:
    """Calls, calls that they wait for, and what of these; shape (m, 3)."""
    reasons = found.reasons
    sure = np.flatnonzero(reasons.why != int(Why.DOUBT))
    why, pair = reasons.why[sure], reasons.pair[sure]
    other = reasons.other[sure].copy()
    away = np.isin(why, [int(Why.SENDER_AWAY), int(Why.RECEIVER_AWAY)])
    other[away] = _came_back(found.events, found.events.record[other[away]], reasons.until_s[sure][away])
    of_pair = pair != NO_EVENT
    # A message that went eagerly, or by a call that only starts it, is on its way when that call has returned.
    is_sent = found.events.has(Kind.POST)[reasons.other[sure]]
    is_sent[of_pair] |= found.eager.is_eager[pair[of_pair]]
    after = np.stack(
        [
            _in_calls(found, reasons.call[sure], place),
            _in_calls(found, other, place),
            np.where(is_sent & (why == int(Why.LATE_SENDER)), RETURN, ENTRY),
        ],
        axis=1,
    )
    kept: Ints = after[(after[:, :2] >= 0).all(axis=1) & (after[:, 0] != after[:, 1])]
    return kept


def _came_back(events: Events, record: Ints, back_s: Floats) -> Ints:
    """The call with which each rank was in MPI again: its first one from `back_s` on."""
    found = np.full(record.size, NO_EVENT, dtype=np.int64)
    timed = np.flatnonzero(events.is_timed)
    for one in np.unique(record).tolist():
        rows = timed[events.record[timed] == one]
        rows = rows[np.argsort(events.start_s[rows], kind="stable")]
        asked = record == one
        at = np.searchsorted(events.start_s[rows], back_s[asked] - 1e-9)
        found[asked] = np.where(at < rows.size, rows[np.minimum(at, rows.size - 1)], NO_EVENT)
    return found


def _moved(found: Attributed, place: Ints) -> Ints:
    """Calls and the matched messages whose bytes they moved; shape (k, 2).

    An eager message leaves in the call that started it, any other one in the call that completed it. A message that was
    there before its receive arrives in the call that posted that.
    """
    match, eager = found.found, found.eager
    sends, receives = match.sends, match.receives
    number = np.arange(match.send.size)
    left = np.where(eager.is_eager, sends.posted[match.send], sends.done[match.send])
    arrived = np.where(eager.arrived, receives.posted[match.receive], receives.done[match.receive])
    rows = [np.stack([_in_calls(found, one, place), number], axis=1) for one in (left, arrived)]
    both = np.concatenate(rows)
    kept: Ints = both[both[:, 0] >= 0]
    return kept
