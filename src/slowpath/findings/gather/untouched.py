# SPDX-License-Identifier: Apache-2.0
"""Cells with buffers that nobody wrote, where the same was measured with buffers that somebody did. Pure.

What their first messages take more than those of their twins is the cost of the first touch (SP012). Held against their
own later messages they would show it a second time, under the name of another first use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from slowpath.core.cell_results import CellResult

TOUCH, TOUCHED, UNTOUCHED = "touch", "write", "none"


def is_untouched(cell: CellResult) -> bool:
    """Whether a side of it leaves its buffers as the system gives them."""
    return UNTOUCHED in cell.parameters.get(TOUCH, TOUCHED).split(":")


def with_touched_twin(cells: Iterable[CellResult]) -> frozenset[int]:
    """Numbers of the untouched cells of which another one differs in nothing but that it is touched."""
    every = list(cells)
    touched = {_without_touch(cell) for cell in every if not is_untouched(cell)}
    return frozenset(cell.cell for cell in every if is_untouched(cell) and _without_touch(cell) in touched)


def _without_touch(cell: CellResult) -> Hashable:
    rest = tuple(sorted((name, value) for name, value in cell.parameters.items() if name != TOUCH))
    return cell.experiment, cell.mpi, cell.environment, cell.placement, rest
