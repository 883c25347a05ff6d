# SPDX-License-Identifier: Apache-2.0
"""Rows of the comparison of puts, each with its cell and its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, Distribution, InstructionRegion, MetricEstimate
from slowpath.core.put_results import PutCondition, PutRow
from slowpath.core.results import Results
from slowpath.experiments.put.designs import Kind, design_of
from slowpath.experiments.put.table import puts, steady

KINDS: dict[Kind, str] = {"library": "Libraries", "layer": "Reference layers", "limit": "Limits"}


@dataclass(frozen=True, slots=True)
class DesignWording:
    """The name of a design, and for a layer its meaning for the legend."""

    words: str
    meaning: str = ""


WORDINGS: dict[str, DesignWording] = {
    "mpi": DesignWording("MPI_Put"),
    "openshmem_put": DesignWording("OpenSHMEM put"),
    "openshmem_p": DesignWording("OpenSHMEM p"),
    "complex": DesignWording("complex", "both datatypes are decoded in every call"),
    "simple": DesignWording("simple", "the basic datatype's properties are in its handle"),
    "small_args": DesignWording("small_args", "no datatypes in the call"),
    "shmem_put": DesignWording("shmem_put", "a put of OpenSHMEM: address, source, length, target"),
    "shmem_p": DesignWording("shmem_p", "one value, passed in a register"),
    "empty_call": DesignWording("empty call, 8 arguments"),
    "empty_call_5": DesignWording("empty call, 5 arguments"),
    "memcpy": DesignWording("memcpy"),
    "load_store": DesignWording("load and store"),
    "store": DesignWording("store"),
    "unrolled_stores": DesignWording("unrolled stores"),
    "fenced_store": DesignWording("store and fence"),
}


def design_words(name: str) -> str:
    """Return the name of a design. Unknown designs of a newer engine keep their own name."""
    return WORDINGS[name].words if name in WORDINGS else name.replace("_", " ")


def row_words(name: str, kind: Kind, parameters: Mapping[str, str]) -> str:
    """Return the name of a design, for a layer with how it is called: `complex, inlined, unchecked`."""
    if kind != "layer":
        return design_words(name)
    called = "called" if is_called(parameters) else "inlined"
    return f"{design_words(name)}, {called}, {'checked' if is_checked(parameters) else 'unchecked'}"


def is_called(parameters: Mapping[str, str]) -> bool:
    """Whether a layer's function is called in its library rather than inlined."""
    return parameters.get("call", "library") == "library"


def is_checked(parameters: Mapping[str, str]) -> bool:
    """Whether a layer checks its arguments."""
    return parameters.get("checks", "on") == "on"


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


def inside(cell: CellResult) -> Distribution | None:
    """Return the instructions inside a call."""
    counted = puts(cell)
    return counted.per_call.stepped if counted else None
