# SPDX-License-Identifier: Apache-2.0
"""A collective compared with equivalents built from other calls: for the page, a terminal and collectives.csv. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.experiments.coll import EXPERIMENT, OWN, WORK
from slowpath.experiments.registry import ROLES
from slowpath.report import format as fmt
from slowpath.report.csv import Value, as_csv
from slowpath.report.figure import (
    Axis,
    Block,
    Cell,
    Group,
    Plot,
    Point,
    Quantity,
    Section,
    Series,
    Table,
    grouped,
)

LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class Panel:
    """A collective over its lengths, with everything else equal.

    Args: where: MPI, ranks and unusual settings. metric: metric of all times. times: estimate by way and length in
          bytes, the library's own first.
    """

    collective: str
    where: str
    metric: str
    mpi: str
    times: Mapping[str, Mapping[int, MetricEstimate]]

    @property
    def own(self) -> Mapping[int, MetricEstimate]:
        """Return the times of the library's own call."""
        return self.times[LIBRARY]

    @property
    def lengths(self) -> list[int]:
        """Return the lengths of the library's own call in bytes, 0 if it has none."""
        return sorted(self.own)

    def best(self, length: int) -> tuple[str, MetricEstimate] | None:
        """Return the fastest other way at a length, or None."""
        others = [(name, at[length]) for name, at in self.times.items() if name != LIBRARY and length in at]
        return min(others, key=lambda timed: timed[1].value, default=None)

    def ratio(self, length: int) -> float | None:
        """Return the library's own time over that of the fastest other way."""
        best = self.best(length)
        return None if best is None else self.own[length].value / best[1].value


def panels(results: Results) -> list[Panel]:
    """Return the collectives that were measured in several ways, in the order of the cells."""
    cells = [cell for cell in results.cells if cell.experiment == EXPERIMENT and _steady(cell) is not None]
    calls = [cell for cell in cells if cell.parameters.get("pattern", "calls") == "calls" and cell.copy == 1]
    groups = [group for group in grouped(calls, _place).values() if _is_compared(group)]
    usual = _usual(cells)
    return [_panel(group, results, usual) for group in groups]


def _is_compared(cells: Sequence[CellResult]) -> bool:
    ways = {cell.parameters.get("way", LIBRARY) for cell in cells}
    return LIBRARY in ways and len(ways) > 1


def _settings(cell: CellResult) -> dict[str, str]:
    """Return the settings that distinguish lines."""
    without = ("way", "message_bytes", "collective", "pattern")
    return {k: v for k, v in cell.parameters.items() if k not in without and ROLES.get(k) != "effort"}


def _place(cell: CellResult) -> tuple[object, ...]:
    collective = cell.parameters.get("collective")
    return (cell.mpi, cell.environment, cell.placement, collective, *sorted(_settings(cell).items()))


def _usual(cells: Iterable[CellResult]) -> dict[str, set[str]]:
    """Return the values that occur, by setting."""
    values: dict[str, set[str]] = {}
    for cell in cells:
        for name, value in _settings(cell).items():
            values.setdefault(name, set()).add(value)
    return values


_NEVER_SHOWN = ("datatype", "op", "calls", "arrival_ratio")  # they follow from the collective, or from nothing


def _panel(cells: Sequence[CellResult], results: Results, usual: Mapping[str, set[str]]) -> Panel:
    first = cells[0]
    ways = dict.fromkeys([LIBRARY, *(cell.parameters.get("way", LIBRARY) for cell in cells)])
    metric = WORK if all(_has(cell, WORK) for cell in cells) else OWN
    times: dict[str, dict[int, MetricEstimate]] = {way: {} for way in ways}
    for cell in cells:
        estimate = cell.estimate(metric, "steady")
        if estimate is not None:
            times[cell.parameters.get("way", LIBRARY)][_length(cell)] = estimate
    return Panel(
        first.parameters.get("collective", ""),
        ", ".join(_where(first, results, usual)),
        metric,
        first.mpi or "",
        {way: at for way, at in times.items() if at},
    )


def _where(cell: CellResult, results: Results, usual: Mapping[str, set[str]]) -> list[str]:
    run = results.run
    place = run.placement_of(cell.placement)
    ranks = (place.ranks or len(place.observed)) if place else 0
    words = [cell.mpi] if cell.mpi and len(run.mpis or []) > 1 else []
    words += [f"{ranks} ranks"] if ranks else []
    words += [cell.environment] if len(run.environments) > 1 else []
    words += [cell.placement] if len(run.placements) > 1 and not (place and place.ranks) else []
    reported = {k: v for k, v in _settings(cell).items() if k not in _NEVER_SHOWN and len(usual[k]) > 1}
    standard = {"start": "blocking", "in_place": "off", "shape": "elements", "communicator": "world", "members": "all"}
    return words + [f"{k.replace('_', ' ')} {v}" for k, v in reported.items() if standard.get(k) != v]


def _length(cell: CellResult) -> int:
    """Return the length in bytes, 0 if the collective has no message."""
    return 0 if cell.parameters.get("collective") == "barrier" else int(cell.parameters.get("message_bytes", "0"))


def _has(cell: CellResult, metric: str) -> bool:
    return cell.estimate(metric, "steady") is not None


def _steady(cell: CellResult) -> MetricEstimate | None:
    return cell.estimate(WORK, "steady") or cell.estimate(OWN, "steady")


NAME = "collectives.csv"
COLUMNS = ("mpi", "where", "collective", "message_bytes", "way", "metric", "time_s", "low_s", "high_s", "fastest")


def coll_files(results: Results) -> dict[str, str]:
    """Return content by file name, {} in a run that measured no collective in two ways."""
    shown = panels(results)
    if not shown:
        return {}
    return {NAME: as_csv(COLUMNS, (row for panel in shown for row in _rows(panel)))}


def _rows(panel: Panel) -> list[list[Value]]:
    rows: list[list[Value]] = []
    for length in panel.lengths:
        there = {name: at[length] for name, at in panel.times.items() if length in at}
        least = min(there.values(), key=lambda estimate: estimate.value)
        for name, estimate in there.items():
            ends = estimate.interval or (None, None)
            row = (panel.mpi, panel.where, panel.collective, length, name, panel.metric, estimate.value, *ends)
            rows.append([*row, int(estimate is least)])
    return rows


TITLE = "Collectives: the library's own time over the fastest alternative"


def coll_lines(results: Results) -> list[str]:
    """Return lines, not wrapped, [] in a run that measured no collective in two ways."""
    shown = panels(results)
    lines = [f"{TITLE}:"] if shown else []
    for (where, lengths), group in grouped(shown, lambda panel: (panel.where, tuple(panel.lengths))).items():
        lines += _block(where, lengths, group)
    return lines


def _block(where: str, lengths: tuple[int, ...], group: Sequence[Panel]) -> list[str]:
    head = [where, *(fmt.count_bytes(length) if length else "" for length in lengths)]
    rows = [[panel.collective, *(_ratio(panel, length) for length in lengths)] for panel in group]
    return [f"  {line}" for line in fmt.aligned([head, *rows])]


def _ratio(panel: Panel, length: int) -> str:
    ratio = panel.ratio(length)
    return fmt.MISSING if ratio is None else f"{ratio:.2f}"


_MOST_PICTURES = 60  # of one page; the table and the CSV file have all
_MOST_NAMED = 4  # ways with a colour, the usual one not counted
_LEAD = "A way that is faster here becomes a finding only when other launches prove it."
_HEAD = ["Collective", "Where", "Length", "The library's own", "Fastest other way", "Time", "Own over it"]


def coll_section(results: Results) -> Section | None:
    """Return the section, or None in a run that measured no collective in two ways."""
    every = panels(results)
    if not every:
        return None
    figures = [_figure(panel) for panel in every if len([n for n in panel.lengths if n > 0]) > 1]
    blocks: list[Block] = [Group("panels", figures[:_MOST_PICTURES])]
    rows: list[list[Cell]] = []
    for panel in every:
        for length in panel.lengths:
            if (best := panel.best(length)) is not None:
                own, (name, other) = panel.own[length], best
                size = fmt.count_bytes(length) if length else "no message"
                time = Quantity(own.value, "s", own.interval, own.interval_kind)
                ratio = fmt.ratio(own.value / other.value, None)
                rows.append([panel.collective, panel.where, size, time, name, fmt.time(other.value), ratio])
    blocks.append(Table("", _HEAD, rows, "The numbers"))
    return Section("coll", "Collectives", "Collectives", blocks, _LEAD)


def _figure(panel: Panel) -> Plot:
    """Return all ways, and the fastest of them at each length."""
    lengths = [length for length in panel.lengths if length > 0]
    saved: dict[str, float] = {}
    for length in lengths:
        best = panel.best(length)
        if best and best[1].value < panel.own[length].value:
            saved[best[0]] = max(saved.get(best[0], 0.0), panel.own[length].value / best[1].value)
    named = sorted(saved, key=lambda name: -saved[name])[:_MOST_NAMED]
    others = [name for name in panel.times if name not in (LIBRARY, *named)]
    fastest = [Point(n, min(at[n].value for at in panel.times.values() if n in at)) for n in lengths]
    series = [
        _way(way_words(name), panel.times[name], f"s{place + 1}", name == LIBRARY)
        for place, name in enumerate([LIBRARY, *named])
    ]
    series += [Series("", fastest, "plain", "dashed", "")]
    series += [replace(_way("", panel.times[name], "other", False), marker="") for name in others]
    key = [("bar other", f"thin: {fmt.plural(len(others), 'other way')}")] if others else []
    axis, y = Axis("length of the message", "B"), Axis("time", least=3.0)
    return Plot(panel.collective, panel.where, axis, y, series, key=key)


def _way(label: str, at: Mapping[int, MetricEstimate], style: str, whiskers: bool) -> Series:
    estimates = [(n, estimate) for n, estimate in sorted(at.items()) if n > 0]
    points = [Point(n, estimate.value, estimate.interval if whiskers else None) for n, estimate in estimates]
    return Series(label, points, style)


def way_words(name: str) -> str:
    """Return the label of a way."""
    return "the library's own" if name == LIBRARY else name
