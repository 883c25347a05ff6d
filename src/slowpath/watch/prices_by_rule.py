# SPDX-License-Identifier: Apache-2.0
"""What the prices of a watch know of single rules: which messages a rule is about, and which cell is without the fault.

A row is a value: it says nothing of a watch's own types, and `messages.holds` decides which messages it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from slowpath.core.engine_description import recorded_defaults
from slowpath.findings.remedies.programs import COLLECTIVES as COLLECTIVES_KEY
from slowpath.findings.remedies.registry import find
from slowpath.findings.remedies.remedy import Change, Remedy, set_to

Parameters = Mapping[str, str]

HUGE_PAGE_BYTES: Final = 2 * 2**20
STEADY_METRICS: Final = ("half_round_trip_latency_s", "one_way_s")
FIRST_METRICS: Final = ("one_way_s",)


@dataclass(frozen=True)
class When:
    """The messages that a row is about; what is None or empty is not asked. One side that fits is enough.

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
class PricedRule:
    """One row.

    name         unique; findings of a program are distinguished by it
    rule         code, as in `slowpath explain`
    what         the messages in words, after their number and length: "from malloc on 4 KiB pages"
    remedy       of findings.remedies that the remedied cell has; None: `change` alone says it
    change       of the cell's parameters; None: the remedy's own, or one of environment or phase
    metrics      any of them prices it, the first is what the replay measures
    phase, remedied_phase   of the messages as they are and remedied
    both_sides   the cell has the fault on both sides alike, so a message that has it on one alone is not priced
    experiment   whose cells
    reaches_malloc  the remedy works from outside: it is about memory that malloc gives, or about no memory
    """

    name: str
    rule: str
    when: When
    what: str
    remedy: str | None
    change: Change | None = None
    metrics: tuple[str, ...] = STEADY_METRICS
    phase: Literal["first", "steady"] = "steady"
    remedied_phase: Literal["first", "steady"] = "steady"
    both_sides: bool = False
    experiment: Literal["p2p", "put"] = "p2p"
    reaches_malloc: bool = True

    @property
    def table_remedy(self) -> Remedy | None:
        """As the table of remedies has it."""
        return find(self.remedy) if self.remedy else None

    def remedied(self, parameters: Parameters) -> Parameters | None:
        """The cell without the fault; None: the parameters have no such fault."""
        change = self.change or (self.table_remedy.change if self.table_remedy else None)
        return change({**DEFAULTS, **parameters}) if change else None


# What a change may look at where a cell does not state it.
_LOOKED_AT: Final = ("pages", "pack", "overalloc_bytes", "offset_bytes", "memory")
DEFAULTS: Final[Parameters] = {name: value for name, value in recorded_defaults("p2p").items() if name in _LOOKED_AT}


@dataclass(frozen=True)
class PricedCollectives:
    """The row of collectives: other calls of the library do the same in less time.

    rule      code, as in `slowpath explain`
    metric    of experiment coll: cells of one collective in several ways differ in it
    remedy, text, side_effects   as the finding lists its remedy; {what} in the text: the collective and its other way
    tries     key of the remedy in findings.remedies.programs that does it to a program as it is
    """

    rule: str
    metric: str
    remedy: str
    text: str
    side_effects: tuple[str, ...]
    tries: str


HOST: Final = frozenset({"heap", "mapping", "stack", "static data"})
MALLOC: Final = frozenset({"heap", "mapping"})
GPU: Final = frozenset({"device memory", "managed memory"})

PRICED_RULES: Final[tuple[PricedRule, ...]] = (
    PricedRule(
        "small pages",
        "SP008",
        When(memory=MALLOC, below_page_bytes=HUGE_PAGE_BYTES, least_bytes=65536, first=False),
        "from malloc on small pages",
        "huge pages",
    ),
    PricedRule(
        "small pages of static data",
        "SP008",
        When(
            memory=frozenset({"stack", "static data"}),
            below_page_bytes=HUGE_PAGE_BYTES,
            least_bytes=65536,
            first=False,
        ),
        "from static data or the stack on small pages",
        "huge pages",
        reaches_malloc=False,
    ),
    PricedRule(
        "odd allocation",
        "SP002",
        When(memory=GPU, odd=True, first=True),
        "for the first time from GPU memory whose length is no multiple of its page",
        "pad to 2 MiB",
        metrics=FIRST_METRICS,
        phase="first",
        remedied_phase="first",
        both_sides=True,
    ),
    PricedRule(
        "fresh GPU memory",
        "SP001",
        When(memory=GPU, odd=False, first=True),
        "for the first time from GPU memory",
        "keep buffers",
        metrics=FIRST_METRICS,
        phase="first",
        both_sides=True,
    ),
    PricedRule(
        "fresh host memory",
        "SP005",
        When(memory=HOST, first=True, least_bytes=4096),
        "for the first time from their buffers",
        "keep buffers",
        metrics=FIRST_METRICS,
        phase="first",
        both_sides=True,
    ),
    PricedRule(
        "small blocks",
        "SP015",
        When(below_block_bytes=512, first=False),
        "in blocks",
        "contiguous data",
        both_sides=True,
    ),
    PricedRule(
        "pinned host memory",
        "SP007",
        When(memory=frozenset({"pinned host memory"}), first=False),
        "from pinned host memory",
        "pageable host memory",
    ),
    PricedRule(
        "start of the buffer",
        "SP031",
        When(memory=HOST, starts=frozenset({"elsewhere"}), least_bytes=4096, first=False),
        "from buffers that start off a cache line",
        None,
        set_to("offset_bytes", "0"),
    ),
)

PRICED_COLLECTIVES: Final = PricedCollectives(
    "SP036",
    "collective_work_s",
    "collectives by other calls",
    "Let libslowpath-coll.so make {what} for this length and number of ranks.",
    ("later calls alone: the first one on a communicator sets up memory of its own",),
    COLLECTIVES_KEY,
)
