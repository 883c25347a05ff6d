# SPDX-License-Identifier: Apache-2.0
"""Cells as the page shows them: first against later messages, distributions."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import ContrastResult, Results
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table, grouped, heading, main_metric, shown_interval
from slowpath.report.svg import distributions, first_vs_later
from slowpath.report.view_contrasts import interval_words


def first_figures(results: Results) -> list[Figure]:
    """First message against later ones, one figure for each group of cells."""
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
    scale = first_vs_later.scale_of([one for _, first, steady in both for one in (first, steady)])
    rows, numbers = [], []
    for cell, first, steady in both:
        contrast = contrasts.get((cell.cell, metric))
        value = f"{fmt.time(steady.value, steady.interval)} → {fmt.time(first.value, first.interval)}"
        ratio = f"{fmt.ratio(contrast.ratio, contrast.interval)} {interval_words(contrast)}" if contrast else ""
        rows.append(Row(cell.label, cell.cell, first_vs_later.track(first, steady, scale, grid), value, ratio))
        shown = [(fmt.time(e.value, e.interval), shown_interval(e)) for e in (first, steady)]
        numbers.append([cell.label, *shown[0], *shown[1], ratio or "no contrast was asked for"])
    head = ["Cell", "First", "Interval", "Later", "Interval", "First over later"]
    return Figure(heading(metric), group, Table(head, numbers), first_vs_later.axis(scale, grid), rows)


def distribution_figures(results: Results) -> list[Figure]:
    """Launch medians and quantiles of every cell, one figure for each group and metric."""
    figures: list[Figure] = []
    for (group, metric), cells in grouped(results.cells, lambda c: (c.group, main_metric(c))).items():
        if metric is None:
            continue
        phase = "steady" if any(c.estimate(metric, "steady") for c in cells) else "first"
        found = [(c, c.estimate(metric, phase)) for c in cells]
        known = [(c, one) for c, one in found if one]
        if known:
            figures.append(_distribution(f"grid-spread-{len(figures)}", group, metric, phase, known))
    return figures


def _distribution(
    grid: str, group: str, metric: str, phase: str, known: list[tuple[CellResult, MetricEstimate]]
) -> Figure:
    scales = distributions.scales_of([one for _, one in known])
    rows = [
        Row(
            cell.label,
            cell.cell,
            distributions.track(one, "s", scales, grid),
            _centre(cell, metric, one),
            _remarks(one),
        )
        for cell, one in known
    ]
    numbers = [[cell.label, *_quantiles(one), _above_floor(cell, metric)] for cell, one in known]
    head = ["Cell", "Median", "Interval", "90 %", "99 %", "99.9 %", "Max", "Launches", "Samples"]
    head += ["Spread within launches", "Spread between launches", "Severe outliers", "Over the floor"]
    title = heading(metric, "later messages" if phase == "steady" else "first messages")
    return Figure(title, group, Table(head, numbers), distributions.axis(scales, grid), rows)


def _above_floor(cell: CellResult, metric: str) -> str:
    """`12.4x copy_across (0.56 us)`, or why there is none."""
    over = cell.over_floor
    if over is None or over.metric != metric:
        return f"{fmt.MISSING} {cell.over_floor_reason or 'of another metric'}"
    return f"{fmt.ratio(over.ratio, over.interval)} {over.floor} ({fmt.time(over.floor_s)})"


def _centre(cell: CellResult, metric: str, one: MetricEstimate) -> str:
    found = [fmt.time(one.value, one.interval)]
    if cell.over_floor is not None and cell.over_floor.metric == metric and one is cell.estimate(metric, "steady"):
        found.append(f"{fmt.ratio(cell.over_floor.ratio, cell.over_floor.interval)} the floor")
    if one.p99 is not None:
        found.append(f"99 % {fmt.time(one.p99)}")
    return ", ".join([*found, f"max {fmt.time(one.max)}"])


def _remarks(one: MetricEstimate) -> str:
    """What a reader must know before trusting the median."""
    found: list[str] = []
    if one.launches == 1:
        found.append("one launch: run-to-run spread unknown")
    if one.modes:
        modes = [f"{fmt.time(mode.value)} in {fmt.plural(mode.launches, 'launch')}" for mode in one.modes]
        found.append("launches fall into modes: " + ", ".join(modes))
    if one.steady_class and one.steady_class in ("slowdown", "no steady state"):
        found.append(one.steady_class)
    if (one.quantum_ratio or 0) > 0.01:
        found.append(f"clock steps are {fmt.percent(one.quantum_ratio)} of a sample")
    return "; ".join(found)


def _tail(one: MetricEstimate, quantile_s: float | None) -> str:
    """A quantile, or why there is none."""
    if quantile_s is not None:
        return fmt.time(quantile_s)
    return f"{fmt.MISSING} {one.p999_reason or 'not recorded'}"


def _quantiles(one: MetricEstimate) -> list[str]:
    return [
        fmt.time(one.value, one.interval),
        shown_interval(one),
        *(_tail(one, value) for value in (one.p90, one.p99, one.p999)),
        fmt.time(one.max),
        str(one.launches),
        str(one.samples),
        fmt.percent(one.within_ratio),
        fmt.percent(one.between_ratio),
        f"{one.outliers.severe}, {fmt.percent(one.outliers.severe_time_ratio)} of the time",
    ]
