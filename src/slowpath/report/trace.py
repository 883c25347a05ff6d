# SPDX-License-Identifier: Apache-2.0
"""Timelines of all ranks in Chrome's trace format, which ui.perfetto.dev reads: those of a run folder are read here,
those of a watch by slowpath.watch.trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.files import cannot, write_atomically
from slowpath.core.guard import line
from slowpath.core.plan import Cell
from slowpath.experiments.cannon.runs import PARTS, TOTAL
from slowpath.experiments.measured import LaunchRecord, SampleBlock, load_launch
from slowpath.experiments.messages import ends
from slowpath.experiments.registry import EXPERIMENTS, experiment_named
from slowpath.record.events import Intervals
from slowpath.record.folder import LaunchInfo, read_launches, read_run
from slowpath.record.plan_files import read_plan

NAME = "trace.json"
_OWN = ("dgemm", "copy", "generate")  # parts that need no MPI


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
        raise EnvironmentFailure(f"{folder}: is taken; name a new folder")
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


def _multiply(cell: Cell, blocks: Sequence[SampleBlock], ranks: int, intervals: Sequence[Intervals]) -> list[Span]:
    """Return the parts of repetitions within the whole multiplication, which has the cell's label."""
    steps = {(event.rank, event.part): event.steps for event in intervals}
    repetitions = {(block.rank, block.phase): len(block.duration_ns) for block in blocks if block.part == TOTAL}
    spans = []
    for block in blocks:
        name, whole = PARTS.get(block.part, f"part {block.part}"), block.part == TOTAL
        count = repetitions.get((block.rank, block.phase), 0)
        each = len(block.duration_ns) // count if count else 0
        known = steps.get((block.rank, block.part), ())
        for place, (begin_ns, end_ns) in enumerate(_times(block)):
            attributes = {"cell": cell.cell, "steady": int(block.phase == "steady")}
            if each:
                attributes["repetition"] = place // each
                attributes |= {"step": known[place % each]} if len(known) == each and not whole else {}
            inside = not whole and name not in _OWN
            spans.append(Span(cell.label if whole else name, begin_ns, end_ns, inside, attributes))
    return spans


def _one_way(cell: Cell, blocks: Sequence[SampleBlock], ranks: int, intervals: Sequence[Intervals]) -> list[Span]:
    """Return messages as MPI_Send on the sending rank and MPI_Recv on the other. Part 1 has those of other_bytes."""
    spans = []
    sender, _ = ends(cell.parameters, ranks)
    for block in blocks:
        name = "MPI_Send" if block.rank == sender else "MPI_Recv"
        for place, (begin_ns, end_ns) in enumerate(_times(block)):
            attributes = {"cell": cell.cell, "allocation": block.allocation, "message": block.seq0 + place}
            attributes |= {"part": block.part} if block.part else {}
            spans.append(Span(name, begin_ns, end_ns, True, attributes | {"steady": int(block.phase == "steady")}))
    return spans


def _times(block: SampleBlock) -> list[tuple[int, int]]:
    """Return begin and end of each sample, nanoseconds on the rank's clock, or [] without start times."""
    if block.start_ns is None:
        return []
    return list(zip(block.start_ns.tolist(), (block.start_ns + block.duration_ns).tolist(), strict=True))


# By the names that experiments give (`Experiment.timelines`): functions of the cell, the blocks of one rank, the number
# of ranks and the steps.
KINDS = {"multiplication": _multiply, "messages": _one_way}
_WITH_TIMES = " and ".join(
    f"{experiment.name} pattern={pattern}" for experiment in EXPERIMENTS for pattern in experiment.timelines
)
_WITHOUT_TIMES = f"{{}}: no cell with start times was measured; traces are of {_WITH_TIMES}"


def _kind_of(cell: Cell) -> str | None:
    """Return the kind of a cell's timeline, or None if its samples have no start times."""
    return experiment_named(cell.experiment).timelines.get(cell.parameters.get("pattern", ""))


def read_trace(run: Path, cell: int | None = None, launch: int | None = None) -> Trace:
    """Read launch number `launch`, or the one that measured most styles of the wanted cells (of several the first).

    Args: cell: number in plan.json, or None for every cell of the launch that has start times.
    Raises: UsageError: the cell or launch does not exist. RecordError: it has no start times.
    """
    title = read_run(run).title
    cells = _wanted(read_plan(run / "plan.json").cells, cell, run)
    infos = read_launches(run)
    if launch is not None:
        infos = [info for info in infos if info.launch == launch]
        if not infos:
            raise UsageError(f"{run} has no ended launch {launch}; its launches are in {run / 'launches'}")
    best: tuple[LaunchRecord, list[Cell]] | None = None
    for info in infos:
        record = load_launch(run, info)
        measured = [cells[number] for number in record.measured_cells() if number in cells]
        if measured and (best is None or _richness(measured) > _richness(best[1])):
            best = record, measured
        if best is not None and len(best[1]) == len(cells):
            break
    if best is not None:
        return _trace(title, *best)
    raise RecordError(_WITHOUT_TIMES.format(run))


def _richness(cells: Sequence[Cell]) -> tuple[int, int]:
    """Return how many styles the cells have, then how many cells there are."""
    return len({(cell.experiment, cell.parameters.get("variant")) for cell in cells}), len(cells)


def _wanted(cells: Sequence[Cell], cell: int | None, run: Path) -> dict[int, Cell]:
    if cell is not None:
        chosen = next((known for known in cells if known.cell == cell), None)
        if chosen is None:
            raise UsageError(f"{run} has no cell {cell}; it has 0 to {max((c.cell for c in cells), default=0)}")
        if _kind_of(chosen) is None:
            raise UsageError(_WITHOUT_TIMES.format(f"cell {cell}"))
        return {cell: chosen}
    with_times = {cell.cell: cell for cell in cells if _kind_of(cell)}
    if not with_times:
        raise RecordError(_WITHOUT_TIMES.format(run))
    return with_times


def _trace(title: str, record: LaunchRecord, cells: Sequence[Cell]) -> Trace:
    blocks = record.cell_blocks([cell.cell for cell in cells])
    spans: dict[int, list[Span]] = {rank: [] for rank in range(record.size)}
    for cell in cells:
        kind = KINDS[_kind_of(cell) or "messages"]
        for rank in spans:
            own = [block for block in blocks[cell.cell] if block.rank == rank]
            spans[rank] += kind(cell, own, record.size, record.events.intervals(cell.cell))
    if not any(spans.values()):
        raise RecordError(_WITHOUT_TIMES.format(record.folder))
    known = {rank.rank: (rank.host, rank.pid) for rank in record.ranks}
    rows = [TraceThread(rank, *known.get(rank, ("unknown", None)), own) for rank, own in spans.items()]
    moved, notes = _from_zero(rows)
    label = f"{title}: launch {record.info.launch}" + (f", {cells[0].label}" if len(cells) == 1 else "")
    return Trace(label, _began_ns(record.info), moved, [*record.notes, *notes])


def _from_zero(rows: Sequence[TraceThread]) -> tuple[list[TraceThread], list[str]]:
    """Shift times to the beginning of each node's first span, because nodes' clocks have no common zero."""
    first: dict[str, int] = {}
    for row in rows:
        for span in row.spans:
            first[row.host] = min(first.get(row.host, span.begin_ns), span.begin_ns)
    moved = [
        replace(row, spans=[replace(s, begin_ns=s.begin_ns - first[row.host], end_ns=s.end_ns - first[row.host])
                            for s in row.spans]) for row in rows
    ]  # fmt: skip
    note = "the nodes' clocks are not synchronised: each node's times begin at 0"
    return moved, [note] if len(first) > 1 else []


def _began_ns(info: LaunchInfo) -> int | None:
    """Return the wall-clock time at which the launch began, a little before the trace's zero."""
    try:
        return int(datetime.fromisoformat(info.started or "").timestamp() * 1e9)
    except ValueError:
        return None
