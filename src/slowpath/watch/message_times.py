# SPDX-License-Identifier: Apache-2.0
"""Waiting and transfer of single messages: of the call that started it, and its share of the call that completed it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowpath.watch.attribute import Part
from slowpath.watch.attributed import Attributed
from slowpath.watch.events import Bools, Events, Floats, Ints
from slowpath.watch.match import NO_EVENT, Side
from slowpath.watch.reasons import Why
from slowpath.watch.record.layout import Kind

MessageKey = tuple[int, int, str, int, bool]  # call, site, side, size class, first use


@dataclass(frozen=True)
class MessageTimes:
    """Sums over the recorded messages of one key.

    messages: of them, matched.  wait_s, transfer_s: seconds.  block_bytes: mean stretch of their datatypes; None: one.
    """

    messages: int
    wait_s: float
    transfer_s: float
    block_bytes: int | None


@dataclass(frozen=True)
class PerMessage:
    """Of one side, shape (messages,).

    wait_s: waiting that this message ended.  transfer_s: of its own call, and its share of the call that completed it,
    by bytes.  is_matched: the other side is recorded.
    """

    wait_s: Floats
    transfer_s: Floats
    is_matched: Bools


def per_message(found: Attributed) -> tuple[PerMessage, PerMessage]:
    """Of sends, of receives."""
    events, parts = found.events, found.parts
    sides = (found.found.sends, found.found.receives)
    moving = parts.parts_s[:, Part.TRANSFER] + parts.parts_s[:, Part.UNEXPECTED]
    load = np.zeros(len(events))
    for side in sides:
        done = side.done != NO_EVENT
        np.add.at(load, side.done[done], events.bytes[side.reported[done]] + 1.0)
    waits = _waits(found)
    result = []
    for side, wait_s, paired in zip(sides, waits, (found.found.send, found.found.receive), strict=True):
        is_matched = np.zeros(len(side), dtype=bool)
        is_matched[paired] = True
        result.append(PerMessage(wait_s, _transfers(events, side, moving, load), is_matched))
    return result[0], result[1]


def _transfers(events: Events, side: Side, moving: Floats, load: Floats) -> Floats:
    has_done = side.done != NO_EVENT
    share = np.zeros(len(side))
    done = side.done[has_done]
    share[has_done] = moving[done] * (events.bytes[side.reported[has_done]] + 1.0) / np.maximum(load[done], 1.0)
    apart = (side.posted != NO_EVENT) & (side.posted != side.done) & events.is_timed[side.posted]
    share[apart] += moving[side.posted[apart]]
    return share


def _waits(found: Attributed) -> tuple[Floats, Floats]:
    """Each call's waiting goes to the message that ended it."""
    pairs, reasons, parts = found.found, found.reasons, found.parts
    sends, receives = np.zeros(len(pairs.sends)), np.zeros(len(pairs.receives))
    rows = np.flatnonzero(parts.reason != NO_EVENT)
    reason = parts.reason[rows]
    pair, why = reasons.pair[reason], reasons.why[reason]
    of_message = pair != NO_EVENT
    at_receiver = (why == int(Why.LATE_SENDER)) | (why == int(Why.SENDER_AWAY))
    for target, index, chosen in (
        (receives, pairs.receive, of_message & at_receiver),
        (sends, pairs.send, of_message & ~at_receiver),
    ):
        np.add.at(target, index[pair[chosen]], parts.wait_s[rows[chosen]])
    return sends, receives


def message_times(found: Attributed) -> dict[MessageKey, MessageTimes]:
    """By call, site, side, size class and first use."""
    result: dict[MessageKey, MessageTimes] = {}
    sides = zip((found.found.sends, found.found.receives), per_message(found), ("send", "receive"), strict=True)
    for side, times, name in sides:
        call, site, size, first = message_columns(found.events, side)
        table = np.stack([call, site, size, first], axis=1)
        if not len(table):
            continue
        keys, number = np.unique(table, axis=0, return_inverse=True)
        number = number.reshape(-1)
        counted, wait, transfer = (
            np.bincount(number, weights=column * times.is_matched, minlength=len(keys))
            for column in (np.ones(len(table)), times.wait_s, times.transfer_s)
        )
        blocks = _blocks(found, side)
        total = np.bincount(number, weights=np.nan_to_num(blocks), minlength=len(keys))
        with_blocks = np.bincount(number, weights=np.isfinite(blocks), minlength=len(keys))
        for i, key in enumerate(keys.tolist()):
            block = int(total[i] / with_blocks[i]) if with_blocks[i] else None
            result[key[0], key[1], name, key[2], bool(key[3])] = MessageTimes(
                int(counted[i]), float(wait[i]), float(transfer[i]), block
            )
    return result


def message_columns(events: Events, side: Side) -> tuple[Ints, Ints, Ints, Ints]:
    """Call and site of the post, size class, first use."""
    post = np.where(side.posted == NO_EVENT, side.reported, side.posted)
    size = np.frexp(events.bytes[side.reported].astype(float))[1].astype(np.int64)
    first = events.has(Kind.FIRST)
    return events.call[post], events.site[post], size, (first[post] | first[side.reported]).astype(np.int64)


def _blocks(found: Attributed, side: Side) -> Floats:
    """Mean contiguous stretch of each message's datatype, bytes; NaN: contiguous."""
    events, post = found.events, np.where(side.posted == NO_EVENT, side.reported, side.posted)
    record, row = events.record[post], events.datatype[post]
    result = np.full(len(side), np.nan)
    for i in np.unique(record[row >= 0]).tolist():
        types = found.world.records[i].datatypes
        stretch = types["bytes"] / np.maximum(types["blocks"], 1)
        rows = (record == i) & (row >= 0)
        result[rows] = stretch[row[rows]]
    return result
