# SPDX-License-Identifier: Apache-2.0
"""Cells of messages or puts held against the machine's floor, and how far above it they lie. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, OverFloor
from slowpath.core.units import format_time, ratio_words
from slowpath.findings.facts import Facts

MARGIN = 3.0  # above the highest factor of a healthy library: other machines are not those that were measured
FEWEST_CELLS = 2  # one alone may be slow by what is particular to it, which other rules see
FEWEST_LAUNCHES = 3
MOST_EVIDENCE = 6


def limit_of(highest: Mapping[str, float]) -> float:
    """From here on a cell is far above the floor.  Args: highest: library -> largest factor of its healthy cells."""
    return MARGIN * max(highest.values())


@dataclass(frozen=True)
class JudgedCell:
    """A cell that has a floor, and what healthy libraries do.  highest: library -> largest factor of its cells."""

    cell: CellResult
    over: OverFloor
    highest: Mapping[str, float]

    @property
    def fastest(self) -> float:
        """Fastest messages or puts over the floor."""
        return self.over.fastest_ratio or 0.0

    @property
    def excess(self) -> float:
        return self.fastest / limit_of(self.highest)

    @property
    def is_far(self) -> bool:
        return self.over.fastest_interval is not None and self.over.fastest_interval[0] > limit_of(self.highest)


def with_floor(facts: Facts, experiment: str) -> Iterator[tuple[CellResult, OverFloor]]:
    """Cells of an experiment that can be judged: calm launches enough, ranks on processors of their own."""
    own = {cell.mpi for cell in facts.cells.values() if cell.over_floor and facts.is_default(cell)}
    for cell in facts.cells.values():
        over = cell.over_floor
        if cell.experiment != experiment or over is None or over.level is None or over.fastest_interval is None:
            continue
        # An environment that the plan makes slow on purpose is judged by its contrast.
        if over.calm_launches < FEWEST_LAUNCHES or (cell.mpi in own and not facts.is_default(cell)):
            continue
        taken = facts.processors(cell)
        if taken is None or not taken.shared:
            yield cell, over


def evidence(far: Sequence[JudgedCell]) -> tuple[str, ...]:
    """A line for each of the cells that are farthest above their limits."""
    return tuple(
        f"{judged.cell.label}: {ratio_words(judged.over.ratio, judged.over.interval)} the floor of "
        f"{format_time(judged.over.floor_s)}, the fastest "
        f"{ratio_words(judged.fastest, judged.over.fastest_interval)}; limit {limit_of(judged.highest):.3g}x"
        for judged in sorted(far, key=lambda judged: -judged.excess)[:MOST_EVIDENCE]
    )
