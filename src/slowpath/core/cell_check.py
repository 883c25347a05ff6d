# SPDX-License-Identifier: Apache-2.0
"""Which cells an engine accepts: its answer, and how it is asked. The engine is the one judge of a cell.

`run.engine.check` asks it; where a plan is made without an engine, nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from slowpath.core.plan import Cell


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
