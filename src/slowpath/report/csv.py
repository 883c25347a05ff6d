# SPDX-License-Identifier: Apache-2.0
"""cells.csv and contrasts.csv: unrounded, in SI units, with empty fields for missing values and no formulas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from slowpath.core.cell_results import CellResult
from slowpath.core.guard import text
from slowpath.core.result import Result
from slowpath.core.results import ContrastResult, Results

Value = str | float | int | bool | None

# Columns by the names of fields; `_MADE` has those that are none.
_CELL = ("cell", "key", "label", "group", "experiment", "parameters", "environment", "placement", "status", "reason")
_METRIC = ("unit", "better")
_ESTIMATE = (
    *("value", "interval_low", "interval_high", "interval_kind", "level", "launches", "samples"),
    *("min", "p50", "p90", "p99", "p999", "p999_reason", "max", "within_ratio", "between_ratio"),
    *("quantum_ratio", "steady_class"),
)
_CELL_END = ("validated_bytes", "wrong_bytes", "reproduce")
_CONTRAST = ("id", "group", "question", "axis")
_SIDE = ("cell", "phase", "label", "value")
_CONTRAST_END = (
    *("metric", "a_value_s", "b_value_s", "ratio", "interval_low", "interval_high", "interval_kind", "level"),
    *("verdict", "p", "p_adjusted", "family", "family_size", "minimum_effect", "launches", "within_launch"),
    *("interleaved", "control", "more_pairs", "remedy", "reproduce_a", "reproduce_b", "suspect"),
)
_MADE: Mapping[str, Callable[[Any], Value]] = {
    "parameters": lambda cell: json.dumps(cell.parameters, ensure_ascii=False, sort_keys=True),
    "interval_low": lambda entry: entry.interval[0] if entry.interval else None,
    "interval_high": lambda entry: entry.interval[1] if entry.interval else None,
    "reproduce_a": lambda contrast: contrast.reproduce.a,
    "reproduce_b": lambda contrast: contrast.reproduce.b,
    "suspect": lambda contrast: "; ".join(contrast.suspect),
}


def cells_csv(results: Results) -> str:
    """Return a row for each cell, metric and phase. A cell without a metric has one row with its reason."""
    header = [*_CELL, "metric", *_METRIC, "phase", *_ESTIMATE, *_CELL_END]
    return as_csv(header, (row for cell in results.cells for row in _cell_rows(cell)))


def _cell_rows(cell: CellResult) -> Iterator[list[Value]]:
    first, last = _values(_CELL, cell), _values(_CELL_END, cell)
    rows = [
        [*first, name, *_values(_METRIC, metric), phase, *_values(_ESTIMATE, estimate), *last]
        for name, metric in cell.metrics.items()
        for phase, estimate in metric.phases.items()
    ]
    nothing: list[Value] = [None] * (2 + len(_METRIC) + len(_ESTIMATE))
    yield from rows or [[*first, *nothing, *last]]


def contrasts_csv(results: Results) -> str:
    """Return a row for each contrast, b over a."""
    sides = [f"{side}_{name}" for side in "ab" for name in _SIDE]
    header = [*_CONTRAST, *sides, *_CONTRAST_END]
    return as_csv(header, map(_contrast_row, results.contrasts))


def _contrast_row(contrast: ContrastResult) -> list[Value]:
    return [
        *_values(_CONTRAST, contrast),
        *_values(_SIDE, contrast.a),
        *_values(_SIDE, contrast.b),
        *_values(_CONTRAST_END, contrast),
    ]


def rows_as_csv(rows: Sequence[Mapping[str, Value]]) -> str:
    """Return flat rows as CSV, with an empty field for each missing column."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return as_csv(names, ([row.get(name) for name in names] for row in rows))


def _values(columns: Sequence[str], entry: Result) -> list[Value]:
    return [_MADE[name](entry) if name in _MADE else getattr(entry, name) for name in columns]


def as_csv(header: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """Return CSV as in RFC 4180, but with line feeds. Floats have enough digits to be read back exactly."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(map(_field, row))
    return out.getvalue()


def _field(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return text(value) if isinstance(value, str) else repr(value) if isinstance(value, float) else str(value)
