# SPDX-License-Identifier: Apache-2.0
"""What follows for a campaign from the engine's judgement of its cells."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.engine_description import Verdicts
from slowpath.core.errors import UsageError
from slowpath.core.plan import Cell
from slowpath.plan.tables import wrong


def require_accepted(cells: Sequence[Cell], verdicts: Verdicts, source: str) -> None:
    """Raises UsageError for the first refused cell, naming the campaign's file, its table and the cell."""
    for cell in cells:
        verdict = verdicts.get(cell.cell)
        if verdict is not None and verdict.reason is not None:
            raise wrong(source, f"[[cells]] '{cell.group}'", "parameters", f"{cell.label}: {verdict.reason}")


def require_metric(cell: Cell, verdicts: Verdicts, metric: str) -> None:
    """Raises UsageError where the cell does not yield the metric that it is to be compared by."""
    verdict = verdicts.get(cell.cell)
    if verdict is not None and metric not in verdict.metrics:
        raise UsageError(
            f"key metric: '{metric}' is not measured by cell '{cell.label}', which yields "
            f"{', '.join(verdict.metrics)}; take one of these, or narrow where"
        )
