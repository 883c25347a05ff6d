# SPDX-License-Identifier: Apache-2.0
"""Traces of run folders: a launch with one cell, or all cells that have start times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from slowpath.core.errors import RecordError, UsageError
from slowpath.core.plan import Cell
from slowpath.experiments.cannon.cost import RankGrid, grid_of
from slowpath.experiments.cannon.runs import PARTS, TOTAL
from slowpath.experiments.measured.load import LaunchRecord, load_launch
from slowpath.experiments.measured.series import SampleBlock
from slowpath.experiments.p2p.metrics import ends
from slowpath.experiments.registry import EXPERIMENTS, experiment_named
from slowpath.record.events import Intervals
from slowpath.record.folder import LaunchInfo, read_launches, read_run
from slowpath.record.plan_files import read_plan
from slowpath.report.trace.model import Span, Trace, TraceMessage, TraceThread

TAG_A, TAG_B = 11, 12  # engine/studies/cannon/strips.hpp


@dataclass(frozen=True, slots=True)
class Style:
    """How a style of Cannon's algorithm moves strips.

    Args: starts, ends: parts of a step. calls: the MPI call that names each part, one for each interval of the part in
          a step if they differ; where an interval spans several calls, the one that moves data or waits. moves: send,
          put or get, or None without transfers to a single partner.
    """

    moves: str | None
    starts: str
    ends: str
    calls: Mapping[str, str | tuple[str, ...]]


_SHARED = {"synchronise": "MPI_Barrier"}
_FENCES = {"issue": "MPI_Put", "synchronise": "MPI_Win_fence"}
_SENDS = {"issue": "MPI_Isend", "wait": "MPI_Waitall", "test": "MPI_Testall"}
STYLES: dict[str, Style] = {
    "sendrecv_replace": Style("send", "wait", "wait", {"wait": "MPI_Sendrecv_replace"}),
    "sendrecv": Style("send", "wait", "wait", {"wait": "MPI_Sendrecv"}),
    "isend_wait": Style("send", "issue", "wait", _SENDS),
    "isend_test": Style("send", "issue", "wait", _SENDS),
    "isend_test_apart": Style("send", "issue", "wait", _SENDS),
    "persistent": Style("send", "issue", "wait", {"issue": "MPI_Startall", "wait": "MPI_Waitall"}),
    "partitioned": Style("send", "issue", "wait", {"issue": "MPI_Pready_range", "wait": "MPI_Waitall"}),
    "neighbourhood": Style(None, "issue", "wait", {"issue": "MPI_Ineighbor_alltoallw", "wait": "MPI_Wait"}),
    "put_fence": Style("put", "issue", "synchronise", _FENCES),
    "put_fence_two_windows": Style("put", "issue", "synchronise", _FENCES),
    "pscw": Style(
        "put", "issue", "synchronise", {"issue": "MPI_Put", "synchronise": ("MPI_Win_start", "MPI_Win_wait")}
    ),
    "put_flag": Style(
        "put",
        "issue",
        "wait",
        {"issue": "MPI_Put", "wait": "MPI_Win_sync", "synchronise": "MPI_Accumulate"},
    ),
    "get_from_home": Style("get", "issue", "wait", {"issue": "MPI_Rget", "wait": "MPI_Waitall", **_SHARED}),
    "shared_copy": Style(None, "copy", "copy", _SHARED),
    "shared_direct": Style(None, "copy", "copy", _SHARED),
    "two_level": Style(None, "issue", "wait", {"issue": "MPI_Rget", "wait": "MPI_Waitall", **_SHARED}),
}
_ALWAYS = {"skew": "MPI_Sendrecv_replace"}
_SOURCES = {
    "root": {"distribute": "MPI_Scatter", "gather": "MPI_Gather"},
    "file": {"distribute": "MPI_File_read_at", "gather": "MPI_File_write_at"},
}


def call_of(parameters: Mapping[str, str], part: str, occurrence: int = 0) -> str:
    """Return the MPI call that names a part, or the part's own name.

    Args: occurrence: which interval of the part in its step, 0-based.
    """
    style = STYLES.get(parameters.get("variant", ""))
    calls = {**_ALWAYS, **_SOURCES.get(parameters.get("source", ""), {}), **(style.calls if style else {})}
    named = calls.get(part, part)
    return named if isinstance(named, str) else named[min(occurrence, len(named) - 1)]


@dataclass(frozen=True, slots=True)
class Transfers:
    """The transfers of one rank in each step of a cell."""

    style: Style
    grid: RankGrid
    n: int
    row: int
    column: int
    element_bytes: int

    def started(self, step: int) -> list[TraceMessage]:
        """Return what the rank sends, puts or gets in a step."""
        if self.style.moves == "get":
            return self._gets(step)
        if step + 1 >= self.grid.steps or self.style.moves is None:
            return []
        return [
            TraceMessage(self.style.moves, to, tag, self._strip_bytes, (step, tag, to))
            for tag, to, _ in self._streams()
        ]

    def ended(self, step: int) -> list[TraceMessage]:
        """Return what the rank has received when a step's transfer is complete."""
        if step + 1 >= self.grid.steps or self.style.moves in (None, "get"):
            return []
        kind = "receive" if self.style.moves == "send" else "arrival"
        return [
            TraceMessage(kind, origin, tag, self._strip_bytes, (step, tag, self._me))
            for tag, _, origin in self._streams()
        ]

    def skewed(self) -> list[TraceMessage]:
        """Return the initial alignment: row i of A moves left by i, column j of B up by j."""
        found = []
        for tag, by, size in ((TAG_A, self.row, self.grid.columns), (TAG_B, self.column, self.grid.rows)):
            if size > 1 and by % size:
                to, origin = (self._around(tag, -by), self._around(tag, by))
                found.append(TraceMessage("send", to, tag, self._strip_bytes, (-1, tag, to)))
                found.append(TraceMessage("receive", origin, tag, self._strip_bytes, (-1, tag, self._me)))
        return found

    def _gets(self, step: int) -> list[TraceMessage]:
        """Return panel k of A from column k mod C of the own row, and that of B from row k mod R of the own column."""
        if step >= self.grid.steps:
            return []
        k = (self.row + self.column + step) % self.grid.steps
        panel_bytes = self.n // self.grid.steps * self.element_bytes
        a = TraceMessage("get", self._at(self.row, k % self.grid.columns), 0, self.n // self.grid.rows * panel_bytes)
        b = TraceMessage("get", self._at(k % self.grid.rows, self.column), 0, self.n // self.grid.columns * panel_bytes)
        return [ends for ends in (a, b) if ends.partner != self._me]

    def _streams(self) -> list[tuple[int, int, int]]:
        """Return tag, target and source of each matrix that moves."""
        found = []
        if self.grid.columns > 1:
            found.append((TAG_A, self._around(TAG_A, -1), self._around(TAG_A, 1)))
        if self.grid.rows > 1:
            found.append((TAG_B, self._around(TAG_B, -1), self._around(TAG_B, 1)))
        return found

    def _around(self, tag: int, by: int) -> int:
        """Return the rank `by` columns (A) or rows (B) away."""
        return self._at(self.row, self.column + by) if tag == TAG_A else self._at(self.row + by, self.column)

    def _at(self, row: int, column: int) -> int:
        return (row % self.grid.rows) * self.grid.columns + column % self.grid.columns

    @property
    def _me(self) -> int:
        return self._at(self.row, self.column)

    @property
    def _strip_bytes(self) -> int:
        return (self.n // self.grid.rows) * (self.n // self.grid.columns) * self.element_bytes


def transfers_of(parameters: Mapping[str, str], rank: int, ranks: int) -> Transfers | None:
    """Return the transfers of a rank, or None if the style has none or the cell does not state its n."""
    style = STYLES.get(parameters.get("variant", ""))
    if style is None or "n" not in parameters:
        return None
    grid = grid_of(ranks, parameters.get("grid", "auto"))
    row, column = divmod(rank, grid.columns)
    return Transfers(
        style, grid, int(parameters["n"]), row, column, 2 if parameters.get("numbers") == "bfloat16" else 8
    )


def first_and_last(places: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return by step the places of its first and last span, from (step, place) of spans in time order."""
    found: dict[int, tuple[int, int]] = {}
    for step, place in places:
        found[step] = (found[step][0] if step in found else place, place)
    return found


_OWN = ("dgemm", "copy", "generate")  # parts that need no MPI; the others are calls of it, or wait for its work


@dataclass(frozen=True, slots=True)
class CellTimelines:
    """A function that turns the blocks of one kind of cell into spans.

    Args: spans: takes the cell, the blocks of one rank, the number of ranks and the steps.
    """

    spans: Callable[[Cell, Sequence[SampleBlock], int, Sequence[Intervals]], list[Span]]


def _multiply(cell: Cell, blocks: Sequence[SampleBlock], ranks: int, intervals: Sequence[Intervals]) -> list[Span]:
    """Return the parts of repetitions within the whole multiplication, which has the cell's label."""
    steps = {(event.rank, event.part): event.steps for event in intervals}
    repetitions = {(b.rank, b.phase): len(b.duration_ns) for b in blocks if b.part == TOTAL}
    found: list[tuple[str, Span]] = []
    transfers = transfers_of(cell.parameters, blocks[0].rank, ranks) if blocks else None
    for block in blocks:
        name = PARTS.get(block.part, f"part {block.part}")
        count = repetitions.get((block.rank, block.phase), 0)
        each = len(block.duration_ns) // count if count else 0
        known = steps.get((block.rank, block.part), ())
        for place, (begin_ns, end_ns) in enumerate(_times(block)):
            attributes = {"cell": cell.cell, "steady": int(block.phase == "steady")}
            if each:
                attributes["repetition"] = place // each
                attributes |= {"step": known[place % each]} if len(known) == each and block.part != TOTAL else {}
            whole = block.part == TOTAL
            inside = place % each if each and len(known) == each else 0
            occurrence = known[:inside].count(known[inside]) if inside else 0
            shown = cell.label if whole else call_of(cell.parameters, name, occurrence)
            found.append((name, Span(shown, begin_ns, end_ns, not whole and name not in _OWN, attributes)))
    return _with_messages(found, transfers)


def _with_messages(found: Sequence[tuple[str, Span]], transfers: Transfers | None) -> list[Span]:
    """Return the spans, with messages at those that start or complete a transfer."""
    spans = [span for _, span in found]
    if transfers is None:
        return spans
    extra: dict[int, list[TraceMessage]] = {}
    for repetition, places in _by_repetition(found).items():
        first = {step: first for step, (first, _) in first_and_last(places.get(transfers.style.starts, ())).items()}
        last = {step: last for step, (_, last) in first_and_last(places.get(transfers.style.ends, ())).items()}
        made = [(place, transfers.started(step)) for step, place in first.items()]
        made += [(place, transfers.ended(step)) for step, place in last.items()]
        made += [(place, transfers.skewed()) for _, place in places.get("skew", ())]
        for place, messages in made:
            extra.setdefault(place, []).extend(
                replace(m, flow=(*repetition, *m.flow) if m.flow else ()) for m in messages
            )
    return [replace(span, messages=tuple(extra.get(place, ()))) for place, span in enumerate(spans)]


def _by_repetition(found: Sequence[tuple[str, Span]]) -> dict[tuple[int, ...], dict[str, list[tuple[int, int]]]]:
    """Return by (cell, steady, repetition) and part the step and place of each span, in time order."""
    placed: dict[tuple[int, ...], dict[str, list[tuple[int, int]]]] = {}
    for place, (part, span) in sorted(enumerate(found), key=lambda numbered: numbered[1][1].begin_ns):
        about = span.attributes
        if {"repetition", "step"} <= about.keys():
            key = about["cell"], about["steady"], about["repetition"]
            placed.setdefault(key, {}).setdefault(part, []).append((about["step"], place))
    return placed


def _one_way(cell: Cell, blocks: Sequence[SampleBlock], ranks: int, intervals: Sequence[Intervals]) -> list[Span]:
    """Return messages as MPI_Send on the sending rank and MPI_Recv on the other. Part 1 has those of other_bytes."""
    found = []
    sender, _ = ends(cell.parameters, ranks)
    for block in blocks:
        name = "MPI_Send" if block.rank == sender else "MPI_Recv"
        for place, (begin_ns, end_ns) in enumerate(_times(block)):
            attributes = {"cell": cell.cell, "allocation": block.allocation, "message": block.seq0 + place}
            attributes |= {"part": block.part} if block.part else {}
            found.append(Span(name, begin_ns, end_ns, True, attributes | {"steady": int(block.phase == "steady")}))
    return found


def _times(block: SampleBlock) -> list[tuple[int, int]]:
    """Return begin and end of each sample, nanoseconds on the rank's clock, or [] without start times."""
    if block.start_ns is None:
        return []
    ends = block.start_ns + block.duration_ns
    return list(zip(block.start_ns.tolist(), ends.tolist(), strict=True))


# By the names that experiments give (`Experiment.timelines`).
KINDS: dict[str, CellTimelines] = {"multiplication": CellTimelines(_multiply), "messages": CellTimelines(_one_way)}


def kind_of(experiment: str, parameters: Mapping[str, str]) -> CellTimelines | None:
    """Return the entry for a cell, or None if its samples have no start times."""
    name = experiment_named(experiment).timelines.get(parameters.get("pattern", ""))
    return None if name is None else KINDS[name]


def with_times() -> str:
    """Return which cells have start times, such as `p2p pattern=one_way and cannon pattern=multiply`."""
    return " and ".join(
        f"{experiment.name} pattern={pattern}" for experiment in EXPERIMENTS for pattern in experiment.timelines
    )


_WITH_TIMES = with_times()


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
            raise UsageError(f"{run} has no launch {launch} that has ended; its launches are in {run / 'launches'}")
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
    which = "cell with start times" if cell is None else f"cell {cell}"
    where = f"launch {launch}" if launch is not None else "no launch"
    raise RecordError(
        f"{run}: {where} measured {'no ' if launch is not None else 'a '}{which}; see: slowpath report {run}"
    )


def _richness(cells: Sequence[Cell]) -> tuple[int, int]:
    """Return how many styles the cells have, then how many cells there are."""
    return len({(cell.experiment, cell.parameters.get("variant")) for cell in cells}), len(cells)


def _wanted(cells: Sequence[Cell], cell: int | None, run: Path) -> dict[int, Cell]:
    if cell is not None:
        chosen = next((known for known in cells if known.cell == cell), None)
        if chosen is None:
            raise UsageError(f"{run} has no cell {cell}; it has 0 to {max((c.cell for c in cells), default=0)}")
        if kind_of(chosen.experiment, chosen.parameters) is None:
            raise UsageError(
                f"cell {cell} ({chosen.experiment} pattern={chosen.parameters.get('pattern')}) has no start times; "
                f"traces are of {_WITH_TIMES}"
            )
        return {cell: chosen}
    found = {cell.cell: cell for cell in cells if kind_of(cell.experiment, cell.parameters)}
    if not found:
        raise RecordError(f"{run}: no cell has start times; traces are of {_WITH_TIMES}")
    return found


def _trace(title: str, record: LaunchRecord, cells: Sequence[Cell]) -> Trace:
    blocks = record.cell_blocks([cell.cell for cell in cells])
    spans: dict[int, list[Span]] = {rank: [] for rank in range(record.size)}
    for cell in cells:
        kind = kind_of(cell.experiment, cell.parameters)
        for rank in spans if kind else ():
            own = [block for block in blocks[cell.cell] if block.rank == rank]
            spans[rank] += kind.spans(cell, own, record.size, record.events.intervals(cell.cell)) if kind else []
    if not any(spans.values()):
        raise RecordError(f"{record.folder}: its blocks have no start times; an older engine may have written it")
    known = {rank.rank: rank for rank in record.ranks}
    rows = [
        TraceThread(
            rank, known[rank].host if rank in known else "unknown", known[rank].pid if rank in known else None, own
        )
        for rank, own in spans.items()
    ]
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
    several = len(first) > 1
    note = "the nodes' clocks are not synchronised: each node's times begin at its first interval, and drift apart"
    return moved, [note] if several else []


def _began_ns(info: LaunchInfo) -> int | None:
    """Return the wall-clock time at which the launch began, a little before the trace's zero."""
    if info.started is None:
        return None
    try:
        return int(datetime.fromisoformat(info.started).timestamp() * 1e9)
    except ValueError:
        return None
