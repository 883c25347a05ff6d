# SPDX-License-Identifier: Apache-2.0
"""Tables of other benchmarks become a run folder: one launch a file, one cell a row, one sample a cell.

A row's mean is the whole timed loop divided by its repetitions, so the sample is that loop: one batch. Every mean is
flagged as suspect, because a few interrupted repetitions decide it; nothing is made up for what was not printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from slowpath.core.campaign import Campaign, CellsTable
from slowpath.core.campaign_file import campaign_toml
from slowpath.core.files import write_atomically
from slowpath.core.plan import Plan
from slowpath.record.events import CellBegin, CellEnd, Event, LaunchBegin, LaunchEnd, Note
from slowpath.record.folder import LaunchInfo, create_run_folder, launch_folder, write_launch, write_run
from slowpath.record.imports.conditions import Conditions, condition_words
from slowpath.record.imports.printed import write_printed
from slowpath.record.imports.source import cannot_write, imported_campaign, kept_log, printable, run_info
from slowpath.record.imports.table import LogTable, TableLog
from slowpath.record.imports.table_plan import PLACEMENT, Planned, build_plan, planned_cells
from slowpath.record.plan_files import write_plan
from slowpath.record.writing import Block, write_blocks

_MEASURES = (
    "It measures what slowpath has an experiment for, with samples, under the launch conditions of this machine."
)
_NONE = "None of the tables holds an operation that slowpath has an experiment for."


def campaign_of(plan: Plan, logs: Sequence[TableLog], cells: Sequence[Sequence[Planned]]) -> Campaign:
    """One group of cells a table; none of it can be run where there is no group."""
    groups, why = [], [_MEASURES]
    for log, group in zip(logs, cells, strict=True):
        for table in log.tables:
            mine = [one for one in group if one.table is table]
            if lengths := _lengths(table, mine):
                groups.append(_group(mine, lengths))
                why.append(f"{groups[-1].name}: from {printable(log.path.name)}")
    return imported_campaign(plan, "tables", why if groups else [*why, _NONE], groups)


def _lengths(table: LogTable, cells: Sequence[Planned]) -> list[str]:
    """The lengths that the engine takes: put moves 8 bytes and multiples."""
    if table.measure == "operation":
        return []
    every = dict.fromkeys(cell.row.message_bytes for cell in cells if cell.row.message_bytes is not None)
    return [str(size) for size in every if table.measure != "put" or (size and size % 8 == 0)]


def _group(cells: Sequence[Planned], lengths: list[str]) -> CellsTable:
    cell = cells[0].cell
    parameters = {key: value for key, value in cell.parameters.items() if key != "message_bytes"}
    name = printable(f"{cell.group}, {cell.environment}")
    return CellsTable(name, cell.experiment, {**parameters, "message_bytes": lengths})


# campaign.toml of imported tables: those rows that the engine can measure here, as a campaign.


_NO_CLOCK_NS = 0  # a log says how long things took, never when
_MEAN = "a mean over all repetitions, in which a few interrupted ones weigh more than all others; no spread is known"
_CONDITIONS = (
    "Imported from tables of other benchmarks, which do not state how they were launched: each condition is called "
    "by its file's name."
)


def write_tables(
    logs: Sequence[TableLog], labels: Sequence[str], out: Path | None, stated: Mapping[str, Conditions]
) -> Path:
    """Writes the run folder of logs that were read. stated: label -> what the user states of its launch.

    Returns: the folder, `out` or one made under slowpath-runs.  Raises: EnvironmentFailure.
    """
    cells = planned_cells(logs, labels)
    plan = build_plan(logs, labels, cells, stated)
    folder = create_run_folder("imported", out)
    write_plan(folder / "plan.json", plan)
    campaign = campaign_toml(campaign_of(plan, logs, cells))
    write_atomically(folder / "campaign.toml", campaign)
    for number, (log, group) in enumerate(zip(logs, cells, strict=True), start=1):
        _write_launch(folder, number, log, group)
    missing = [
        f"{label}: {text}"
        for log, label in zip(logs, labels, strict=True)
        for text in dict.fromkeys(text for table in log.tables for text in _missing(table))
    ]
    missing += [f"{label}: stated at import: {condition_words(condition)}" for label, condition in stated.items()]
    write_run(folder, run_info(plan, logs, campaign, _CONDITIONS, missing))
    return folder


def _missing(table: LogTable) -> Iterator[str]:
    for what, why in table.missing.items():
        yield f"{table.benchmark}: {what.replace('_', ' ')}: {why}"


def _write_launch(folder: Path, number: int, log: TableLog, group: Sequence[Planned]) -> None:
    launch = launch_folder(folder, number)
    try:
        launch.mkdir()
        write_blocks(launch / "samples.blk", (block for planned in group for block in _blocks(number, planned)))
    except OSError as error:
        raise cannot_write(launch, error) from error
    write_printed(launch, group)
    events = _events(number, log, group)
    write_atomically(launch / "events.jsonl", b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    write_atomically(launch / "stdout", kept_log(log.content))
    write_launch(folder, LaunchInfo(number, 1, group[0].cell.environment, PLACEMENT, ended="ok"))


def _blocks(launch: int, planned: Planned) -> Iterator[Block]:
    """The block of one row; none where it was skipped."""
    sample = planned.table.sample(planned.row) if planned.measured else None
    if sample is not None:
        yield Block(planned.cell.cell, launch, "steady", [sample[0]], batch=sample[1], flags=("imported", "suspect"))


def _events(launch: int, log: TableLog, group: Sequence[Planned]) -> Iterator[Event]:
    ranks = max(planned.table.ranks or 2 for planned in group)
    yield LaunchBegin(_NO_CLOCK_NS, launch, ranks)
    for line, text in log.notes:
        yield Note(_NO_CLOCK_NS, f"line {line}, not a table's: {text}")
    counts = {"ok": 0, "skipped": 0, "failed": 0}
    for planned in group:
        status = "failed" if planned.row.wrong else "skipped" if planned.cell.skip else "ok"
        counts[status] += 1
        yield CellBegin(_NO_CLOCK_NS, planned.cell.cell)
        if status == "ok":
            yield Note(_NO_CLOCK_NS, f"line {planned.row.line}: {_MEAN}", planned.cell.cell)
        yield CellEnd(
            _NO_CLOCK_NS,
            planned.cell.cell,
            status,
            planned.row.wrong or planned.cell.skip,
            batch=planned.row.repetitions,
        )
    yield LaunchEnd(_NO_CLOCK_NS, counts["ok"], counts["skipped"], counts["failed"])
