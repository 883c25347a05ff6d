# SPDX-License-Identifier: Apache-2.0
"""cells.csv and contrasts.csv: unrounded, SI units, an empty field where a value is missing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

Json = Any
# fmt: off
CELL_FIELDS = ("cell", "key", "label", "group", "experiment", "parameters", "environment", "placement", "status",
               "reason")
ESTIMATE_FIELDS = ("value", "interval_low", "interval_high", "interval_kind", "level", "launches", "samples", "min",
                   "p50", "p90", "p99", "p999", "p999_reason", "max", "within_ratio", "between_ratio",
                   "outliers_mild", "outliers_severe", "severe_time_ratio", "quantum_ratio", "steady_class")
END_FIELDS = ("validated_bytes", "wrong_bytes", "reproduce")
SIDE_FIELDS = ("cell", "phase", "label", "value")
CONTRAST_FIELDS = ("metric", "a_value_s", "b_value_s", "ratio", "interval_low", "interval_high", "interval_kind",
                   "level", "verdict", "p", "p_adjusted", "family", "family_size", "minimum_effect", "launches",
                   "within_launch", "interleaved", "control", "more_pairs", "remedy", "reproduce_a", "reproduce_b",
                   "suspect")
# fmt: on


def cells_csv(results: Json) -> str:
    """One row for each cell, metric and phase; a cell without a metric has one row, with its reason."""
    header = (*CELL_FIELDS, "metric", "unit", "better", "phase", *ESTIMATE_FIELDS, *END_FIELDS)
    return _table(header, (row for cell in results["cells"] for row in _cell_rows(cell)))


def _cell_rows(cell: Json) -> Iterator[Json]:
    base = {name: cell.get(name) for name in (*CELL_FIELDS, *END_FIELDS)}
    base["parameters"] = json.dumps(cell.get("parameters") or {}, ensure_ascii=False, sort_keys=True)
    rows = [
        base
        | {"metric": name, "unit": metric["unit"], "better": metric["better"], "phase": phase}
        | _estimate(estimate)
        for name, metric in (cell.get("metrics") or {}).items()
        for phase, estimate in metric["phases"].items()
    ]
    yield from rows or [base]


def _estimate(estimate: Json) -> Json:
    outliers = estimate.get("outliers") or {}
    low, high = estimate.get("interval") or (None, None)
    flat = {"interval_low": low, "interval_high": high, "outliers_mild": outliers.get("mild")}
    flat |= {"outliers_severe": outliers.get("severe"), "severe_time_ratio": outliers.get("severe_time_ratio")}
    return {name: estimate.get(name) for name in ESTIMATE_FIELDS} | flat


def contrasts_csv(results: Json) -> str:
    """One row for each contrast, b over a."""
    sides = [f"{side}_{name}" for side in "ab" for name in SIDE_FIELDS]
    header = ("id", "group", "question", "axis", *sides, *CONTRAST_FIELDS)
    return _table(header, map(_contrast_row, results["contrasts"]))


def _contrast_row(contrast: Json) -> Json:
    low, high = contrast.get("interval") or (None, None)
    reproduce = contrast.get("reproduce") or {}
    extra = {f"{side}_{name}": contrast[side].get(name) for side in "ab" for name in SIDE_FIELDS}
    extra |= {"interval_low": low, "interval_high": high, "suspect": "; ".join(contrast.get("suspect") or ())}
    return contrast | extra | {"reproduce_a": reproduce.get("a"), "reproduce_b": reproduce.get("b")}


def _table(header: Iterable[str], rows: Iterable[Json]) -> str:
    """RFC 4180, but with line feeds alone. Floats have the digits that it takes to read them back exactly."""
    names = list(header)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_field(row.get(name)) for name in names])
    return out.getvalue()


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
