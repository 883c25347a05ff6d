# SPDX-License-Identifier: Apache-2.0
"""Every launch of a run, reduced: what cells and contrasts are made from. `experiments.measure` fills it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from slowpath.core.cell_results import RepetitionCounts
from slowpath.core.plan import Cell
from slowpath.core.twins import Twins
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.experiments.measured.reduce import Reduced
from slowpath.experiments.measured.series import SampleBlock
from slowpath.experiments.p2p.who_pays import Split


class Observer(Protocol):
    """What an experiment gathers from all launches in addition to its metrics."""

    def add(self, cell: int, launch: int, blocks: Sequence[SampleBlock], job: LaunchContext) -> None:
        """One launch's blocks of a cell of this experiment."""

    def repetitions(self, cell: int) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""


@dataclass
class Measurements:
    """twins        witnessed cells, which have no times, and whose they count for
    by_series    cell, metric and phase, then round -> the launch's number and its reduced samples
    absent       (cell, metric) -> why it is in no launch
    splits       (cell, phase) -> one Split a launch
    no_split     cell -> why it has none
    launches_of  cell -> the launches that measured it
    observers    experiment -> what it gathered
    """

    twins: Twins
    by_series: dict[tuple[int, str, str], dict[int, tuple[int, Reduced]]] = field(default_factory=dict)
    absent: dict[tuple[int, str], str] = field(default_factory=dict)
    splits: dict[tuple[int, str], list[Split]] = field(default_factory=dict)
    no_split: dict[int, str] = field(default_factory=dict)
    launches_of: dict[int, list[LaunchRecord]] = field(default_factory=dict)
    observers: dict[str, Observer] = field(default_factory=dict)

    @cached_property
    def series_of(self) -> dict[int, list[tuple[str, str, dict[int, tuple[int, Reduced]]]]]:
        """Cell -> metric, phase and rounds of each of its series, in their order. Once all are there."""
        found: dict[int, list[tuple[str, str, dict[int, tuple[int, Reduced]]]]] = {}
        for (cell, metric, phase), rounds in self.by_series.items():
            found.setdefault(cell, []).append((metric, phase, rounds))
        return found

    @cached_property
    def absent_of(self) -> dict[int, dict[str, str]]:
        """Cell -> metric -> why it is in no launch. Once all are there."""
        found: dict[int, dict[str, str]] = {}
        for (cell, metric), why in self.absent.items():
            found.setdefault(cell, {})[metric] = why
        return found

    def repetitions(self, cell: Cell) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""
        observer = self.observers.get(cell.experiment)
        if observer is None:
            return None, f"experiment {cell.experiment} does not tell disturbed repetitions apart"
        return observer.repetitions(cell.cell)
