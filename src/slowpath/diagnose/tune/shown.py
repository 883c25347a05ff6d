# SPDX-License-Identifier: Apache-2.0
"""What the runs of a tuning show: ways of a cell with their times, and factors of the files. Pure."""

from __future__ import annotations

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results
from slowpath.diagnose.tune.campaigns import TOGETHER, TUNED, view_of
from slowpath.diagnose.tune.choose import CollectiveCell, WayTrial
from slowpath.diagnose.tune.factors import CellFactor
from slowpath.diagnose.tune.request import TuneRequest
from slowpath.mpi.tuning import environments


def trials(results: Results, request: TuneRequest, ranks: int) -> dict[CollectiveCell, list[WayTrial]]:
    """Of the run that chooses: the ways of each cell that were measured."""
    forced = {
        f"forced {n + 1}": chosen for n, (chosen, _) in enumerate(environments(request.library, request.collectives))
    }
    found: dict[CollectiveCell, list[WayTrial]] = {}
    for cell in results.cells:
        time_s = _time_s(cell)
        if time_s is None:
            continue
        place, way = cell_of(cell, ranks), cell.parameters["way"]
        algorithm = forced.get(cell.environment, {}).get(place.collective)
        if way != "library":
            found.setdefault(place, []).append(WayTrial("mockup", way, time_s))
        elif algorithm is not None:
            found.setdefault(place, []).append(WayTrial("algorithm", algorithm, time_s))
        else:
            found.setdefault(place, []).append(WayTrial(None, "", time_s))
    return found


def factors(results: Results, ranks: int) -> tuple[list[CellFactor], dict[tuple[CollectiveCell, str], CellFactor]]:
    """Of a run with contrasts: those of the file as a whole, and those of mock-ups by their names."""
    cells = {cell.cell: cell for cell in results.cells}
    by_file: list[CellFactor] = []
    by_way: dict[tuple[CollectiveCell, str], CellFactor] = {}
    for contrast in results.contrasts:
        cell = cells[contrast.b.cell]
        view = view_of(cell.parameters, contrast.metric)
        if view is None or not contrast.pairs:
            continue
        place = cell_of(cell, ranks)
        factor = CellFactor(place, tuple((a_s, b_s) for a_s, b_s in contrast.pairs), view=view.name)
        if contrast.axis == "environment" and contrast.b.value == TUNED:
            by_file.append(factor)
        elif contrast.axis == "way":
            by_way[place, contrast.b.value] = factor
    return by_file, by_way


def cell_of(cell: CellResult, ranks: int) -> CollectiveCell:
    """Where a cell stands in the grid."""
    return CollectiveCell(cell.parameters["collective"], ranks, int(cell.parameters["message_bytes"]))


def _time_s(cell: CellResult) -> float | None:
    metric = cell.metrics.get(TOGETHER.metric)
    estimate = metric.phases.get("steady") if metric is not None else None
    return None if estimate is None else estimate.value
