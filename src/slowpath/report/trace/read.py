# SPDX-License-Identifier: Apache-2.0
"""A trace from a run folder: one launch, one cell or all that have start times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from slowpath.core.errors import RecordError, UsageError
from slowpath.core.plan import Cell
from slowpath.experiments.measured.load import LaunchRecord, load_launch
from slowpath.record.folder import LaunchInfo, read_launches, read_run
from slowpath.record.plan_files import read_plan
from slowpath.report.trace.kinds import kind_of, with_times
from slowpath.report.trace.model import Row, Span, Trace

_WITH_TIMES = with_times()


def read_trace(run: Path, cell: int | None = None, launch: int | None = None) -> Trace:
    """The first launch that measured the cell, or launch number `launch`.

    Args: cell: its number in plan.json; None: every cell of the launch that has start times.
    Raises: UsageError: no such cell or launch.  RecordError: nothing in it can be traced.
    """
    title = read_run(run).title
    cells = _wanted(read_plan(run / "plan.json").cells, cell, run)
    infos = read_launches(run)
    if launch is not None:
        infos = [info for info in infos if info.launch == launch]
        if not infos:
            raise UsageError(f"{run} has no launch {launch} that is over; its launches are in {run / 'launches'}")
    for info in infos:
        record = load_launch(run, info)
        measured = [cells[number] for number in record.measured_cells() if number in cells]
        if measured:
            return _trace(title, record, measured)
    which = "cell with start times" if cell is None else f"cell {cell}"
    where = f"launch {launch}" if launch is not None else "no launch"
    raise RecordError(
        f"{run}: {where} measured {'no ' if launch is not None else 'a '}{which}; see: slowpath report {run}"
    )


def _wanted(cells: Sequence[Cell], cell: int | None, run: Path) -> dict[int, Cell]:
    if cell is not None:
        one = next((known for known in cells if known.cell == cell), None)
        if one is None:
            raise UsageError(f"{run} has no cell {cell}; it has 0 to {max((c.cell for c in cells), default=0)}")
        if kind_of(one.experiment, one.parameters) is None:
            raise UsageError(
                f"cell {cell} ({one.experiment} pattern={one.parameters.get('pattern')}) has no start times; "
                f"traces are of {_WITH_TIMES}"
            )
        return {cell: one}
    found = {one.cell: one for one in cells if kind_of(one.experiment, one.parameters)}
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
        raise RecordError(f"{record.folder}: its blocks carry no start times; was it written by an older engine?")
    known = {rank.rank: rank for rank in record.ranks}
    rows = [Row(rank, known[rank].host if rank in known else "unknown", known[rank].pid if rank in known else None, own)
            for rank, own in spans.items()]  # fmt: skip
    moved, notes = _from_zero(rows)
    label = f"{title}: launch {record.info.launch}" + (f", {cells[0].label}" if len(cells) == 1 else "")
    return Trace(label, _began_ns(record.info), moved, [*record.notes, *notes])


def _from_zero(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Times from the beginning of each node's first span: nodes' clocks have no common zero."""
    first: dict[str, int] = {}
    for row in rows:
        for span in row.spans:
            first[row.host] = min(first.get(row.host, span.begin_ns), span.begin_ns)
    moved = [
        replace(row, spans=[replace(s, begin_ns=s.begin_ns - first[row.host], end_ns=s.end_ns - first[row.host])
                            for s in row.spans]) for row in rows
    ]  # fmt: skip
    several = len(first) > 1
    note = "the nodes' clocks are not one: each node's times begin at its own first interval, and drift apart after it"
    return moved, [note] if several else []


def _began_ns(info: LaunchInfo) -> int | None:
    """When the launch began, by the wall clock; the trace's own zero is a little later."""
    if info.started is None:
        return None
    try:
        return int(datetime.fromisoformat(info.started).timestamp() * 1e9)
    except ValueError:
        return None
