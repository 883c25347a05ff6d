# SPDX-License-Identifier: Apache-2.0
"""Results as flat rows of numbers and words, ready for a data frame. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import UsageError
from slowpath.core.result import Interval
from slowpath.core.results import ContrastSide, Results

Row = dict[str, Any]
_ESTIMATE = (
    "launches",
    "samples",
    "p50",
    "p90",
    "p99",
    "p999",
    "min",
    "max",
    "within_ratio",
    "between_ratio",
    "bandwidth_bytes_per_s",
    "message_rate_per_s",
)


def estimate_rows(results: Results) -> list[Row]:
    """Return a row for each cell, metric and phase, with the parameters of all cells as columns."""
    parameters = dict.fromkeys(name for cell in results.cells for name in cell.parameters)
    return [
        {
            **_cell(cell, parameters, results),
            "metric": metric,
            "phase": phase,
            "unit": entry.unit,
            **_estimate(estimate),
        }
        for cell in results.cells
        for metric, entry in cell.metrics.items()
        for phase, estimate in entry.phases.items()
    ]


def _cell(cell: CellResult, parameters: Mapping[str, None], results: Results) -> Row:
    return {
        **{name: _number(cell.parameters.get(name)) for name in parameters},
        "run": results.run.id,
        "cell": cell.cell,
        "label": cell.label,
        "group": cell.group,
        "experiment": cell.experiment,
        "mpi": cell.mpi,
        "environment": cell.environment,
        "placement": cell.placement,
        "copy": cell.copy,
    }


def _number(text: str | None) -> str | int | float | None:
    """Return a parameter's value as a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text) if text is not None else None
        except ValueError:
            continue
    return text


def _estimate(estimate: MetricEstimate) -> Row:
    low, high = _ends(estimate.interval)
    return {
        "value": estimate.value,
        "interval_low": low,
        "interval_high": high,
        "interval_kind": estimate.interval_kind,
        **{name: getattr(estimate, name) for name in _ESTIMATE},
    }


def contrast_rows(results: Results) -> list[Row]:
    """Return a row for each contrast: the comparison, its result, and both sides with prefixes a_ and b_."""
    return list(_contrasts(results))


def _contrasts(results: Results) -> Iterator[Row]:
    for contrast in results.contrasts:
        low, high = _ends(contrast.interval)
        yield {
            "run": results.run.id,
            "contrast": contrast.id,
            "group": contrast.group,
            "question": contrast.question,
            "axis": contrast.axis,
            "metric": contrast.metric,
            **_side("a", contrast.a, contrast.a_value_s, results),
            **_side("b", contrast.b, contrast.b_value_s, results),
            "ratio": contrast.ratio,
            "interval_low": low,
            "interval_high": high,
            "verdict": contrast.verdict,
            "reason": contrast.reason,
            "launches": contrast.launches,
            "p_adjusted": contrast.p_adjusted,
        }


def _side(name: str, side: ContrastSide, value_s: float | None, results: Results) -> Row:
    cell = results.cell(side.cell)
    fields = {
        "cell": side.cell,
        "value": side.value,
        "phase": side.phase,
        "label": side.label,
        "mpi": cell.mpi,
        "environment": cell.environment,
        "placement": cell.placement,
        "message_bytes": _number(cell.parameters.get("message_bytes")),
        "time_s": value_s,
    }
    return {f"{name}_{key}": value for key, value in fields.items()}


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval[0], interval[1]) if interval is not None else (None, None)


def data_frame(rows: Sequence[Row]) -> Any:
    """Return a pandas.DataFrame of the rows.  Raises: UsageError: pandas is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise UsageError("to_pandas() needs pandas: pip install pandas, or use rows()") from error
    return pandas.DataFrame(rows)
