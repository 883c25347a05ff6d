# SPDX-License-Identifier: Apache-2.0
"""Which cells an engine accepts, as the planner asks for it: the engine is the one judge of a cell.

The engine itself is asked by `run.engine.check`; where a plan is made without an engine, nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from slowpath.core.errors import UsageError
from slowpath.core.plan import Cell
from slowpath.plan.tables import wrong


class Verdict(msgspec.Struct, frozen=True):
    """One cell, judged. reason: why it is refused, and what to do; None: it is accepted and yields `metrics`."""

    cell: int
    reason: str | None = None
    metrics: tuple[str, ...] = ()


Verdicts = Mapping[int, Verdict]  # by Cell.cell
CheckCells = Callable[[Sequence[Cell], int], Verdicts]  # (cells, ranks); at least one cell


def nothing_checked(cells: Sequence[Cell], ranks: int) -> Verdicts:
    """No engine is asked."""
    return {}


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
