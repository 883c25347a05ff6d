# SPDX-License-Identifier: Apache-2.0
"""Rows of the comparison of puts, each with its cell and its words."""

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
    """One design in the launches of one MPI. mpi: its short name; "" in a run of one unnamed MPI."""

    found: PutRow
    cell: CellResult
    kind: Kind
    words: str
    mpi: str

    @property
    def estimate(self) -> MetricEstimate | None:
        """The time of one put in the steady state."""
        return steady(self.cell)

    @property
    def calls(self) -> InstructionRegion | None:
        """Instructions of the puts; None: not counted."""
        return puts(self.cell)

    @property
    def inside(self) -> Distribution | None:
        """Distribution of the instructions inside a call; None: not counted, or nothing is called."""
        return inside(self.cell)

    @property
    def name(self) -> str:
        """What the row is called: a library by its MPI, everything else by its design."""
        return f"{self.words} of {self.mpi}" if self.kind == "library" and self.mpi else self.words


def rows_of(condition: PutCondition, results: Results) -> list[DesignRow]:
    """In the order of results.json."""
    found = []
    for row in condition.rows:
        cell, kind = results.cell(row.cell), design_of(row.design).kind
        found.append(DesignRow(row, cell, kind, row_words(row.design, kind, cell.parameters), row.mpi or ""))
    return found


def where(condition: PutCondition) -> str:
    """What sets a condition apart from the first one, in words."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in condition.differs.items())


def steady(cell: CellResult) -> MetricEstimate | None:
    """The time of one put."""
    return cell.estimate(METRIC, "steady")


def puts(cell: CellResult) -> InstructionRegion | None:
    """Instructions of the puts."""
    return cell.instructions.put if cell.instructions else None


def inside(cell: CellResult) -> Distribution | None:
    """Instructions inside a call."""
    counted = puts(cell)
    return counted.per_call.stepped if counted else None
