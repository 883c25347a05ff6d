# SPDX-License-Identifier: Apache-2.0
"""Rows of the comparison of puts, each with its cell and its name."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, Distribution, InstructionRegion, MetricEstimate
from slowpath.core.put_results import PutCondition, PutRow
from slowpath.core.results import Results
from slowpath.experiments.put.designs import Kind, design_of
from slowpath.experiments.put.table import METRIC
from slowpath.report.put.words import row_words


@dataclass(frozen=True, slots=True)
class DesignRow:
    """A design in the launches of one MPI. `mpi` is the MPI's short name, or "" in a run of a single unnamed MPI."""

    found: PutRow
    cell: CellResult
    kind: Kind
    words: str
    mpi: str

    @property
    def estimate(self) -> MetricEstimate | None:
        """Return the steady time of a put."""
        return steady(self.cell)

    @property
    def calls(self) -> InstructionRegion | None:
        """Return the instructions of the puts, or None if they were not counted."""
        return puts(self.cell)

    @property
    def inside(self) -> Distribution | None:
        """Return the distribution of instructions inside a call, or None if not counted or nothing is called."""
        return inside(self.cell)

    @property
    def name(self) -> str:
        """Return the name of the row: a library's MPI, or the design."""
        return f"{self.words} of {self.mpi}" if self.kind == "library" and self.mpi else self.words


def rows_of(condition: PutCondition, results: Results) -> list[DesignRow]:
    """Return the rows in the order of the results."""
    found = []
    for row in condition.rows:
        cell, kind = results.cell(row.cell), design_of(row.design).kind
        found.append(DesignRow(row, cell, kind, row_words(row.design, kind, cell.parameters), row.mpi or ""))
    return found


def where(condition: PutCondition) -> str:
    """Return how a condition differs from the first one."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in condition.differs.items())


def steady(cell: CellResult) -> MetricEstimate | None:
    """Return the steady time of a put."""
    return cell.estimate(METRIC, "steady")


def puts(cell: CellResult) -> InstructionRegion | None:
    """Return the instructions of the puts."""
    return cell.instructions.put if cell.instructions else None


def inside(cell: CellResult) -> Distribution | None:
    """Return the instructions inside a call."""
    counted = puts(cell)
    return counted.per_call.stepped if counted else None
