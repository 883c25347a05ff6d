# SPDX-License-Identifier: Apache-2.0
"""What imported tables amount to as a plan: a cell for each row, a launch for each file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Launch, Placement, Plan, Side, cell_key
from slowpath.core.units import format_bytes
from slowpath.record.imports.conditions import Conditions, differences, not_stated, question
from slowpath.record.imports.table import LogTable, Measure, TableLog, TableRow

PLACEMENT = "as logged"
_MINIMUM_EFFECT = 0.03


class _Measured(NamedTuple):
    experiment: str
    metric: str


# Where a row's time goes.
EXPERIMENTS: dict[Measure, _Measured] = {
    "ping_pong": _Measured("p2p", "half_round_trip_latency_s"),
    "windowed": _Measured("p2p", "time_per_message_s"),
    "put": _Measured("put", "time_per_put_s"),
    "operation": _Measured("printed", "operation_s"),  # no experiment of slowpath measures it
}


class Planned(NamedTuple):
    """One row as a cell."""

    cell: Cell
    table: LogTable
    row: TableRow

    @property
    def measured(self) -> bool:
        """Whether the row gives a sample: it has a time, and no wrong data."""
        return not (self.cell.skip or self.row.wrong)


def planned_cells(logs: Sequence[TableLog], labels: Sequence[str]) -> list[list[Planned]]:
    """The cells of each log, numbered over all logs in the order of their rows."""
    numbers = count()
    return [
        [
            Planned(_cell(next(numbers), table, name, row, label), table, row)
            for table, name in zip(log.tables, _names(log.tables), strict=True)
            for row in table.rows
        ]
        for log, label in zip(logs, labels, strict=True)
    ]


def build_plan(
    logs: Sequence[TableLog],
    labels: Sequence[str],
    cells: Sequence[Sequence[Planned]],
    stated: Mapping[str, Conditions],
) -> Plan:
    """Plan of the imported run; `labels` are distinct, one a log. stated: label -> conditions of its launch."""
    return Plan(
        schema=PLAN_SCHEMA,
        campaign="imported",
        title=f"Imported from {len(logs)} log{'s' if len(logs) > 1 else ''} of other benchmarks",
        ranks=max((table.ranks or 2 for log in logs for table in log.tables), default=2),
        rounds=1,
        seed=0,
        minimum_effect=_MINIMUM_EFFECT,
        environments=[Environment(label, stated=dict(stated.get(label, {}))) for label in labels],
        placements=[Placement(PLACEMENT, "unknown")],
        cells=[planned.cell for group in cells for planned in group],
        contrasts=_between_files(cells, stated),
        launches=[
            Launch(i, 1, label, PLACEMENT, [planned.cell.cell for planned in group], seed=0)
            for i, (label, group) in enumerate(zip(labels, cells, strict=True), start=1)
        ],
    )


def _names(tables: Sequence[LogTable]) -> list[str]:
    """Benchmark and variant of each table; one that occurs again in the file gets a number."""
    names: list[str] = []
    for table in tables:
        name = ", ".join(part for part in (table.benchmark, table.variant) if part)
        plain, again = name, 1
        while name in names:
            again += 1
            name = f"{plain} ({again})"
        names.append(name)
    return names


def _cell(number: int, table: LogTable, name: str, row: TableRow, label: str) -> Cell:
    parameters = dict(table.parameters)
    if row.message_bytes is not None:
        parameters["message_bytes"] = str(row.message_bytes)
    measured = EXPERIMENTS[table.measure]
    if table.measure == "operation":
        parameters = {"pattern": "operation", "operation": table.benchmark, **parameters}
    size = "" if row.message_bytes is None else f"{format_bytes(row.message_bytes)}, "
    key = cell_key(
        measured.experiment, {**parameters, "of": name}, {"log": label}, "unknown", 1, table.ranks or 2, "imported"
    )
    return Cell(
        number,
        key,
        name,
        f"{name}, {size}{label}",
        measured.experiment,
        parameters,
        environment=label,
        placement=PLACEMENT,
        skip=row.reason,
    )


def _between_files(cells: Sequence[Sequence[Planned]], stated: Mapping[str, Conditions]) -> list[Contrast]:
    """Return each row against the same row of the first file that has it."""
    first: dict[tuple[str, int | None], Planned] = {}
    made: list[Contrast] = []
    for group in cells:
        for planned in group:
            if not planned.measured:
                continue
            base = first.setdefault((planned.cell.group, planned.row.message_bytes), planned)
            if base.cell.environment != planned.cell.environment:  # rows of one log are no two sides
                made.append(_contrast(len(made) + 1, base, planned, stated))
    return made


def _contrast(number: int, a: Planned, b: Planned, stated: Mapping[str, Conditions]) -> Contrast:
    measured = EXPERIMENTS[b.table.measure]
    names = a.cell.environment, b.cell.environment
    conditions = [stated.get(name, {}) for name in names]
    differ = [*differences(*conditions), "file"]
    asked = question(f"{names[1]}, {b.cell.group},", names[0], differ, not_stated(*conditions))
    asked += " One mean a file has no interval."
    side_a, side_b = (Side(planned.cell.cell, "steady", planned.cell.environment) for planned in (a, b))
    group = f"between files, {b.cell.group}"
    return Contrast(f"files-{number}", group, asked, "environment", measured.metric, side_a, side_b)
