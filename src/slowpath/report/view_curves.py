# SPDX-License-Identifier: Apache-2.0
"""Latency, bandwidth and every other metric over message size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.experiments.coll.experiment import COLL
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Table, grouped, heading
from slowpath.report.svg import size_curves
from slowpath.report.svg.size_curves import Curve, Point

CURVES_IN_PANEL = 4
FEWEST_SIZES = 3
BANDWIDTH = "bandwidth_bytes_per_s"
Settings = dict[str, str]


@dataclass(frozen=True, slots=True)
class Steady:
    """What a cell has to show of one metric in the steady state. value: in `unit`; None: it has no such phase."""

    unit: str
    value: float | None
    interval: Interval | None
    one: MetricEstimate | None


def _steady(cell: CellResult) -> dict[str, Steady]:
    """By metric. The bandwidth that stands next to a time is a metric of its own, so that it has its own panel."""
    found = {}
    for name, metric in cell.metrics.items():
        one = metric.phases.get("steady")
        found[name] = Steady(metric.unit, one.value if one else None, one.interval if one else None, one)
    for metric in cell.metrics.values():
        one = metric.phases.get("steady")
        if BANDWIDTH not in found and any(each.bandwidth_bytes_per_s for each in metric.phases.values()):
            value, interval = (one.bandwidth_bytes_per_s, one.bandwidth_interval) if one else (None, None)
            found[BANDWIDTH] = Steady("B/s", value, interval, one if value else None)
    return found


def curve_figures(results: Results) -> list[Figure]:
    """Each metric over message size, where a group of cells has at least three sizes; collectives have a section of
    their own.
    """
    figures: list[Figure] = []
    for group, cells in grouped((c for c in results.cells if c.experiment != COLL.name), lambda c: c.group).items():
        shown = {cell.cell: _steady(cell) for cell in cells}
        for name in dict.fromkeys(name for metrics in shown.values() for name in metrics):
            having = [cell for cell in cells if name in shown[cell.cell]]
            figures += _panels(group, name, having, {cell.cell: shown[cell.cell][name] for cell in having})
    return figures


def _condition(cell: CellResult) -> Settings:
    """Everything that a cell is set to apart from its message size."""
    settings = {**cell.parameters, "environment": cell.environment, "placement": cell.placement}
    settings.pop("message_bytes", None)
    return settings


def _panels(group: str, metric: str, cells: Sequence[CellResult], shown: dict[int, Steady]) -> Iterator[Figure]:
    lines = [rows for rows in grouped(cells, lambda c: tuple(sorted(_condition(c).items()))).values() if _sizes(rows)]
    if not lines:
        return
    unit = shown[lines[0][0].cell].unit
    axes, labels = _differences([_condition(rows[0]) for rows in lines])
    curves = [Curve(label, _points(rows, shown)) for label, rows in zip(labels, lines, strict=True)]
    title = heading(metric, *([f"by {axes}"] if axes else []))
    for start in range(0, len(curves), CURVES_IN_PANEL):
        drawn = [curve for curve in curves[start : start + CURVES_IN_PANEL] if len(curve.points) >= FEWEST_SIZES]
        chart = size_curves.chart(drawn, unit, title) if drawn else None
        if chart:
            members = [c for rows in lines[start : start + CURVES_IN_PANEL] for c in rows]
            yield Figure(title, group, _curve_table(members, shown), picture=chart)


def _sizes(cells: Sequence[CellResult]) -> bool:
    return len({c.parameters.get("message_bytes") for c in cells}) >= FEWEST_SIZES


def _points(cells: Sequence[CellResult], shown: dict[int, Steady]) -> tuple[Point, ...]:
    found = []
    for cell in cells:
        one, size = shown[cell.cell], int(cell.parameters.get("message_bytes", 0))
        if one.value and size > 0:
            found.append(Point(size, one.value, one.interval))
    return tuple(sorted(found, key=lambda point: point.size_bytes))


def _differences(conditions: list[Settings]) -> tuple[str, list[str]]:
    """What several conditions differ in, and for each its settings there; nothing that is the same in all."""
    keys = dict.fromkeys(key for condition in conditions for key in condition)
    differing = [k for k in keys if len({condition.get(k) for condition in conditions}) > 1]
    labels = [", ".join(str(c[k]) for k in differing if c.get(k) is not None) for c in conditions]
    return " and ".join(key.replace("_", " ") for key in differing), labels


def _curve_table(cells: Sequence[CellResult], shown: dict[int, Steady]) -> Table:
    rows = []
    for cell in cells:
        found = shown[cell.cell]
        if found.one:
            value = fmt.quantity(found.value, found.unit, found.interval)
            ends = fmt.quantity_interval(found.value, found.unit, found.interval)
            rows.append([cell.label, value, fmt.with_kind(ends, found.one.interval_kind), str(found.one.launches)])
    return Table(["Cell", "Median", "Interval", "Launches"], rows)
