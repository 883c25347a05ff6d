# SPDX-License-Identifier: Apache-2.0
"""Which rule is about which messages, and which cell of the engine is the same message without the fault. One table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from slowpath.findings.remedy import Change, Remedy, set_to
from slowpath.slowpaths.registry import find_remedy
from slowpath.watch.loads import HUGE_PAGE_BYTES, Load, Parameters, kind_of
from slowpath.watch.results import MessageClass

HOST: Final = frozenset({"heap", "mapping", "stack", "static data"})
MALLOC: Final = frozenset({"heap", "mapping"})
GPU: Final = frozenset({"device memory", "managed memory"})
STEADY_METRICS: Final = ("half_round_trip_latency_s", "one_way_s")
FIRST_METRICS: Final = ("one_way_s",)


@dataclass(frozen=True)
class Program:
    """What a rule may ask of the program as a whole. calls: that it made.  variables: that were set for it."""

    calls: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)
    thread_level: str | None = None


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


_Side = Callable[[When, MessageClass], bool]
_SIDE: Final[tuple[_Side, ...]] = (
    lambda when, side: not when.memory or kind_of(side.memory) in when.memory,
    lambda when, side: when.below_page_bytes is None or 0 < (side.page_bytes or 0) < when.below_page_bytes,
    lambda when, side: when.first is None or side.first == when.first,
    lambda when, side: when.odd is None or side.is_odd == when.odd,
    lambda when, side: when.below_block_bytes is None or 0 < (side.block_bytes or 0) < when.below_block_bytes,
    lambda when, side: not when.starts or side.start in when.starts,
    lambda when, side: not when.calls or side.call.removesuffix("_c") in when.calls,
)
_Whole = Callable[[When, Load, Program], bool]
_WHOLE: Final[tuple[_Whole, ...]] = (
    lambda when, load, program: when.least_bytes <= load.bytes <= (when.most_bytes or load.bytes),
    lambda when, load, program: not when.made or bool(when.made & program.calls),
    lambda when, load, program: not when.set or bool(when.set & program.variables.keys()),
    lambda when, load, program: when.thread_level in (None, program.thread_level),
)


def holds(when: When, load: Load, program: Program) -> bool:
    """Whether a row is about these messages."""
    return all(test(when, load, program) for test in _WHOLE) and any(
        all(test(when, side) for test in _SIDE) for side in load.sides
    )


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
        return find_remedy(self.remedy) if self.remedy else None

    def remedied(self, parameters: Parameters) -> Parameters | None:
        """The cell without the fault; None: the parameters have no such fault."""
        change = self.change or (self.table_remedy.change if self.table_remedy else None)
        return change({**DEFAULTS, **parameters}) if change else None


# What a change may look at where a cell does not state it.
DEFAULTS: Final[Parameters] = {
    "pages": "default",
    "pack": "none",
    "overalloc_bytes": "0",
    "offset_bytes": "0",
    "memory": "host",
}

_ONE_SIDED = frozenset({"MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Rput", "MPI_Rget"})

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
BY_NAME: Final[Mapping[str, PricedRule]] = {row.name: row for row in PRICED_RULES}
