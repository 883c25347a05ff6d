# SPDX-License-Identifier: Apache-2.0
"""A trace: what each rank did when, properly nested, independent of file formats. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.core.errors import RecordError


@dataclass(frozen=True, slots=True)
class TraceMessage:
    """A transfer between two ranks, as one of them sees it.

    Args: kind: send, put and get when it starts; receive and arrival (of a put) when it is complete. partner: rank
          among all ranks. tag: 0 for puts and gets. flow: a value that both sides and no other message of the
          repetition have, or () if only one side knows the transfer. communicator: index into Trace.communicators.
    """

    kind: str
    partner: int
    tag: int
    bytes: int
    flow: tuple[int, ...] = ()
    communicator: int = 0

    @property
    def at_end(self) -> bool:
        """Return whether the message belongs to the end of its span."""
        return self.kind in ("receive", "arrival")


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective call. `root` is a rank of the communicator or None; `sent_bytes`: bytes that this rank gave."""

    communicator: int
    root: int | None
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Communicator:
    """The members of a communicator, as ranks among all ranks, in the order of its own ranks."""

    name: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of a rank.

    Args: mpi: whether it is within the MPI library, as far as the record shows. begin_ns, end_ns: from the trace's
          beginning. attributes: small numbers by name (step, repetition, ...).
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
    """Everything that a thread of a rank did.

    Args: pid: None if it is not recorded. lane: 0 for the thread that represents the rank.
    """

    rank: int
    host: str
    pid: int | None
    spans: Sequence[Span]
    lane: int = 0

    @property
    def name(self) -> str:
        """Return the row's name, such as `rank 3` or `rank 3, thread 1`."""
        return f"rank {self.rank}, thread {self.lane}" if self.lane else f"rank {self.rank}"


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a launch.

    Args: began_ns: the trace's beginning, nanoseconds since 1970, or None. rows: of ranks 0 to the last without a gap,
          lane 0 first. notes: facts that a reader must know. communicators: the first holds all ranks; () means that
          one only.
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
        """Return the number of messages, each counted once."""
        return sum(not message.at_end for row in self.rows for span in row.spans for message in span.messages)

    @property
    def length_ns(self) -> int:
        return max((span.end_ns for row in self.rows for span in row.spans), default=0)


def edges(row: TraceThread) -> Iterator[tuple[int, Span, bool]]:
    """Return when each span of a row is entered (True) and left (False), in time order, properly nested.

    Raises: RecordError: two spans overlap without nesting, which no format can express.
    """
    open_: list[Span] = []
    for span in sorted(row.spans, key=lambda span: (span.begin_ns, -span.end_ns)):
        while open_ and open_[-1].end_ns <= span.begin_ns:
            last = open_.pop()
            yield last.end_ns, last, False
        if open_ and span.end_ns > open_[-1].end_ns:
            raise RecordError(
                f"rank {row.rank}: '{open_[-1].name}' and '{span.name}' overlap in time; trace one cell with --cell"
            )
        open_.append(span)
        yield span.begin_ns, span, True
    while open_:
        last = open_.pop()
        yield last.end_ns, last, False
