# SPDX-License-Identifier: Apache-2.0
"""cells.csv and contrasts.csv: unrounded, in SI units, with empty fields for missing values and no formulas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from slowpath.core.cell_results import CellResult, MetricEstimate, MetricResult
from slowpath.core.clean import csv_field
from slowpath.core.result import Interval
from slowpath.core.results import ContrastResult, ContrastSide, Results

T = TypeVar("T")
Value = str | float | int | bool | None
Columns = tuple[tuple[str, Callable[[T], Value]], ...]

_CELL: Columns[CellResult] = (
    ("cell", lambda cell: cell.cell),
    ("key", lambda cell: cell.key),
    ("label", lambda cell: cell.label),
    ("group", lambda cell: cell.group),
    ("experiment", lambda cell: cell.experiment),
    ("parameters", lambda cell: json.dumps(cell.parameters, ensure_ascii=False, sort_keys=True)),
    ("environment", lambda cell: cell.environment),
    ("placement", lambda cell: cell.placement),
    ("status", lambda cell: cell.status),
    ("reason", lambda cell: cell.reason),
)
_METRIC: Columns[MetricResult] = (
    ("unit", lambda metric: metric.unit),
    ("better", lambda metric: metric.better),
)
_ESTIMATE: Columns[MetricEstimate] = (
    ("value", lambda estimate: estimate.value),
    ("interval_low", lambda estimate: _end(estimate.interval, 0)),
    ("interval_high", lambda estimate: _end(estimate.interval, 1)),
    ("interval_kind", lambda estimate: estimate.interval_kind),
    ("level", lambda estimate: estimate.level),
    ("launches", lambda estimate: estimate.launches),
    ("samples", lambda estimate: estimate.samples),
    ("min", lambda estimate: estimate.min),
    ("p50", lambda estimate: estimate.p50),
    ("p90", lambda estimate: estimate.p90),
    ("p99", lambda estimate: estimate.p99),
    ("p999", lambda estimate: estimate.p999),
    ("p999_reason", lambda estimate: estimate.p999_reason),
    ("max", lambda estimate: estimate.max),
    ("within_ratio", lambda estimate: estimate.within_ratio),
    ("between_ratio", lambda estimate: estimate.between_ratio),
    ("outliers_mild", lambda estimate: estimate.outliers.mild),
    ("outliers_severe", lambda estimate: estimate.outliers.severe),
    ("severe_time_ratio", lambda estimate: estimate.outliers.severe_time_ratio),
    ("quantum_ratio", lambda estimate: estimate.quantum_ratio),
    ("steady_class", lambda estimate: estimate.steady_class),
)
_CELL_END: Columns[CellResult] = (
    ("validated_bytes", lambda cell: cell.validated_bytes),
    ("wrong_bytes", lambda cell: cell.wrong_bytes),
    ("reproduce", lambda cell: cell.reproduce),
)
_CONTRAST: Columns[ContrastResult] = (
    ("id", lambda contrast: contrast.id),
    ("group", lambda contrast: contrast.group),
    ("question", lambda contrast: contrast.question),
    ("axis", lambda contrast: contrast.axis),
)
_SIDE: Columns[ContrastSide] = (
    ("cell", lambda side: side.cell),
    ("phase", lambda side: side.phase),
    ("label", lambda side: side.label),
    ("value", lambda side: side.value),
)
_CONTRAST_END: Columns[ContrastResult] = (
    ("metric", lambda contrast: contrast.metric),
    ("a_value_s", lambda contrast: contrast.a_value_s),
    ("b_value_s", lambda contrast: contrast.b_value_s),
    ("ratio", lambda contrast: contrast.ratio),
    ("interval_low", lambda contrast: _end(contrast.interval, 0)),
    ("interval_high", lambda contrast: _end(contrast.interval, 1)),
    ("interval_kind", lambda contrast: contrast.interval_kind),
    ("level", lambda contrast: contrast.level),
    ("verdict", lambda contrast: contrast.verdict),
    ("p", lambda contrast: contrast.p),
    ("p_adjusted", lambda contrast: contrast.p_adjusted),
    ("family", lambda contrast: contrast.family),
    ("family_size", lambda contrast: contrast.family_size),
    ("minimum_effect", lambda contrast: contrast.minimum_effect),
    ("launches", lambda contrast: contrast.launches),
    ("within_launch", lambda contrast: contrast.within_launch),
    ("interleaved", lambda contrast: contrast.interleaved),
    ("control", lambda contrast: contrast.control),
    ("more_pairs", lambda contrast: contrast.more_pairs),
    ("remedy", lambda contrast: contrast.remedy),
    ("reproduce_a", lambda contrast: contrast.reproduce.a),
    ("reproduce_b", lambda contrast: contrast.reproduce.b),
    ("suspect", lambda contrast: "; ".join(contrast.suspect)),
)


def cells_csv(results: Results) -> str:
    """Return a row for each cell, metric and phase. A cell without a metric has one row with its reason."""
    header = [*_names(_CELL), "metric", *_names(_METRIC), "phase", *_names(_ESTIMATE), *_names(_CELL_END)]
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
    sides = [f"{side}_{name}" for side in "ab" for name in _names(_SIDE)]
    header = [*_names(_CONTRAST), *sides, *_names(_CONTRAST_END)]
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


def _end(interval: Interval | None, place: int) -> float | None:
    return interval[place] if interval else None


def _names(columns: Columns[T]) -> list[str]:
    return [name for name, _ in columns]


def _values(columns: Columns[T], entry: T) -> list[Value]:
    return [value(entry) for _, value in columns]


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
    return csv_field(value) if isinstance(value, str) else repr(value) if isinstance(value, float) else str(value)
