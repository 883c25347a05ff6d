# SPDX-License-Identifier: Apache-2.0
"""Both runs in one picture: a panel for each curve that both have, over the message's length or the matrices' order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.compare.comparison import Comparison, Row
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Table
from slowpath.report.svg import over_n, size_curves
from slowpath.report.svg.over_n import Axes, Series
from slowpath.report.svg.size_curves import Curve, Point

FEWEST = 2  # points that make a curve
HEAD = ["", "A", "Interval", "B", "Interval", "B over A", "Verdict"]
Spot = tuple[int, float, tuple[float, float] | None]  # place on the axis, value, interval
Both = tuple[list[Spot], list[Spot]]


@dataclass(frozen=True, slots=True)
class _Swept:
    """What cells of an experiment are measured over. draw: both curves, the unit, the title of y and of the panel."""

    parameter: str
    words: Callable[[int], str]
    draw: Callable[[Both, str, str, str], Markup | None]


def _over_order(both: Both, unit: str, y_title: str, title: str) -> Markup | None:
    series = [Series(name, tuple(spots)) for name, spots in zip("AB", both, strict=True)]
    return over_n.chart(series, Axes(y_title, unit), title)


def _over_bytes(both: Both, unit: str, y_title: str, title: str) -> Markup | None:
    curves = [Curve(name, tuple(Point(*spot) for spot in spots)) for name, spots in zip("AB", both, strict=True)]
    return size_curves.chart(curves, unit, title)


SWEPT = {
    "cannon": _Swept("n", lambda n: f"n = {n}", _over_order),
    "p2p": _Swept("message_bytes", fmt.count_bytes, _over_bytes),
}


def figures(found: Comparison, a: Results, b: Results) -> list[Figure]:
    """Every curve of the steady state that both runs have; times, and next to them bandwidths."""
    cells = {id(run): {cell.cell: cell for cell in run.cells} for run in (a, b)}
    curves: dict[tuple[object, ...], list[Row]] = {}
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


def _key(row: Row, cell: CellResult, swept: str) -> tuple[object, ...]:
    shared = {name: value for name, value in cell.parameters.items() if name not in (swept, "repetitions")}
    return (cell.group, row.experiment, row.metric, cell.mpi, cell.environment, cell.placement, cell.copy,
            tuple(sorted(shared.items())))  # fmt: skip


def _titles(firsts: Sequence[tuple[CellResult, Row]]) -> list[tuple[str, str]]:
    """Title and group of each curve: what sets it apart from the other curves of its group of cells."""
    found = []
    for cell, row in firsts:
        others = [one for one, _ in firsts if one.group == cell.group]
        names = dict.fromkeys(name for one in others for name in _settings(one))
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
    rows: Sequence[Row], a: Mapping[int, CellResult], b: Mapping[int, CellResult], title: str, group: str
) -> Iterator[Figure]:
    swept = SWEPT[rows[0].experiment]
    ordered = sorted(rows, key=lambda row: int(b[row.b_cell].parameters[swept.parameter]))
    places = [int(b[row.b_cell].parameters[swept.parameter]) for row in ordered]
    sides = [
        (a[row.a_cell].metrics[row.metric].phases["steady"], b[row.b_cell].metrics[row.metric].phases["steady"])
        for row in ordered
    ]
    unit = rows[0].unit
    times = _both(places, sides, lambda one: (one.value, one.interval))
    table = Table(list(HEAD), [_line(swept.words(n), row, *side) for n, row, side in
                               zip(places, ordered, sides, strict=True)])  # fmt: skip
    y_title = "time" if unit == "s" else fmt.metric_name(rows[0].metric)
    if picture := swept.draw(times, unit, y_title, title):
        yield Figure(title, group, table, picture=picture)
    rates = _both(places, sides, lambda one: (one.bandwidth_bytes_per_s, one.bandwidth_interval))
    if rates[0] and rates[1] and (picture := swept.draw(rates, "B/s", "bandwidth", f"{title}: bandwidth")):
        yield Figure(f"{title}: bandwidth", group, table, picture=picture)


def _both(
    places: Sequence[int],
    sides: Sequence[tuple[MetricEstimate, MetricEstimate]],
    of: Callable[[MetricEstimate], tuple[float | None, tuple[float, float] | None]],
) -> Both:
    curves: Both = ([], [])
    for place, side in zip(places, sides, strict=True):
        for curve, one in zip(curves, side, strict=True):
            value, interval = of(one)
            if value:
                curve.append((place, value, interval))
    return curves


def _line(place: str, row: Row, a: MetricEstimate, b: MetricEstimate) -> list[str]:
    found = [place]
    for one in (a, b):
        ends = fmt.quantity_interval(one.value, row.unit, one.interval)
        found += [fmt.quantity(one.value, row.unit, one.interval), fmt.with_kind(ends, one.interval_kind)]
    shown = f"{fmt.ratio(row.ratio, row.interval)} {fmt.ratio_interval(row.ratio, row.interval) or ''}".rstrip()
    return [*found, shown, row.verdict]
