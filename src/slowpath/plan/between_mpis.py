# SPDX-License-Identifier: Apache-2.0
"""Contrasts that a campaign gets without asking where it runs under several MPIs: each other one against the first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from slowpath.core.engine_description import DescribedExperiment, Verdicts
from slowpath.core.plan import Cell, Contrast, PlannedMpi, Side
from slowpath.plan.contrasts import GroupCells, coordinates
from slowpath.plan.tables import ContrastTable

AXIS = "mpi"


def between_mpis(
    groups: Iterable[GroupCells], mpis: Sequence[PlannedMpi], written: Sequence[ContrastTable], verdicts: Verdicts
) -> list[Contrast]:
    """One for each cell of an MPI and the same cell of the first; none where the campaign compares MPIs itself.

    Args: groups: of cells with times.  mpis: in the order in which the user named them; the first that is there is
          side a.  written: the campaign's own tables.  verdicts: on cells, those that the engine gave.
    """
    names = [one.name for one in mpis if one.unavailable is None]
    if len(names) < 2 or any(table.axis == AXIS for table in written):
        return []
    return [one for group in groups for other in names[1:] for one in _of_group(group, names[0], other, verdicts)]


def _of_group(group: GroupCells, first: str, other: str, verdicts: Verdicts) -> Iterator[Contrast]:
    name = f"{other} against {first}: {group.name}"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    pairs = ((a, b, metric) for a, b in _pairs(group.cells, first, other) if (metric := _metric(group, a, b, verdicts)))
    for number, (a, b, metric) in enumerate(pairs, start=1):
        yield Contrast(
            id=f"{slug}-{number}",
            group=name,
            question=f"Is {other} slower than {first} in '{group.name}'?"[:400],
            axis=AXIS,
            metric=metric,
            a=Side(a.cell, "steady", first),
            b=Side(b.cell, "steady", other),
        )


def _pairs(cells: Sequence[Cell], first: str, other: str) -> Iterator[tuple[Cell, Cell]]:
    """Cells that differ in nothing but the MPI; second copies are for controls alone, skipped cells have no times."""
    there = {_place(cell): cell for cell in cells if cell.mpi == other and cell.skip is None}
    for cell in cells:
        if cell.mpi == first and cell.skip is None and cell.copy == 1 and _place(cell) in there:
            yield cell, there[_place(cell)]


def _place(cell: Cell) -> tuple[tuple[str, str], ...]:
    return tuple(item for item in coordinates(cell).items() if item[0] != AXIS)


def _metric(group: GroupCells, a: Cell, b: Cell, verdicts: Verdicts) -> str | None:
    """The first time that both cells yield."""
    times = _times(group.experiment, a.parameters.get("pattern"))
    known = [verdict.metrics for cell in (a, b) if (verdict := verdicts.get(cell.cell)) is not None]
    return next((name for name in times if all(name in metrics for metrics in known)), None)


def _times(experiment: DescribedExperiment, pattern: str | None) -> list[str]:
    return [
        metric.name
        for metric in experiment.metrics
        if metric.unit == "s" and (metric.pattern is None or pattern is None or metric.pattern == pattern)
    ]
