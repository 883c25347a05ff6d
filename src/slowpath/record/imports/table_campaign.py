# SPDX-License-Identifier: Apache-2.0
"""campaign.toml of imported tables: those rows that the engine can measure here, as a campaign."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.campaign import Campaign, CellsTable
from slowpath.core.plan import Plan
from slowpath.record.imports.source import imported_campaign, printable
from slowpath.record.imports.table import LogTable, TableLog
from slowpath.record.imports.table_plan import Planned

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
