# SPDX-License-Identifier: Apache-2.0
"""Events that count: instructions of calls, calls of the C library, messages (docs/internals/record.md).

Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.
"""

from __future__ import annotations

import msgspec

from slowpath.core.limits import Name, Text, Whole
from slowpath.core.plan import CellNumber, Count, RankNumber


class Share(msgspec.Struct, frozen=True):
    """Instructions of one function of one library, over all counted calls."""

    library: Name
    function: Name
    instructions: Count


class Instructions(msgspec.Struct, frozen=True, tag_field="event", tag="instructions"):
    """Instructions of the calls of one region, counted one by one; null where they could not be, with the reason.

    stepped: of each call, outside of the program's own text. retired: the same with the iterations of a rep-prefixed
    instruction as one. region_instructions: calls, call sites and loop.
    """

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    region: Name  # put | synchronisation
    calls: Count | None = None
    method: Text | None = None
    stepped: tuple[Count, ...] = ()
    retired: tuple[Count, ...] = ()
    region_instructions: Count | None = None
    shares: tuple[Share, ...] = ()
    reason: Text | None = None

    @property
    def counted(self) -> bool:
        return self.reason is None and bool(self.calls)


class CallCount(msgspec.Struct, frozen=True):
    """Calls of one kind. bytes: moved or mapped by those that did not fail; None: such calls have no length.

    time_ns: inside calls of a kind that waits; None: it does not wait, or an older engine did not look.
    """

    calls: Count
    bytes: Count | None = None
    failed: Count = 0
    time_ns: Count | None = None


class Calls(msgspec.Struct, frozen=True, tag_field="event", tag="calls"):
    """What a witnessed rank called in all blocks of one phase; operations: of the blocks, its peer's included."""

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    phase: Name  # init | first | warmup | steady
    operations: Count
    counts: dict[Name, CallCount]


class Messages(msgspec.Struct, frozen=True, tag_field="event", tag="messages"):
    """What went through a rank's sockets during the marked calls of a cell, in the rank's own order.

    known_calls: the first calls, each one message of the cell's length from the first rank to the second.  sockets: own
    and other address.  log: (socket, -1: a mark; kind as mpi/message_log has it; bytes before it, or the call's number;
    bytes).  lost: entries for which there was no room, the last ones.
    """

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    known_calls: Count
    lost: Count
    sockets: tuple[tuple[Name, Name], ...]
    log: tuple[tuple[Whole, Count, Count, Count], ...]
