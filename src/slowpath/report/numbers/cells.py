# SPDX-License-Identifier: Apache-2.0
"""One row a cell: what a run ends with that asks no question about slow paths. Pure."""

from __future__ import annotations

from collections.abc import Collection

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.experiments.registry import experiment_named
from slowpath.report import format as fmt

MOST_ROWS = 60
_LABEL = 28  # characters of a cell's label
_HEAD = ("", "value", "95 % interval", "min", "median", "p99", "launches")
_WIDTHS = (_LABEL, 10, 19, 9, 9, 9, 8)  # below 100 columns, with a blank between two
# Metrics that say what a call costs, before the order in which the experiment lists them.
_FIRST = {"coll": ("collective_own_s",)}


def cell_lines(results: Results, without: Collection[str] = (), most: int | None = MOST_ROWS) -> list[str]:
    """Return the table of all measured cells, grouped as in the campaign, [] where there is none.

    Args: without: experiments that have a table of their own.  most: rows at most; None: all.
    """
    groups: dict[str, list[str]] = {}
    for cell in results.cells:
        if cell.experiment in without or cell.copy != 1:
            continue
        if (found := _main(cell)) is not None:
            name, phase, estimate, unit = found
            heading = f"{cell.group}: {fmt.metric_name(name)}{', first' if phase == 'first' else ''}"
            groups.setdefault(heading, []).append(_line(_row(cell, estimate, unit)))
    if not groups:
        return []
    total = sum(map(len, groups.values()))
    lines, left = [_line(list(_HEAD))], total if most is None else most
    for heading, rows in groups.items():
        if left <= 0:
            break
        lines += [heading, *rows[:left]]
        left -= len(rows[:left])
    if most is not None:
        more = f"{total - most} more rows, and t" if total > most else "T"
        lines.append(f"{more}ables in OSU's format: slowpath table {results.run.folder or 'RUN'}")
    return lines


def _main(cell: CellResult) -> tuple[str, str, MetricEstimate, str] | None:
    """Return name, phase, estimate and unit of the metric that stands for a cell; None: it has none."""
    listed = [metric.name for pattern in experiment_named(cell.experiment).patterns for metric in pattern.metrics]
    if cell.parameters.get("pattern") == "overlap":
        listed = ["overlapped_s", *listed]
    names = dict.fromkeys([*_FIRST.get(cell.experiment, ()), *listed, *cell.metrics])
    for name in names:
        for phase in ("steady", "first"):
            if (found := cell.estimate(name, phase)) is not None:
                return name, phase, found, cell.metrics[name].unit
    return None


def _row(cell: CellResult, found: MetricEstimate, unit: str) -> list[str]:
    interval = fmt.quantity_interval(found.value, unit, found.interval) or "none"
    label = cell.label if len(cell.label) <= _LABEL else f"{cell.label[: _LABEL - 3]}..."
    quantities = [fmt.quantity(value, unit) for value in (found.min, found.p50, found.p99)]
    return [label, fmt.quantity(found.value, unit, found.interval), interval, *quantities, str(found.launches)]


def _line(row: list[str]) -> str:
    label, *numbers = row
    shown = (text.rjust(width) for text, width in zip(numbers, _WIDTHS[1:], strict=True))
    return f"  {label:<{_LABEL}}{' '.join(shown)}".rstrip()
