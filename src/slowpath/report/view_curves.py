# SPDX-License-Identifier: Apache-2.0
"""Latency, bandwidth and every other metric over message size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Json, Table, grouped, heading, metrics_of, shown_interval
from slowpath.report.svg import size_curves
from slowpath.report.svg.size_curves import Curve, Point

CURVES_IN_PANEL = 4
FEWEST_SIZES = 3


def _turned_over(cell: Json) -> Json:
    """`cell` with the bandwidth that stands beside a time as a metric of its own, so that it has a panel of its own."""
    metrics = dict(cell.get("metrics") or {})
    for metric in list(metrics.values()):
        phases = {
            phase: one | {"value": one["bandwidth_bytes_per_s"], "interval": one.get("bandwidth_interval")}
            for phase, one in metric["phases"].items()
            if one.get("bandwidth_bytes_per_s")
        }
        if phases:
            metrics.setdefault("bandwidth_bytes_per_s", {"unit": "B/s", "better": "higher", "phases": phases})
    return cell | {"metrics": metrics}


def curve_figures(results: Json) -> list[Figure]:
    """Each metric over message size, where a group of cells has at least three sizes."""
    figures: list[Figure] = []
    for group, cells in grouped([_turned_over(c) for c in results["cells"]], lambda c: c["group"]).items():
        names = dict.fromkeys(name for cell in cells for name, _ in metrics_of(cell))
        for name in names:
            figures += _panels(group, name, [c for c in cells if name in (c.get("metrics") or {})])
    return figures


def _condition(cell: Json) -> Json:
    """Everything that a cell is set to besides its message size."""
    settings = dict(cell["parameters"]) | {"environment": cell["environment"], "placement": cell["placement"]}
    settings.pop("message_bytes", None)
    return settings


def _panels(group: str, metric: str, cells: Sequence[Json]) -> Iterator[Figure]:
    lines = [rows for rows in grouped(cells, lambda c: tuple(sorted(_condition(c).items()))).values() if _sizes(rows)]
    if not lines:
        return
    unit = lines[0][0]["metrics"][metric]["unit"]
    axes, labels = _differences([_condition(rows[0]) for rows in lines])
    curves = [Curve(label, _points(rows, metric)) for label, rows in zip(labels, lines, strict=True)]
    title = heading(metric, *([f"by {axes}"] if axes else []))
    for start in range(0, len(curves), CURVES_IN_PANEL):
        shown = [curve for curve in curves[start : start + CURVES_IN_PANEL] if len(curve.points) >= FEWEST_SIZES]
        chart = size_curves.chart(shown, unit, title) if shown else None
        if chart:
            members = [c for rows in lines[start : start + CURVES_IN_PANEL] for c in rows]
            yield Figure(title, group, _curve_table(members, metric, unit), picture=chart)


def _sizes(cells: Sequence[Json]) -> bool:
    return len({c["parameters"].get("message_bytes") for c in cells}) >= FEWEST_SIZES


def _points(cells: Sequence[Json], metric: str) -> tuple[Point, ...]:
    found = []
    for cell in cells:
        one = cell["metrics"][metric]["phases"].get("steady") or {}
        size = int(cell["parameters"].get("message_bytes", 0))
        if one.get("value") and size > 0:
            found.append(Point(size, one["value"], tuple(one["interval"]) if one.get("interval") else None))
    return tuple(sorted(found, key=lambda point: point.size_bytes))


def _differences(conditions: list[Json]) -> tuple[str, list[str]]:
    """What several conditions differ in, and for each its settings there; nothing that is the same in all."""
    keys = dict.fromkeys(key for condition in conditions for key in condition)
    differing = [k for k in keys if len({condition.get(k) for condition in conditions}) > 1]
    labels = [", ".join(str(c[k]) for k in differing if c.get(k) is not None) for c in conditions]
    return " and ".join(key.replace("_", " ") for key in differing), labels


def _curve_table(cells: Sequence[Json], metric: str, unit: str) -> Table:
    rows = []
    for cell in cells:
        one = cell["metrics"][metric]["phases"].get("steady")
        if one:
            value = fmt.quantity(one["value"], unit, one.get("interval"))
            rows.append([cell["label"], value, shown_interval(one, unit), str(one["launches"])])
    return Table(["Cell", "Median", "Interval", "Launches"], rows)
