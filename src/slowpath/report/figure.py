# SPDX-License-Identifier: Apache-2.0
"""Figures of the page: a heading, rows or a picture, and their numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from markupsafe import Markup

from slowpath.core.cell_results import CellResult, MetricEstimate, MetricResult
from slowpath.report import format as fmt

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class TrackRow:
    """A row of a chart of tracks: words, picture, numbers."""

    label: str
    cell: int
    track: Markup
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class FigureTable:
    """The numbers of a figure."""

    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its title and numbers: rows of tracks on one axis, or one picture."""

    title: str
    group: str
    table: FigureTable
    axis: Markup | None = None
    rows: list[TrackRow] = field(default_factory=list)
    picture: Markup | None = None


def heading(metric: str, *more: str) -> str:
    """Return the heading of a figure: the metric in words, capitalised."""
    words = ", ".join((fmt.metric_name(metric), *more))
    return words[:1].upper() + words[1:]


def metrics_of(cell: CellResult, unit: str | None = None) -> Iterator[tuple[str, MetricResult]]:
    """Yield name and metric, optionally of one unit only."""
    return ((n, m) for n, m in cell.metrics.items() if unit is None or m.unit == unit)


def grouped(cells: Iterable[CellResult], key: Callable[[CellResult], K]) -> dict[K, list[CellResult]]:
    """Group cells by `key`, in the order in which each key first occurs."""
    found: dict[K, list[CellResult]] = {}
    for cell in cells:
        found.setdefault(key(cell), []).append(cell)
    return found


def main_metric(cell: CellResult) -> str | None:
    """Return the metric that represents a cell in overviews: its first one in seconds."""
    return next((name for name, _ in metrics_of(cell, "s")), None)


def shown_interval(estimate: MetricEstimate) -> str:
    """Return an interval such as `[1.20, 1.27] ms, signed-rank 95 %`, or "no interval" and the reason."""
    shown = fmt.quantity_interval(estimate.value, "s", estimate.interval)
    return fmt.with_kind(shown, estimate.interval_kind)
