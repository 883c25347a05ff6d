# SPDX-License-Identifier: Apache-2.0
"""Timelines of all ranks in Chrome's trace format, which ui.perfetto.dev reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import cannot, write_atomically
from slowpath.core.guard import line

NAME = "trace.json"


@dataclass(frozen=True, slots=True)
class TraceMessage:
    """A transfer, as one of its ranks sees it.

    Args: kind: send, put and get when it starts, receive when it is complete. flow: number that both sides and no other
          message have, or None if only one side is known.
    """

    kind: str
    partner: int
    tag: int
    bytes: int
    flow: int | None = None


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


@dataclass(frozen=True, slots=True)
class TraceThread:
    """Everything that a thread of a rank did.  Args: pid: None if it is not recorded. lane: 0 for the main thread."""

    rank: int
    host: str
    pid: int | None
    spans: Sequence[Span]
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a launch.

    Args: began_ns: the trace's beginning, nanoseconds since 1970, or None. rows: of ranks 0 to the last without a gap,
          lane 0 first. notes: facts that a reader must know.
    """

    title: str
    began_ns: int | None
    rows: Sequence[TraceThread]
    notes: Sequence[str] = ()

    @property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return sum(row.lane == 0 for row in self.rows)

    @property
    def spans(self) -> int:
        """Return the number of intervals."""
        return sum(len(row.spans) for row in self.rows)

    @property
    def messages(self) -> int:
        """Return the number of messages, each counted once."""
        every = (message for row in self.rows for span in row.spans for message in span.messages)
        return sum(message.kind != "receive" for message in every)


def write_trace(trace: Trace, folder: Path) -> Path:
    """Write the trace into a new or empty folder, and return its path.

    Raises: EnvironmentFailure: the folder can't be made or is not empty.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise cannot("make the folder", folder, error) from error
    if taken:
        raise EnvironmentFailure(f"{folder}: is not empty; remove it, or name another folder with --out")
    events = ",\n".join(json.dumps(event, separators=(",", ":")) for row in trace.rows for event in _events(row))
    about = {"title": trace.title, "notes": list(trace.notes), "began_ns": trace.began_ns}
    write_atomically(folder / NAME, f'{{"otherData":{json.dumps(about)},"traceEvents":[\n{events}\n]}}\n')
    return folder / NAME


def _events(row: TraceThread) -> Iterator[dict[str, Any]]:
    """Yield the events of a thread; a rank is a process, whose own number stands for its pid."""
    where = {"pid": row.rank + 1, "tid": row.lane}  # 0 is the idle process to the viewer
    if row.lane == 0:
        host = f"{row.host}, process {row.pid}" if row.pid is not None else row.host
        yield {"ph": "M", "name": "process_name", **where, "args": {"name": line(f"rank {row.rank} ({host})")}}
    name = f"rank {row.rank}, thread {row.lane}" if row.lane else f"rank {row.rank}"
    yield {"ph": "M", "name": "thread_name", **where, "args": {"name": name}}
    for span in row.spans:
        begin_us, length_us = span.begin_ns / 1000, (span.end_ns - span.begin_ns) / 1000
        event = {"ph": "X", "name": line(span.name), "cat": "mpi" if span.mpi else "own", "ts": begin_us}
        yield {**event, "dur": length_us, **where, "args": {**span.attributes, **_arguments(span)}}
        for message in span.messages:
            if message.flow is not None:
                flow = {"name": "message", "cat": "message", "id": message.flow, **where}
                if message.kind == "receive":
                    yield {"ph": "f", "bp": "e", "ts": span.end_ns / 1000, **flow}
                else:
                    yield {"ph": "s", "ts": begin_us, **flow}


def _arguments(span: Span) -> dict[str, int]:
    """Return messages as arguments of the slice: `send 1 partner`, `send 1 tag`, `send 1 bytes`."""
    arguments: dict[str, int] = {}
    for number, message in enumerate(span.messages, start=1):
        arguments |= {
            f"{message.kind} {number} partner": message.partner,
            f"{message.kind} {number} bytes": message.bytes,
        }
        arguments |= {f"{message.kind} {number} tag": message.tag} if message.kind in ("send", "receive") else {}
    return arguments
