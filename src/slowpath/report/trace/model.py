# SPDX-License-Identifier: Apache-2.0
"""A trace: what each rank did when, properly nested, before it becomes a file of any format. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.core.errors import RecordError


@dataclass(frozen=True, slots=True)
class TraceMessage:
    """A transfer between two ranks, as one of them sees it.

    kind: send, put and get when it starts; receive and arrival (of a put) when it is complete.  partner: among all
    ranks.  tag: of a put or get none, 0.  flow: the same on both sides, and on no other message of the repetition; ():
    one side alone knows of it.  communicator: in Trace.communicators, which holds both ranks.
    """

    kind: str
    partner: int
    tag: int
    bytes: int
    flow: tuple[int, ...] = ()
    communicator: int = 0

    @property
    def at_end(self) -> bool:
        """Whether it belongs to the end of its span."""
        return self.kind in ("receive", "arrival")


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective call. root: rank in the communicator; None: it has none.  sent_bytes: what this rank gave."""

    communicator: int
    root: int | None
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Communicator:
    """Ranks that share one. members: ranks of all, by rank."""

    name: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """One interval of a rank. mpi: within the MPI library, as far as the record shows.

    begin_ns, end_ns: from the trace's beginning.  attributes: small numbers by name (step, repetition, ...).
    """

    name: str
    begin_ns: int
    end_ns: int
    mpi: bool = False
    attributes: Mapping[str, int] = field(default_factory=dict)
    messages: tuple[TraceMessage, ...] = ()
    collective: Collective | None = None


@dataclass(frozen=True, slots=True)
class TraceThread:
    """Everything that one thread of a rank did. pid: None where the record does not state it.

    lane: 0 is the thread that stands for the rank.
    """

    rank: int
    host: str
    pid: int | None
    spans: Sequence[Span]
    lane: int = 0

    @property
    def name(self) -> str:
        """`rank 3`, `rank 3, thread 1`."""
        return f"rank {self.rank}, thread {self.lane}" if self.lane else f"rank {self.rank}"


@dataclass(frozen=True, slots=True)
class Trace:
    """One launch. began_ns: the trace's beginning, nanoseconds since 1970; None: not recorded.

    rows: of ranks 0 to the last without a gap, lane 0 first.  notes: what a reader must know, a line each.
    communicators: the first holds all ranks; (): that one alone.
    """

    title: str
    began_ns: int | None
    rows: Sequence[TraceThread]
    notes: Sequence[str] = ()
    communicators: Sequence[Communicator] = ()

    @property
    def ranks(self) -> int:
        return sum(row.lane == 0 for row in self.rows)

    @property
    def spans(self) -> int:
        return sum(len(row.spans) for row in self.rows)

    @property
    def messages(self) -> int:
        """Sent or put or got: each once."""
        return sum(not message.at_end for row in self.rows for span in row.spans for message in span.messages)

    @property
    def length_ns(self) -> int:
        return max((span.end_ns for row in self.rows for span in row.spans), default=0)


def edges(row: TraceThread) -> Iterator[tuple[int, Span, bool]]:
    """When each span of a row is entered (True) and left (False), in time, inner ones within outer ones.

    Raises: RecordError: two spans overlap and neither lies in the other, which no format can express.
    """
    open_: list[Span] = []
    for span in sorted(row.spans, key=lambda span: (span.begin_ns, -span.end_ns)):
        while open_ and open_[-1].end_ns <= span.begin_ns:
            last = open_.pop()
            yield last.end_ns, last, False
        if open_ and span.end_ns > open_[-1].end_ns:
            raise RecordError(
                f"rank {row.rank}: '{open_[-1].name}' and '{span.name}' overlap in time, so they are no timeline; "
                "trace one cell alone with --cell"
            )
        open_.append(span)
        yield span.begin_ns, span, True
    while open_:
        last = open_.pop()
        yield last.end_ns, last, False
