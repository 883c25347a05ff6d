# SPDX-License-Identifier: Apache-2.0
"""campaign.toml of an imported run: the logs' cells as a campaign that `slowpath run` measures here."""

from __future__ import annotations

import json
from collections.abc import Sequence

from slowpath.core.plan import Cell, Plan
from slowpath.record.imports.log import Log
from slowpath.record.imports.source import campaign_head

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
    # JSON text is TOML text for printable strings; a file's stem may hold anything.
    lines = [f"# from {json.dumps(log.path.name)}", "[[cells]]", f"name = {json.dumps(_printable(label))}",
             f"experiment = {json.dumps(cells[0].experiment)}", "[cells.parameters]"]  # fmt: skip
    for name in cells[0].parameters:
        values = list(dict.fromkeys(cell.parameters[name] for cell in cells))
        lines.append(f"{name} = {json.dumps(values[0] if len(values) == 1 else values)}")
    return "\n".join(lines) + "\n"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:80]
