# SPDX-License-Identifier: Apache-2.0
"""Which class each matched message is of, on both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from slowpath.watch.attributed import Attributed
from slowpath.watch.classes import ClassKey
from slowpath.watch.events import Ints
from slowpath.watch.match import NO_EVENT, Side
from slowpath.watch.message_times import MessageKey, message_columns
from slowpath.watch.results import MessageClass

NO_CLASS = -1
_UNKNOWN = -1  # in place of a buffer class


def pair_classes(found: Attributed, keys: Sequence[ClassKey], classes: Sequence[MessageClass]) -> Ints:
    """Shape (pairs, 2): class of the sender's side and of the receiver's; NO_CLASS: not among the classes.

    Events state no kind of buffer; their allocation does, as of its last use. Where it names none of the classes that
    are alike else, the message is taken to be of the largest of these.
    """
    by_key: dict[MessageKey, dict[int, int]] = defaultdict(dict)
    for number in sorted(range(len(keys)), key=lambda one: classes[one].count):
        by_key[keys[number].of_messages][keys[number].buffer_class] = number
        by_key[keys[number].of_messages][_UNKNOWN] = number
    sides = (
        ("send", found.found.sends.take(found.found.send)),
        ("receive", found.found.receives.take(found.found.receive)),
    )
    return np.stack([_of_side(found, side, name, by_key) for name, side in sides], axis=1)


def _of_side(found: Attributed, side: Side, name: str, by_key: dict[MessageKey, dict[int, int]]) -> Ints:
    table = np.stack([*message_columns(found.events, side), _buffer_classes(found, side)], axis=1)
    if not len(table):
        return np.zeros(0, dtype=np.int64)
    rows, number = np.unique(table, axis=0, return_inverse=True)
    classes = np.full(len(rows), NO_CLASS, dtype=np.int64)
    for i, (call, site, size, first, buffer_class) in enumerate(rows.tolist()):
        fitting = by_key.get((call, site, name, size, bool(first)), {})
        classes[i] = fitting.get(buffer_class, fitting.get(_UNKNOWN, NO_CLASS))
    of_messages: Ints = classes[number.reshape(-1)]
    return of_messages


def _buffer_classes(found: Attributed, side: Side) -> Ints:
    """Of the allocation of each message; _UNKNOWN: it has no row."""
    events = found.events
    post = np.where(side.posted == NO_EVENT, side.reported, side.posted)
    record, row = events.record[post], events.allocation[post]
    result = np.full(len(side), _UNKNOWN, dtype=np.int64)
    for i in np.unique(record[row >= 0]).tolist():
        allocations = found.world.records[i].allocations
        rows = (record == i) & (row >= 0) & (row < allocations.size)
        result[rows] = allocations["buffer_class"][row[rows]]
    return result
