# SPDX-License-Identifier: Apache-2.0
"""results.json of whoever wrote it: typed, held to the limits, and whole in itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from slowpath.core.cell_results import CellResult
from slowpath.core.decoding import DAMAGE, require_schema, why
from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes
from slowpath.core.limits import FILE_BYTES
from slowpath.core.results import RESULTS_SCHEMA, Results
from slowpath.record.plan_files import require_parameters

_ANEW = "build it anew from the run folder: slowpath report RUN"


def read_results(path: Path) -> Results:
    """Raises: RecordError: missing, damaged, beyond the limits, or of another schema."""
    return decode_results(read_bytes(path, FILE_BYTES["results.json"], within=path.parent), path)


def decode_results(content: bytes, path: Path) -> Results:
    """Results from the bytes of a results.json; `path` names it in errors.  Raises: RecordError."""
    require_schema(content, path, RESULTS_SCHEMA, "name a run folder or its results.json", "is not a results.json")
    try:
        results = msgspec.json.decode(content, type=Results)
        require_consistent(results)
    except (*DAMAGE, ValueError) as error:
        raise RecordError(f"{path}: is damaged: {why(error)}; {_ANEW}") from error
    return results


def require_consistent(results: Results) -> None:
    """Raises: ValueError: two cells of one number, or a number that no cell has; values that do not fit together."""
    cells = {cell.cell for cell in results.cells}
    if len(cells) < len(results.cells):
        raise ValueError("two cells have one number")
    if len({contrast.id for contrast in results.contrasts}) < len(results.contrasts):
        raise ValueError("two contrasts have one id")
    _require_known(
        cells, (side.cell for contrast in results.contrasts for side in (contrast.a, contrast.b)), "a contrast"
    )
    if results.put is not None:
        rows = (row.cell for condition in results.put.conditions for row in condition.rows)
        _require_known(cells, (*results.put.cells, *rows), "the comparison of who puts")
    _require_known(cells, (pair.cell for matrix in results.node_pairs for pair in matrix.pairs), "a pair of nodes")
    for cell in results.cells:
        require_parameters(cell.experiment, cell.parameters)
        _require_shapes(cell)


def _require_shapes(cell: CellResult) -> None:
    for name, metric in cell.metrics.items():
        uses = metric.by_repetition
        if uses and {len(row) for row in uses.launch_values} != {len(uses.repetitions)}:
            raise ValueError(f"cell {cell.cell}: metric '{name[:80]}': by_repetition has rows of another length")
        if uses and len(uses.launches) != len(uses.launch_values):
            raise ValueError(f"cell {cell.cell}: metric '{name[:80]}': by_repetition has a row without a launch")


def _require_known(cells: Iterable[int], asked: Iterable[int], who: str) -> None:
    unknown = next((one for one in asked if one not in cells), None)
    if unknown is not None:
        raise ValueError(f"{who} is about cell {unknown}, which is not there")
