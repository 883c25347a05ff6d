# SPDX-License-Identifier: Apache-2.0
"""What every chart of the page is made of: a heading, rows or a picture, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from slowpath.report import format as fmt

Json = Any


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


def heading(metric: str, *more: str) -> str:
    """Heading of a figure: the metric in words, with a capital."""
    words = ", ".join((fmt.metric_name(metric), *more))
    return words[:1].upper() + words[1:]


def metrics_of(cell: Json, unit: str | None = None) -> Iterator[tuple[str, Json]]:
    return ((n, m) for n, m in (cell.get("metrics") or {}).items() if unit is None or m["unit"] == unit)


def grouped(cells: Sequence[Json], key: Callable[[Json], Any]) -> dict[Any, list[Json]]:
    found: dict[Any, list[Json]] = {}
    for cell in cells:
        found.setdefault(key(cell), []).append(cell)
    return found


def main_metric(cell: Json) -> str | None:
    """The metric that stands for a cell in overviews: its first one in seconds."""
    return next((name for name, _ in metrics_of(cell, "s")), None)


def shown_interval(estimate: Json, unit: str = "s") -> str:
    """`[1.20, 1.27] ms, signed-rank 95 %`, or "no interval" and why."""
    shown = fmt.quantity_interval(estimate.get("value"), unit, estimate.get("interval"))
    return fmt.with_kind(shown, estimate.get("interval_kind"))
