# SPDX-License-Identifier: Apache-2.0
"""Cells that were measured as they are and with something changed, in the same launches. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.roles import Roles, is_effort


@dataclass(frozen=True)
class Variation:
    """Both sides of a difference as they are and with something changed, seconds, of the same launches in one order."""

    slow_s: Sequence[float]
    slow_varied_s: Sequence[float]
    fast_s: Sequence[float]
    fast_varied_s: Sequence[float]

    @property
    def times_s(self) -> tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]:
        """As `stats.removed` takes them."""
        return self.slow_s, self.slow_varied_s, self.fast_s, self.fast_varied_s


Changes = Mapping[str, str]


class Variations:
    """Cells of one run, found by what they are."""

    def __init__(self, cells: Iterable[CellResult], roles: Roles) -> None:
        self._roles = roles
        self._cells: dict[Hashable, CellResult] = {}
        for cell in cells:
            if cell.metrics and cell.copy == 1:
                self._cells.setdefault(self._key(cell, {}), cell)

    def find(
        self,
        cells: tuple[CellResult, CellResult],
        changes: tuple[Changes, Changes],
        metric: str,
        phases: tuple[str, str],
    ) -> Variation | None:
        """As `Evidence.variation` has it."""
        found: list[Sequence[float]] = []
        for cell, changed, phase in zip(cells, changes, phases, strict=True):
            for one in (self._cells.get(self._key(cell, {})), self._cells.get(self._key(cell, changed))):
                estimate = one.estimate(metric, phase) if one is not None else None
                if estimate is None:
                    return None
                found.append(estimate.launch_values)
        if len({len(values) for values in found}) > 1 or min(min(values) for values in found) <= 0:
            return None
        return Variation(*found)

    def _key(self, cell: CellResult, changed: Changes) -> Hashable:
        """All but how much was measured."""
        parameters = {**cell.parameters, **changed}
        kept = tuple(sorted((name, value) for name, value in parameters.items() if not is_effort(self._roles, name)))
        return cell.experiment, cell.mpi, cell.environment, cell.placement, kept
