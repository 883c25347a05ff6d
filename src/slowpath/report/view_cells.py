# SPDX-License-Identifier: Apache-2.0
"""Cells as the page shows them: first against later messages, curves over size, distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg import distributions, first_vs_later, size_curves
from slowpath.report.svg.size_curves import Curve, Point
from slowpath.report.view_contrasts import interval_words

Json = dict[str, Any]
CURVES_IN_PANEL = 4
FEWEST_SIZES = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a chart of tracks: words, picture, numbers."""

    label: str
    cell: int
    track: Markup
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a figure."""

    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its title and its numbers: rows of tracks on one axis, or one picture."""

    title: str
    group: str
    table: Table
    axis: Markup | None = None
    rows: list[Row] = field(default_factory=list)
    picture: Markup | None = None


def _title(metric: str, *more: str) -> str:
    """Heading of a figure: the metric in words, with a capital."""
    words = ", ".join((fmt.metric_name(metric), *more))
    return words[:1].upper() + words[1:]


def _metrics(cell: Json, unit: str | None = None) -> Iterator[tuple[str, Json]]:
    return ((n, m) for n, m in (cell.get("metrics") or {}).items() if unit is None or m["unit"] == unit)


def _by(cells: Sequence[Json], key: Callable[[Json], Any]) -> dict[Any, list[Json]]:
    found: dict[Any, list[Json]] = {}
    for cell in cells:
        found.setdefault(key(cell), []).append(cell)
    return found


def main_metric(cell: Json) -> str | None:
    """The metric that stands for a cell in overviews: its first one in seconds."""
    return next((name for name, _ in _metrics(cell, "s")), None)


def shown_interval(estimate: Json, unit: str = "s") -> str:
    """`[1.20, 1.27] ms, signed-rank 95 %`, or "no interval" and why."""
    shown = fmt.quantity_interval(estimate.get("value"), unit, estimate.get("interval"))
    return fmt.with_kind(shown, estimate.get("interval_kind"))


def first_figures(results: Json) -> list[Figure]:
    """First message against later ones, one figure for each group of cells."""
    contrasts = {(c["a"]["cell"], c["metric"]): c for c in results["contrasts"] if c["axis"] == "phase"}
    figures: list[Figure] = []
    for (group, metric), cells in _by(results["cells"], lambda c: (c["group"], main_metric(c))).items():
        both = [(c, c["metrics"][metric]["phases"]) for c in cells if metric]
        both = [(c, p) for c, p in both if _has_value(p, "first") and _has_value(p, "steady")]
        if both:
            figures.append(_first_figure(f"grid-first-{len(figures)}", group, metric, both, contrasts))
    return figures


def _has_value(phases: Json, phase: str) -> bool:
    return bool(phases.get(phase)) and phases[phase].get("value") is not None


def _first_figure(
    grid: str, group: str, metric: str, both: list[tuple[Json, Json]], contrasts: dict[Any, Json]
) -> Figure:
    scale = first_vs_later.scale_of([phases[name] for _, phases in both for name in ("first", "steady")])
    rows, numbers = [], []
    for cell, phases in both:
        first, steady = phases["first"], phases["steady"]
        contrast = contrasts.get((cell["cell"], metric))
        value = (
            f"{fmt.time(steady['value'], steady.get('interval'))} → {fmt.time(first['value'], first.get('interval'))}"
        )
        ratio = f"{fmt.ratio(contrast['ratio'], contrast['interval'])} {interval_words(contrast)}" if contrast else ""
        rows.append(Row(cell["label"], cell["cell"], first_vs_later.track(first, steady, scale, grid), value, ratio))
        shown = [(fmt.time(e["value"], e.get("interval")), shown_interval(e)) for e in (first, steady)]
        numbers.append([cell["label"], *shown[0], *shown[1], ratio or "no contrast was asked for"])
    head = ["Cell", "First", "Interval", "Later", "Interval", "First over later"]
    return Figure(_title(metric), group, Table(head, numbers), first_vs_later.axis(scale, grid), rows)


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
    for group, cells in _by([_turned_over(c) for c in results["cells"]], lambda c: c["group"]).items():
        names = dict.fromkeys(name for cell in cells for name, _ in _metrics(cell))
        for name in names:
            figures += _panels(group, name, [c for c in cells if name in (c.get("metrics") or {})])
    return figures


def _condition(cell: Json) -> Json:
    """Everything that a cell is set to besides its message size."""
    settings = dict(cell["parameters"]) | {"environment": cell["environment"], "placement": cell["placement"]}
    settings.pop("message_bytes", None)
    return settings


def _panels(group: str, metric: str, cells: Sequence[Json]) -> Iterator[Figure]:
    lines = [rows for rows in _by(cells, lambda c: tuple(sorted(_condition(c).items()))).values() if _sizes(rows)]
    if not lines:
        return
    unit = lines[0][0]["metrics"][metric]["unit"]
    axes, labels = _differences([_condition(rows[0]) for rows in lines])
    curves = [Curve(label, _points(rows, metric)) for label, rows in zip(labels, lines, strict=True)]
    title = _title(metric, *([f"by {axes}"] if axes else []))
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


def distribution_figures(results: Json) -> list[Figure]:
    """Launch medians and quantiles of every cell, one figure for each group and metric."""
    figures: list[Figure] = []
    for (group, metric), cells in _by(results["cells"], lambda c: (c["group"], main_metric(c))).items():
        if metric is None:
            continue
        phase = "steady" if any(_has_value(c["metrics"][metric]["phases"], "steady") for c in cells) else "first"
        phases = [(c, c["metrics"][metric]["phases"]) for c in cells]
        known = [(c, found[phase]) for c, found in phases if _has_value(found, phase)]
        if known:
            figures.append(_distribution(f"grid-spread-{len(figures)}", group, metric, phase, known))
    return figures


def _distribution(grid: str, group: str, metric: str, phase: str, known: list[tuple[Json, Json]]) -> Figure:
    scales = distributions.scales_of([one for _, one in known])
    rows = [
        Row(cell["label"], cell["cell"], distributions.track(one, "s", scales, grid), _centre(one), _remarks(one))
        for cell, one in known
    ]
    numbers = [[cell["label"], *_quantiles(one)] for cell, one in known]
    head = ["Cell", "Median", "Interval", "90 %", "99 %", "99.9 %", "Max", "Launches", "Samples"]
    head += ["Spread within launches", "Spread between launches", "Severe outliers"]
    title = _title(metric, "later messages" if phase == "steady" else "first messages")
    return Figure(title, group, Table(head, numbers), distributions.axis(scales, grid), rows)


def _centre(one: Json) -> str:
    found = [fmt.time(one["value"], one.get("interval"))]
    if one.get("p99") is not None:
        found.append(f"99 % {fmt.time(one['p99'])}")
    if one.get("max") is not None:
        found.append(f"max {fmt.time(one['max'])}")
    return ", ".join(found)


def _remarks(one: Json) -> str:
    """What a reader must know before trusting the median."""
    found: list[str] = []
    if one.get("launches") == 1:
        found.append("one launch: run-to-run spread unknown")
    if one.get("modes"):
        modes = [f"{fmt.time(mode['value'])} in {fmt.plural(mode['launches'], 'launch')}" for mode in one["modes"]]
        found.append("launches fall into modes: " + ", ".join(modes))
    if one.get("steady_class") in ("slowdown", "no steady state"):
        found.append(one["steady_class"])
    if (one.get("quantum_ratio") or 0) > 0.01:
        found.append(f"clock steps are {fmt.percent(one['quantum_ratio'])} of a sample")
    return "; ".join(found)


def _tail(one: Json, name: str) -> str:
    """A quantile, or why there is none."""
    if one.get(name) is not None:
        return fmt.time(one[name])
    return f"{fmt.MISSING} {one.get('p999_reason') or 'not recorded'}"


def _quantiles(one: Json) -> list[str]:
    severe = (one.get("outliers") or {}).get("severe")
    share = (one.get("outliers") or {}).get("severe_time_ratio")
    return [
        fmt.time(one["value"], one.get("interval")),
        shown_interval(one),
        *(_tail(one, name) for name in ("p90", "p99", "p999")),
        fmt.time(one.get("max")),
        str(one.get("launches", fmt.MISSING)),
        str(one.get("samples", fmt.MISSING)),
        fmt.percent(one.get("within_ratio")),
        fmt.percent(one.get("between_ratio")),
        fmt.MISSING if severe is None else f"{severe}, {fmt.percent(share)} of the time",
    ]
