# SPDX-License-Identifier: Apache-2.0
"""Each call's time, split: waiting for others first, then what is left of it. No second is counted twice.

A call that waits for several things waits until the last of them is there (MPI_Waitany and MPI_Waitsome: the first),
and all of that waiting goes to the one that ended it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.events import Bools, Events, Floats, Ints, World
from slowpath.watch.match import NO_EVENT
from slowpath.watch.reasons import Reasons, Why
from slowpath.watch.record.layout import Kind, watch_layout


class Part(IntEnum):
    """Columns of the split."""

    LATE_SENDER = 0
    LATE_RECEIVER = 1
    IMBALANCE = 2
    SENDER_AWAY = 3
    RECEIVER_AWAY = 4
    UNEXPECTED = 5
    TRANSFER = 6
    CALL = 7
    UNEXPLAINED = 8
    LATE_TARGET = 9


WAITS = (Part.LATE_SENDER, Part.LATE_RECEIVER, Part.IMBALANCE, Part.SENDER_AWAY, Part.RECEIVER_AWAY, Part.LATE_TARGET)
_PART_OF: dict[Why, Part] = {
    Why.LATE_SENDER: Part.LATE_SENDER,
    Why.LATE_RECEIVER: Part.LATE_RECEIVER,
    Why.LATE_RANK: Part.IMBALANCE,
    Why.SENDER_AWAY: Part.SENDER_AWAY,
    Why.RECEIVER_AWAY: Part.RECEIVER_AWAY,
    Why.TARGET_AWAY: Part.LATE_TARGET,
}
_FIRST_COUNTS = ("MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome")


@dataclass(frozen=True)
class Split:
    """The time of each call.

    parts_s   shape (n, len(Part)), seconds; rows of events that are no calls are 0; a row adds up to the duration
    reason    shape (n,): row of the reasons that ended the waiting; NO_EVENT: it waited for nothing that is known
    until_s   shape (n,): when the waiting ended; the entry where there was none
    """

    parts_s: NDArray[np.float64]
    reason: Ints
    until_s: Floats

    @property
    def wait_s(self) -> Floats:
        """Waiting for other ranks, shape (n,)."""
        found: Floats = self.parts_s[:, WAITS].sum(axis=1)
        return found


def split(events: Events, world: World, reasons: Reasons, moves: Ints, unknown: Bools) -> Split:
    """The parts of each call's time.

    Args: reasons: what calls waited for.  moves: shape (n,), Part of what is left of a call after its waiting, and
          unknown: shape (n,), a call that may have waited for something that is not recorded.
    """
    timed = events.is_timed
    start, end = events.start_s, events.end_s
    parts = np.zeros((len(events), len(Part)))
    sure = np.flatnonzero(reasons.why != int(Why.DOUBT))
    chosen = _ending(events, world, reasons, sure)
    reason = np.full(len(events), NO_EVENT, dtype=np.int64)
    reason[reasons.call[chosen]] = chosen
    has = reason != NO_EVENT
    until = start.copy()
    until[has] = np.clip(reasons.until_s[reason[has]], start[has], end[has])
    error = np.zeros(len(events))
    error[has] = reasons.error_s[reason[has]]
    wait = until - start
    claimed = has & (wait > error)
    why = np.full(len(events), NO_EVENT)
    why[claimed] = reasons.why[reason[claimed]]
    for cause, part in _PART_OF.items():
        of_cause = why == int(cause)
        parts[of_cause, part] = wait[of_cause]
    until = np.where(claimed, until, start)
    doubt = _doubt_until(events, reasons)
    doubtful = np.clip(np.where(unknown, end, doubt) - until, 0.0, end - until)
    # A wait that is shorter than the clocks' error may be one, or none.
    within = has & ~claimed
    doubtful = np.where(within, np.maximum(doubtful, np.minimum(error, end - until)), doubtful)
    parts[:, Part.UNEXPLAINED] += doubtful
    rest = end - until - doubtful
    parts[np.arange(len(events)), moves] += rest
    parts[~timed] = 0.0
    reason = np.where(claimed, reason, NO_EVENT)
    return Split(parts, reason, until)


def _ending(events: Events, world: World, reasons: Reasons, sure: Ints) -> Ints:
    """Of each call with reasons the one that ended its waiting, as rows of the reasons."""
    if not sure.size:
        return sure
    first_counts = np.array([name in _FIRST_COUNTS for name in world.calls], dtype=bool)
    is_first = first_counts[events.call[reasons.call[sure]]]
    key = np.where(is_first, -reasons.until_s[sure], reasons.until_s[sure])
    order = sure[np.lexsort((key, reasons.call[sure]))]
    calls = reasons.call[order]
    is_last = np.append(calls[1:] != calls[:-1], True)
    found: Ints = order[is_last]
    return found


def _doubt_until(events: Events, reasons: Reasons) -> Floats:
    """Until when each call may have waited for something that is not certain, shape (n,)."""
    found = np.full(len(events), -np.inf)
    rows = reasons.why == int(Why.DOUBT)
    np.maximum.at(found, reasons.call[rows], reasons.until_s[rows])
    return found


def what_is_left(events: Events, world: World, copied: Bools, moved: Bools) -> Ints:
    """Part that a call's time belongs to once waiting is taken off, shape (n,).

    Args: copied: calls in which a message was taken from where it had waited for its receive.
          moved: calls that completed messages, or started one that has bytes.
    """
    found = np.full(len(events), int(Part.CALL))
    families = np.array(world.families, dtype=np.int64)
    files = [number for number, name in watch_layout().families.items() if name == "files"]
    of_files = np.isin(families, files)[events.call] if families.size else np.zeros(0, dtype=bool)
    carries = events.has(Kind.ONE_SIDED) & (events.bytes > 0)
    found[carries | moved | events.has(Kind.COLLECTIVE)] = int(Part.TRANSFER)
    found[copied] = int(Part.UNEXPECTED)
    found[of_files] = int(Part.UNEXPLAINED)
    return found
