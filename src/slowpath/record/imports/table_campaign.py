# SPDX-License-Identifier: Apache-2.0
"""campaign.toml of imported tables: those rows that the engine can measure here, as a campaign."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.plan import Plan
from slowpath.core.toml import table_text
from slowpath.record.imports.source import campaign_head, printable
from slowpath.record.imports.table import Table, TableLog
from slowpath.record.imports.table_plan import Planned

_MEASURES = (
    "It measures what slowpath has an experiment for, with samples, under the launch conditions of this machine."
)
_NONE = "# None of the tables holds an operation that slowpath has an experiment for.\n"


def campaign_text(plan: Plan, logs: Sequence[TableLog], cells: Sequence[Sequence[Planned]]) -> str:
    """TOML that `plan.campaign` reads where there is a group: one group of cells a table."""
    parts = [campaign_head(plan, "tables", _MEASURES)]
    for log, group in zip(logs, cells, strict=True):
        for table in log.tables:
            mine = [cell for cell in group if cell.table is table]
            if lengths := _lengths(table, mine):
                parts.append(_group(log, mine, lengths))
    return "\n".join(parts if len(parts) > 1 else [*parts, _NONE])


def _lengths(table: Table, cells: Sequence[Planned]) -> list[str]:
    """The lengths that the engine takes: put moves 8 bytes and multiples."""
    if table.measure == "operation":
        return []
    every = dict.fromkeys(cell.row.message_bytes for cell in cells if cell.row.message_bytes is not None)
    return [str(size) for size in every if table.measure != "put" or (size and size % 8 == 0)]


def _group(log: TableLog, cells: Sequence[Planned], lengths: list[str]) -> str:
    cell = cells[0].cell
    parameters = {key: value for key, value in cell.parameters.items() if key != "message_bytes"}
    group = {
        "name": printable(f"{cell.group}, {cell.environment}"),
        "experiment": cell.experiment,
        "parameters": {**parameters, "message_bytes": lengths},
    }
    return table_text("cells", group, [f"from {printable(log.path.name)}"])
