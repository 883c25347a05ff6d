# SPDX-License-Identifier: Apache-2.0
"""Cells as the page shows them: first against later messages, distributions, and curves over message size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.result import Interval
from slowpath.core.results import ContrastResult, Results
from slowpath.experiments.coll.experiment import COLL
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, TrackRow, grouped, heading, main_metric, shown_interval
from slowpath.report.svg import first_vs_later, marks, size_curves
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.size_curves import SizeCurve, SizePoint
from slowpath.report.view_contrasts import interval_words

_LINES = 3  # dots are spread over so many lines, so that equal ones stay apart
_TAIL_BEGINS, _LAUNCHES_END = 52.0, 42.0  # percent of the track


@dataclass(frozen=True, slots=True)
class Scales:
    """Axes of both halves, in multiples of the median: launches differ by per cent and tails by factors."""

    launches: LogScale
    tail: LogScale


def _relative(estimate: MetricEstimate, values: Sequence[float]) -> list[float]:
    return [value / estimate.value for value in values] if estimate.value else []


def distribution_scales(estimates: Sequence[MetricEstimate]) -> Scales:
    """Return axes for everything that the tracks of `estimates` show."""
    medians, tails = [1.0], [1.0]
    for estimate in estimates:
        medians += _relative(estimate, [*estimate.launch_values, *(estimate.interval or ())])
        tails += _relative(estimate, (estimate.min, estimate.max))
    left, right = spanning(medians, least=1.1, margin=1.01), spanning(tails, least=2.0, margin=1.05)
    return Scales(
        LogScale(*(left or (0.9, 1.1)), 0.0, _LAUNCHES_END), LogScale(*(right or (0.5, 2.0)), _TAIL_BEGINS, 100.0)
    )


def distribution_axis(scales: Scales, grid: str) -> Markup:
    """Return tick labels of both halves, and the lines that the tracks use, under the id `grid`."""
    left = [(tick, f"{tick:g}×") for tick in _medians_ticks(scales)]
    right = [(tick, f"{tick:g}×") for tick in _tail_ticks(scales)]
    words = "Axes in multiples of the cell's median, logarithmic", "Left: launch medians. Right: samples."
    lines = marks.gridlines(scales.launches, _medians_ticks(scales)) + marks.gridlines(scales.tail, _tail_ticks(scales))
    content = marks.defined(grid, lines) + marks.axis(scales.launches, left, 40) + marks.axis(scales.tail, right, 40)
    content += element("text", "launch medians / median", x="0%", y=13, class_="axis-title")
    content += element("text", "samples / median", x=marks.percent(_TAIL_BEGINS), y=13, class_="axis-title")
    return picture(content, *words, height=40, class_="axis")


def _medians_ticks(scales: Scales) -> list[float]:
    return scales.launches.ticks(4)


def _tail_ticks(scales: Scales) -> list[float]:
    return scales.tail.ticks(5)


def distribution_track(estimate: MetricEstimate, unit: str, scales: Scales, grid: str) -> Markup:
    """Return launch medians over the interval (left), and the range of samples with its quantiles as ticks (right)."""
    content = marks.used(grid)
    content += _launches(estimate, scales.launches) + _samples(estimate, scales.tail)
    title = f"Median {fmt.quantity(estimate.value, unit, estimate.interval)}"
    return picture(content, title, describe(estimate, unit), height=marks.TRACK_HEIGHT, class_="track")


def _launches(estimate: MetricEstimate, scale: LogScale) -> str:
    interval = _relative(estimate, estimate.interval or ())
    content = marks.bar(scale(interval[0]), scale(interval[1]), "interval spread", 15) if interval else ""
    content += _tick(scale(1.0), 4, 26, "centre") if estimate.value else ""
    dots = "".join(
        element("circle", cx=marks.percent(scale(value)), cy=9 + 6 * (index % _LINES), r=3)
        for index, value in enumerate(_relative(estimate, estimate.launch_values))
    )
    return content + element("g", dots, class_="dot launch")


def _samples(estimate: MetricEstimate, scale: LogScale) -> str:
    ends = _relative(estimate, (estimate.min, estimate.max))
    content = marks.bar(scale(ends[0]), scale(ends[1]), "range", 15) if len(ends) == 2 else ""
    content += "".join(_tick(scale(end), 12, 18, "end") for end in ends)
    quantiles = _relative(estimate, [value for _, value in _quantiles(estimate)])
    content += "".join(_tick(scale(value), 8, 22, "quantile") for value in quantiles)
    return content + (_tick(scale(1.0), 4, 26, "centre") if estimate.value else "")


def _quantiles(estimate: MetricEstimate) -> list[tuple[str, float]]:
    """Return the quantiles above the median that an estimate has, by their name in per cent."""
    found = (("90", estimate.p90), ("99", estimate.p99), ("99.9", estimate.p999))
    return [(name, value) for name, value in found if value is not None]


def _tick(x: float, top: int, bottom: int, class_: str) -> str:
    return element("line", x1=marks.percent(x), x2=marks.percent(x), y1=top, y2=bottom, class_=class_)


def describe(estimate: MetricEstimate, unit: str) -> str:
    """Return the quantiles as text."""
    median = [("50", estimate.p50)] if estimate.p50 is not None else []
    known = [f"{name} %: {fmt.quantity(value, unit)}" for name, value in [*median, *_quantiles(estimate)]]
    return f"{fmt.plural(len(estimate.launch_values), 'launch')}. " + ", ".join(known)


def first_figures(results: Results) -> list[Figure]:
    """Return figures of the first message against later ones, one for each group of cells."""
    contrasts = {(c.a.cell, c.metric): c for c in results.contrasts if c.axis == "phase"}
    figures: list[Figure] = []
    for (group, metric), cells in grouped(results.cells, lambda c: (c.group, main_metric(c))).items():
        found = [(c, c.estimate(metric, "first"), c.estimate(metric, "steady")) for c in cells if metric]
        both = [(c, first, steady) for c, first, steady in found if first and steady]
        if metric and both:
            figures.append(_first_figure(f"grid-first-{len(figures)}", group, metric, both, contrasts))
    return figures


def _first_figure(
    grid: str,
    group: str,
    metric: str,
    both: list[tuple[CellResult, MetricEstimate, MetricEstimate]],
    contrasts: Mapping[tuple[int, str], ContrastResult],
) -> Figure:
    scale = first_vs_later.scale_of([estimate for _, first, steady in both for estimate in (first, steady)])
    rows, numbers = [], []
    for cell, first, steady in both:
        contrast = contrasts.get((cell.cell, metric))
        value = f"{fmt.time(steady.value, steady.interval)} → {fmt.time(first.value, first.interval)}"
        ratio = f"{fmt.ratio(contrast.ratio, contrast.interval)} {interval_words(contrast)}" if contrast else ""
        rows.append(TrackRow(cell.label, cell.cell, first_vs_later.track(first, steady, scale, grid), value, ratio))
        shown = [(fmt.time(e.value, e.interval), shown_interval(e)) for e in (first, steady)]
        numbers.append([cell.label, *shown[0], *shown[1], ratio or "no contrast was asked for"])
    head = ["Cell", "First", "Interval", "Later", "Interval", "First over later"]
    return Figure(heading(metric), group, FigureTable(head, numbers), first_vs_later.axis(scale, grid), rows)


def distribution_figures(results: Results) -> list[Figure]:
    """Return figures of launch medians and quantiles, one for each group and metric."""
    figures: list[Figure] = []
    for (group, metric), cells in grouped(results.cells, lambda c: (c.group, main_metric(c))).items():
        if metric is None:
            continue
        phase = "steady" if any(c.estimate(metric, "steady") for c in cells) else "first"
        found = [(c, c.estimate(metric, phase)) for c in cells]
        known = [(c, estimate) for c, estimate in found if estimate]
        if known:
            figures.append(_distribution(f"grid-spread-{len(figures)}", group, metric, phase, known))
    return figures


def _distribution(
    grid: str, group: str, metric: str, phase: str, known: list[tuple[CellResult, MetricEstimate]]
) -> Figure:
    scales = distribution_scales([estimate for _, estimate in known])
    rows = [
        TrackRow(
            cell.label,
            cell.cell,
            distribution_track(estimate, "s", scales, grid),
            _centre(cell, metric, estimate),
            _remarks(estimate),
        )
        for cell, estimate in known
    ]
    numbers = [[cell.label, *_quantile_words(estimate), _above_floor(cell, metric)] for cell, estimate in known]
    head = ["Cell", "Median", "Interval", "90 %", "99 %", "99.9 %", "Max", "Launches", "Samples"]
    head += ["Spread within launches", "Spread between launches", "Severe outliers", "Over the floor"]
    title = heading(metric, "later messages" if phase == "steady" else "first messages")
    return Figure(title, group, FigureTable(head, numbers), distribution_axis(scales, grid), rows)


def _above_floor(cell: CellResult, metric: str) -> str:
    """Return the ratio to the floor, such as `12.4x copy_across (0.56 us)`, or why there is none."""
    over = cell.over_floor
    if over is None or over.metric != metric:
        return f"{fmt.MISSING} {cell.over_floor_reason or 'of another metric'}"
    return f"{fmt.ratio(over.ratio, over.interval)} {over.floor} ({fmt.time(over.floor_s)})"


def _centre(cell: CellResult, metric: str, estimate: MetricEstimate) -> str:
    found = [fmt.time(estimate.value, estimate.interval)]
    if cell.over_floor is not None and cell.over_floor.metric == metric and estimate is cell.estimate(metric, "steady"):
        found.append(f"{fmt.ratio(cell.over_floor.ratio, cell.over_floor.interval)} the floor")
    if estimate.p99 is not None:
        found.append(f"99 % {fmt.time(estimate.p99)}")
    return ", ".join([*found, f"max {fmt.time(estimate.max)}"])


def _remarks(estimate: MetricEstimate) -> str:
    """Return the facts that a reader must know before trusting the median."""
    found: list[str] = []
    if estimate.launches == 1:
        found.append("one launch: run-to-run spread unknown")
    if estimate.modes:
        modes = [f"{fmt.time(mode.value)} in {fmt.plural(mode.launches, 'launch')}" for mode in estimate.modes]
        found.append("launches have several modes: " + ", ".join(modes))
    if estimate.steady_class and estimate.steady_class in ("slowdown", "no steady state"):
        found.append(estimate.steady_class)
    if (estimate.quantum_ratio or 0) > 0.01:
        found.append(f"the clock's resolution is {fmt.percent(estimate.quantum_ratio)} of a sample")
    return "; ".join(found)


def _tail(estimate: MetricEstimate, quantile_s: float | None) -> str:
    """Return a quantile, or why there is none."""
    if quantile_s is not None:
        return fmt.time(quantile_s)
    return f"{fmt.MISSING} {estimate.p999_reason or 'not recorded'}"


def _quantile_words(estimate: MetricEstimate) -> list[str]:
    return [
        fmt.time(estimate.value, estimate.interval),
        shown_interval(estimate),
        *(_tail(estimate, value) for value in (estimate.p90, estimate.p99, estimate.p999)),
        fmt.time(estimate.max),
        str(estimate.launches),
        str(estimate.samples),
        fmt.percent(estimate.within_ratio),
        fmt.percent(estimate.between_ratio),
        f"{estimate.outliers.severe}, {fmt.percent(estimate.outliers.severe_time_ratio)} of the time",
    ]


CURVES_IN_PANEL = 4
FEWEST_SIZES = 3
BANDWIDTH = "bandwidth_bytes_per_s"
Settings = dict[str, str]


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady-state estimate of a cell's metric. `value` is in `unit`, or None without such a phase."""

    unit: str
    value: float | None
    interval: Interval | None
    one: MetricEstimate | None


def _steady(cell: CellResult) -> dict[str, Steady]:
    """Return the steady estimates by metric. The bandwidth of a time is a metric of its own, with its own panel."""
    found = {}
    for name, metric in cell.metrics.items():
        estimate = metric.phases.get("steady")
        found[name] = Steady(
            metric.unit, estimate.value if estimate else None, estimate.interval if estimate else None, estimate
        )
    for metric in cell.metrics.values():
        estimate = metric.phases.get("steady")
        if BANDWIDTH not in found and any(each.bandwidth_bytes_per_s for each in metric.phases.values()):
            value, interval = (
                (estimate.bandwidth_bytes_per_s, estimate.bandwidth_interval) if estimate else (None, None)
            )
            found[BANDWIDTH] = Steady("B/s", value, interval, estimate if value else None)
    return found


def curve_figures(results: Results) -> list[Figure]:
    """Return figures of each metric over message size, for groups with at least three sizes, without collectives."""
    figures: list[Figure] = []
    for group, cells in grouped((c for c in results.cells if c.experiment != COLL.name), lambda c: c.group).items():
        shown = {cell.cell: _steady(cell) for cell in cells}
        for name in dict.fromkeys(name for metrics in shown.values() for name in metrics):
            having = [cell for cell in cells if name in shown[cell.cell]]
            figures += _panels(group, name, having, {cell.cell: shown[cell.cell][name] for cell in having})
    return figures


def _condition(cell: CellResult) -> Settings:
    """Return all settings of a cell except its message size."""
    settings = {**cell.parameters, "environment": cell.environment, "placement": cell.placement}
    settings.pop("message_bytes", None)
    return settings


def _panels(group: str, metric: str, cells: Sequence[CellResult], shown: dict[int, Steady]) -> Iterator[Figure]:
    lines = [rows for rows in grouped(cells, lambda c: tuple(sorted(_condition(c).items()))).values() if _sizes(rows)]
    if not lines:
        return
    unit = shown[lines[0][0].cell].unit
    axes, labels = _differences([_condition(rows[0]) for rows in lines])
    curves = [SizeCurve(label, _points(rows, shown)) for label, rows in zip(labels, lines, strict=True)]
    title = heading(metric, *([f"by {axes}"] if axes else []))
    for start in range(0, len(curves), CURVES_IN_PANEL):
        drawn = [curve for curve in curves[start : start + CURVES_IN_PANEL] if len(curve.points) >= FEWEST_SIZES]
        chart = size_curves.chart(drawn, unit, title) if drawn else None
        if chart:
            members = [c for rows in lines[start : start + CURVES_IN_PANEL] for c in rows]
            yield Figure(title, group, _curve_table(members, shown), picture=chart)


def _sizes(cells: Sequence[CellResult]) -> bool:
    return len({c.parameters.get("message_bytes") for c in cells}) >= FEWEST_SIZES


def _points(cells: Sequence[CellResult], shown: dict[int, Steady]) -> tuple[SizePoint, ...]:
    found = []
    for cell in cells:
        steady, size = shown[cell.cell], int(cell.parameters.get("message_bytes", 0))
        if steady.value and size > 0:
            found.append(SizePoint(size, steady.value, steady.interval))
    return tuple(sorted(found, key=lambda point: point.size_bytes))


def _differences(conditions: list[Settings]) -> tuple[str, list[str]]:
    """Return the settings in which several conditions differ, and a label for each condition."""
    keys = dict.fromkeys(key for condition in conditions for key in condition)
    differing = [k for k in keys if len({condition.get(k) for condition in conditions}) > 1]
    labels = [", ".join(str(c[k]) for k in differing if c.get(k) is not None) for c in conditions]
    return " and ".join(key.replace("_", " ") for key in differing), labels


def _curve_table(cells: Sequence[CellResult], shown: dict[int, Steady]) -> FigureTable:
    rows = []
    for cell in cells:
        found = shown[cell.cell]
        if found.one:
            value = fmt.quantity(found.value, found.unit, found.interval)
            ends = fmt.quantity_interval(found.value, found.unit, found.interval)
            rows.append([cell.label, value, fmt.with_kind(ends, found.one.interval_kind), str(found.one.launches)])
    return FigureTable(["Cell", "Median", "Interval", "Launches"], rows)
