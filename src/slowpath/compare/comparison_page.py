# SPDX-License-Identifier: Apache-2.0
"""A comparison as a self-contained HTML page: a panel with both curves for each series of sizes, then all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from slowpath.compare.comparison import Comparison, ComparisonRow
from slowpath.compare.comparison_text import ORDER, counts, row_label
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report import page
from slowpath.report.figure import Figure, FigureTable
from slowpath.report.svg import over_n, size_curves
from slowpath.report.svg.over_n import OrderAxes, OrderSeries
from slowpath.report.svg.size_curves import SizeCurve, SizePoint

FEWEST = 2  # points that make a curve
CURVE_HEAD = ["", "A", "Interval", "B", "Interval", "B over A", "Verdict"]
Spot = tuple[int, float, tuple[float, float] | None]  # place on the axis, value, interval
Both = tuple[list[Spot], list[Spot]]


@dataclass(frozen=True, slots=True)
class _Swept:
    """The parameter over which an experiment's cells form curves, and how the curves are drawn.

    Args: draw: takes both curves, the unit, the title of the y axis and the title of the panel.
    """

    parameter: str
    words: Callable[[int], str]
    draw: Callable[[Both, str, str, str], Markup | None]


def _over_order(both: Both, unit: str, y_title: str, title: str) -> Markup | None:
    series = [OrderSeries(name, tuple(spots)) for name, spots in zip("AB", both, strict=True)]
    return over_n.chart(series, OrderAxes(y_title, unit), title)


def _over_bytes(both: Both, unit: str, y_title: str, title: str) -> Markup | None:
    curves = [
        SizeCurve(name, tuple(SizePoint(*spot) for spot in spots)) for name, spots in zip("AB", both, strict=True)
    ]
    return size_curves.chart(curves, unit, title)


SWEPT = {
    "cannon": _Swept("n", lambda n: f"n = {n}", _over_order),
    "p2p": _Swept("message_bytes", fmt.count_bytes, _over_bytes),
}


def figures(found: Comparison, a: Results, b: Results) -> list[Figure]:
    """Return a figure for each steady curve that both runs have: times, and bandwidths next to them."""
    cells = {id(run): {cell.cell: cell for cell in run.cells} for run in (a, b)}
    curves: dict[tuple[object, ...], list[ComparisonRow]] = {}
    for row in found.rows:
        cell = cells[id(b)][row.b_cell]
        swept = SWEPT.get(row.experiment)
        if row.phase == "steady" and swept and cell.parameters.get(swept.parameter, "").isdecimal():
            curves.setdefault(_key(row, cell, swept.parameter), []).append(row)
    titles = _titles([(cells[id(b)][rows[0].b_cell], rows[0]) for rows in curves.values()])
    made = [
        figure
        for rows, (title, group) in zip(curves.values(), titles, strict=True)
        if len(rows) >= FEWEST
        for figure in _panels(rows, cells[id(a)], cells[id(b)], title, group)
    ]
    return made


def _key(row: ComparisonRow, cell: CellResult, swept: str) -> tuple[object, ...]:
    shared = {name: value for name, value in cell.parameters.items() if name not in (swept, "repetitions")}
    return (cell.group, row.experiment, row.metric, cell.mpi, cell.environment, cell.placement, cell.copy,
            tuple(sorted(shared.items())))  # fmt: skip


def _titles(firsts: Sequence[tuple[CellResult, ComparisonRow]]) -> list[tuple[str, str]]:
    """Return title and group of each curve, with its differences from other curves of the group."""
    found = []
    for cell, row in firsts:
        others = [other_cell for other_cell, _ in firsts if other_cell.group == cell.group]
        names = dict.fromkeys(name for cell in others for name in _settings(cell))
        swept = SWEPT[row.experiment].parameter
        varying = [
            n for n in names if n not in (swept, "repetitions") and len({_settings(o).get(n) for o in others}) > 1
        ]
        words = ", ".join(str(_settings(cell)[name]).replace("_", " ") for name in varying if name in _settings(cell))
        metric = fmt.metric_name(row.metric)
        found.append((f"{metric[:1].upper()}{metric[1:]}" + (f", {words}" if words else ""), cell.group))
    return found


def _settings(cell: CellResult) -> Mapping[str, str]:
    return {**cell.parameters, "mpi": cell.mpi or "", "environment": cell.environment, "placement": cell.placement}


def _panels(
    rows: Sequence[ComparisonRow], a: Mapping[int, CellResult], b: Mapping[int, CellResult], title: str, group: str
) -> Iterator[Figure]:
    swept = SWEPT[rows[0].experiment]
    ordered = sorted(rows, key=lambda row: int(b[row.b_cell].parameters[swept.parameter]))
    places = [int(b[row.b_cell].parameters[swept.parameter]) for row in ordered]
    sides = [
        (a[row.a_cell].metrics[row.metric].phases["steady"], b[row.b_cell].metrics[row.metric].phases["steady"])
        for row in ordered
    ]
    unit = rows[0].unit
    times = _both(places, sides, lambda estimate: (estimate.value, estimate.interval))
    table = FigureTable(list(CURVE_HEAD), [_line(swept.words(n), row, *side) for n, row, side in
                               zip(places, ordered, sides, strict=True)])  # fmt: skip
    y_title = "time" if unit == "s" else fmt.metric_name(rows[0].metric)
    if picture := swept.draw(times, unit, y_title, title):
        yield Figure(title, group, table, picture=picture)
    rates = _both(places, sides, lambda estimate: (estimate.bandwidth_bytes_per_s, estimate.bandwidth_interval))
    if rates[0] and rates[1] and (picture := swept.draw(rates, "B/s", "bandwidth", f"{title}: bandwidth")):
        yield Figure(f"{title}: bandwidth", group, table, picture=picture)


def _both(
    places: Sequence[int],
    sides: Sequence[tuple[MetricEstimate, MetricEstimate]],
    of: Callable[[MetricEstimate], tuple[float | None, tuple[float, float] | None]],
) -> Both:
    curves: Both = ([], [])
    for place, side in zip(places, sides, strict=True):
        for curve, estimate in zip(curves, side, strict=True):
            value, interval = of(estimate)
            if value:
                curve.append((place, value, interval))
    return curves


def _line(place: str, row: ComparisonRow, a: MetricEstimate, b: MetricEstimate) -> list[str]:
    found = [place]
    for estimate in (a, b):
        ends = fmt.quantity_interval(estimate.value, row.unit, estimate.interval)
        found += [
            fmt.quantity(estimate.value, row.unit, estimate.interval),
            fmt.with_kind(ends, estimate.interval_kind),
        ]
    shown = f"{fmt.ratio(row.ratio, row.interval)} {fmt.ratio_interval(row.ratio, row.interval) or ''}".rstrip()
    return [*found, shown, row.verdict]


HEAD = ["Verdict", "Ratio", "Interval", "B", "A", "Cell"]


def render_comparison_html(found: Comparison, a: Results, b: Results) -> str:
    """The whole page. a, b: results of the two runs that `found` compares."""
    ordered = sorted(found.rows, key=lambda row: ORDER.index(row.verdict))
    rows = [
        [
            row.verdict,
            fmt.ratio(row.ratio, row.interval),
            fmt.ratio_interval(row.ratio, row.interval) or row.interval_kind,
            fmt.quantity(row.b_value, row.unit),
            fmt.quantity(row.a_value, row.unit),
            row_label(row),
        ]
        for row in ordered
    ]
    return page.render(
        "comparison.html.j2",
        Path(__file__).parent,
        found=found,
        headline=f"B against A: {counts(found)}",
        panels=figures(found, a, b),
        rows=FigureTable(list(HEAD), rows),
    )
