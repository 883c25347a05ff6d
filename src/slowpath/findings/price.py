# SPDX-License-Identifier: Apache-2.0
"""What a slow path costs a program: the messages that it is about, and the cell that is the same message without it.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from slowpath.findings.remedy import Change, Parameters, Remedy

HOST: Final = frozenset({"heap", "mapping", "stack", "static data"})
MALLOC: Final = frozenset({"heap", "mapping"})
GPU: Final = frozenset({"device memory", "managed memory"})
STEADY_METRICS: Final = ("half_round_trip_latency_s", "one_way_s")
FIRST_METRICS: Final = ("one_way_s",)

# What a change may look at where a cell does not state it.
DEFAULTS: Final[Parameters] = {
    "pages": "default",
    "pack": "none",
    "overalloc_bytes": "0",
    "offset_bytes": "0",
    "memory": "host",
}


@dataclass(frozen=True)
class When:
    """The messages that a price is about; what is None or empty is not asked. One side that fits is enough.

    memory: kinds, as a watch calls them.  below_page_bytes, above_page_bytes: of the pages that map the buffer.
    least_bytes, most_bytes: of the mean message.  first: first use of the allocation.  odd: its length is no multiple
    of its page.  below_block_bytes: of the contiguous stretches of the datatype.  starts: of the buffer.
    calls: the message is sent by one of these.  made: the program makes one of these calls.  set: one of these
    variables is set.  thread_level: that MPI gave.
    """

    memory: frozenset[str] = frozenset()
    below_page_bytes: int | None = None
    least_bytes: int = 0
    most_bytes: int | None = None
    first: bool | None = None
    odd: bool | None = None
    below_block_bytes: int | None = None
    starts: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    set: frozenset[str] = frozenset()
    thread_level: str | None = None


@dataclass(frozen=True)
class ProgramPrice:
    """What the messages that a slow path is about cost a program too much.

    name         unique; findings of a program are distinguished by it
    rule         code of its slow path, filled in where the prices are listed
    what         the messages in words, after their number and length: "from malloc on 4 KiB pages"
    remedy       that the remedied cell has; None: `change` alone says it
    change       of the cell's parameters; None: the remedy's own, or one of environment or phase
    metrics      any of them prices it, the first is what the replay measures
    phase, remedied_phase   of the messages as they are and remedied
    both_sides   the cell has the fault on both sides alike, so a message that has it on one alone is not priced
    experiment   whose cells
    reaches_malloc  the remedy works from outside: it is about memory that malloc gives, or about no memory
    """

    name: str
    when: When
    what: str
    remedy: Remedy | None
    change: Change | None = None
    metrics: tuple[str, ...] = STEADY_METRICS
    phase: Literal["first", "steady"] = "steady"
    remedied_phase: Literal["first", "steady"] = "steady"
    both_sides: bool = False
    experiment: Literal["p2p", "put"] = "p2p"
    reaches_malloc: bool = True
    rule: str = ""

    def remedied(self, parameters: Parameters) -> Parameters | None:
        """The cell without the fault; None: the parameters have no such fault."""
        change = self.change or (self.remedy.change if self.remedy else None)
        return change({**DEFAULTS, **parameters}) if change else None


@dataclass(frozen=True)
class CollectivesPrice:
    """How a program's collectives are priced: other calls of the library do the same in less time.

    metric    of experiment coll: cells of one collective in several ways differ in it
    remedy, text, side_effects   as the finding lists its remedy; {what} in the text: the collective and its other way
    tries     key of the remedy that does it to a program as it is
    """

    metric: str
    remedy: str
    text: str
    side_effects: tuple[str, ...]
    tries: str
