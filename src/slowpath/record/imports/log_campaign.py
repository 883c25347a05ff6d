# SPDX-License-Identifier: Apache-2.0
"""campaign.toml of an imported run: the logs' cells as a campaign that `slowpath run` measures here."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.plan import Cell, Plan
from slowpath.core.toml import table_text
from slowpath.record.imports.log import Log
from slowpath.record.imports.source import campaign_head, printable

_MEASURES = "It measures the same messages with this program's engine, under the launch conditions of this machine."


def campaign_text(plan: Plan, logs: Sequence[Log]) -> str:
    """TOML that `plan.campaign` reads: one group of cells a log."""
    parts = [campaign_head(plan, "logs", _MEASURES)]
    by_environment = {environment.name: [] for environment in plan.environments}  # type: dict[str, list[Cell]]
    for cell in plan.cells:
        by_environment[cell.environment].append(cell)
    for log, (label, cells) in zip(logs, by_environment.items(), strict=True):
        parts.append(_group(log, label, cells))
    return "\n".join(parts)


def _group(log: Log, label: str, cells: Sequence[Cell]) -> str:
    parameters: dict[str, str | list[str]] = {}
    for name in cells[0].parameters:
        values = list(dict.fromkeys(cell.parameters[name] for cell in cells))
        parameters[name] = values[0] if len(values) == 1 else values
    group = {"name": printable(label), "experiment": cells[0].experiment, "parameters": parameters}
    return table_text("cells", group, [f"from {printable(log.path.name)}"])
