# SPDX-License-Identifier: Apache-2.0
"""A trace from the folder of a watch: the calls of each thread that were kept, and both sides of messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError, UsageError
from slowpath.core.units import format_time
from slowpath.report.trace import Span, Trace, TraceMessage, TraceThread
from slowpath.watch.attributed import Attributed, attributed
from slowpath.watch.events import Bools, Events, Ints, World
from slowpath.watch.folder import WatchInfo, read_watch
from slowpath.watch.match import NO_EVENT
from slowpath.watch.record.job import read_job
from slowpath.watch.record.layout import EventKind
from slowpath.watch.totals import notes_of

MOST_SPANS = 1_000_000  # of one trace; some 700 bytes of memory each while it is written
_MOVES = {"MPI_Put": "put", "MPI_Rput": "put", "MPI_Get": "get", "MPI_Rget": "get"}
_LARGEST_TAG = 2**32 - 2


@dataclass(frozen=True)
class _KeptCalls:
    """What becomes spans: events of a stretch, and everything that hangs on them by the number of the event."""

    events: Events
    world: World
    wait_s: NDArray[np.float64]
    chosen: Bools
    messages: Mapping[int, list[TraceMessage]]


def read_watch_trace(folder: Path, begin_s: float | None = None, end_s: float | None = None) -> Trace:
    """The kept calls between two moments, seconds since the first MPI_Init; None: from the first, to the last.

    Raises: UsageError: the stretch is empty.  RecordError: no calls were recorded.
    """
    info, run = read_watch(folder), attributed(read_job(folder))
    events, world = run.events, run.world
    chosen, notes = _chosen(events, begin_s, end_s)
    if not chosen.any():
        error = UsageError if len(events) else RecordError
        raise error(f"{folder}: no recorded call is in this time range")
    kept = _KeptCalls(events, world, run.split.wait_s, chosen, _messages(run))
    notes = [*world.job.notes, *world.notes, *notes, *notes_of(run)]
    program = world.records[0].words("program").rpartition("/")[2]
    return Trace(f"{program}: watched", _began_ns(world, info), _rows(kept), notes)


def _chosen(events: Events, begin_s: float | None, end_s: float | None) -> tuple[Bools, list[str]]:
    chosen = events.is_timed.copy()
    chosen &= True if begin_s is None else events.end_s >= begin_s
    chosen &= True if end_s is None else events.start_s <= end_s
    count = int(chosen.sum())
    if count <= MOST_SPANS:
        return chosen, []
    last = float(np.partition(events.start_s[chosen], MOST_SPANS - 1)[MOST_SPANS - 1])
    chosen &= events.start_s <= last
    ends = f"the trace ends after {MOST_SPANS:,} of {count:,} calls, at {format_time(last)}"
    return chosen, [f"{ends}; continue with --begin {last:.6g}"]


def _messages(whole: Attributed) -> Mapping[int, list[TraceMessage]]:
    hung: dict[int, list[TraceMessage]] = defaultdict(list)
    events, world, match, parents = whole.events, whole.world, whole.matched, whole.parents
    flows = ({int(row): pair for pair, row in enumerate(rows.tolist())} for rows in (match.send, match.receive))
    for kind, side, pairs in zip(("send", "receive"), (match.sends, match.receives), flows, strict=True):
        calls = side.posted if kind == "send" else side.done
        for row, (reported, call) in enumerate(zip(side.reported.tolist(), calls.tolist(), strict=True)):
            parent = int(parents[call]) if call != NO_EVENT else NO_EVENT
            if parent == NO_EVENT:
                continue
            tag = min(max(int(events.tag[reported]), 0), _LARGEST_TAG)
            peer, length = int(events.peer[reported]), int(events.bytes[reported])
            hung[parent].append(TraceMessage(kind, peer, tag, length, pairs.get(row)))
    for event in np.flatnonzero(events.has(EventKind.ONE_SIDED) & (events.peer >= 0) & events.is_timed).tolist():
        kind_ = _MOVES.get(world.calls[events.call[event]].removesuffix("_c"))
        if kind_:
            hung[event].append(TraceMessage(kind_, int(events.peer[event]), 0, int(events.bytes[event])))
    return hung


def _rows(kept: _KeptCalls) -> list[TraceThread]:
    """A row for each rank, without spans where it left no record, and one for each further thread."""
    records = {record.rank: (i, record) for i, record in enumerate(kept.world.records)}
    rows = []
    for rank in range(kept.world.job.size):
        if rank not in records:
            rows.append(TraceThread(rank, "no record", None, ()))
            continue
        i, record = records[rank]
        mine = kept.events.record == i
        lanes = [0, *sorted(set(kept.events.lane[mine].tolist()) - {0})]
        for lane in lanes:
            spans = list(_spans(kept, np.flatnonzero(mine & (kept.events.lane == lane) & kept.chosen)))
            rows.append(TraceThread(rank, record.words("host"), int(record.header["pid"]), spans, lane))
    return rows


def _spans(kept: _KeptCalls, rows: Ints) -> Iterator[Span]:
    """The calls of one thread, in time; a clock that was joined never lets two of them overlap."""
    events, world, last_ns = kept.events, kept.world, 0
    zero_s = float(np.min(events.start_s))
    order = rows[np.argsort(events.start_s[rows], kind="stable")]
    begins = np.rint((events.start_s[order] - zero_s) * 1e9).astype(np.int64).tolist()
    ends = np.rint((events.end_s[order] - zero_s) * 1e9).astype(np.int64).tolist()
    for event, begin, end in zip(order.tolist(), begins, ends, strict=True):
        begin_ns = max(begin, last_ns)
        last_ns = max(begin_ns, end)
        attributes = _attributes(events, world, event)
        if kept.wait_s[event] > 0:
            attributes["waiting ns"] = round(1e9 * float(kept.wait_s[event]))
        messages = tuple(kept.messages.get(event, ()))
        yield Span(world.calls[events.call[event]], begin_ns, last_ns, True, attributes, messages)


def _attributes(events: Events, world: World, event: int) -> dict[str, int]:
    """What is known of the call's buffer and requests; nothing that is not."""
    attributes: dict[str, int] = {}
    if events.bytes[event]:
        attributes["bytes"] = int(events.bytes[event])
    row = int(events.allocation[event])
    if row >= 0:
        allocation = world.records[events.record[event]].allocations[row]
        sizes = {"allocation bytes": int(allocation["bytes"]), "page bytes": int(allocation["page_bytes"])}
        attributes |= {name: value for name, value in sizes.items() if value}
    if events.requests[event]:
        attributes["requests"] = int(events.requests[event])
    if events.kind[event] & int(EventKind.FIRST):
        attributes["first use"] = 1
    return attributes


def _began_ns(world: World, info: WatchInfo) -> int | None:
    """When the first rank called MPI_Init, by its wall clock; else when the command was started."""
    starts = [int(record.header["start_realtime_ns"]) for record in world.records]
    began = min((start for start in starts if start), default=None)
    if began is not None:
        return began
    try:
        return int(datetime.fromisoformat(info.started).timestamp() * 1e9)
    except ValueError:
        return None
