# SPDX-License-Identifier: Apache-2.0
"""The first-use ladder as one picture for each library and placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table
from slowpath.report.first_use.rungs import Rung, rungs
from slowpath.report.svg import first_vs_later, marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale

HEAD = ["Use", "First", "Interval", "Later, median", "Interval", "Last one kept", "First over later"]


@dataclass(frozen=True, slots=True)
class FirstUseView:
    """The section of the page."""

    figures: list[Figure]


def first_use_view(results: Results) -> FirstUseView | None:
    """None in a run without measured cells of the experiment first_use."""
    found = rungs(results)
    figures = [_figure(place, where, each) for place, (where, each) in enumerate(found.items())]
    return FirstUseView(figures) if figures else None


def _figure(place: int, where: tuple[str, str], each: Sequence[Rung]) -> Figure:
    grid = f"grid-first-use{place}"
    estimates = [one for rung in each for one in (rung.first, rung.later) if one is not None]
    scale = first_vs_later.scale_of(estimates)
    return Figure(
        f"First-use ladder, {where[0]}",
        f"placement {where[1]}; hollow: the first time in a launch; filled: later ones; a tick: the last one kept",
        Table(HEAD, [_numbers(rung) for rung in each]),
        axis=_axis(scale, grid),
        rows=[Row(rung.name, rung.cell.cell, _track(rung, scale, grid), _value(rung)) for rung in each],
    )


def _axis(scale: LogScale, grid: str) -> Markup:
    ticks = scale.ticks(7)
    labels = [(tick, first_vs_later.short_time(tick)) for tick in ticks]
    content = marks.defined(grid, marks.gridlines(scale, ticks)) + marks.axis(scale, labels)
    content += marks.axis_title("time of one use")
    words = f"From {fmt.time(scale.low)} to {fmt.time(scale.high)}."
    return picture(content, "Time axis, logarithmic", words, height=marks.AXIS_HEIGHT, class_="axis")


def _track(rung: Rung, scale: LogScale, grid: str) -> Markup:
    content = marks.used(grid)
    first, later = rung.first, rung.later
    if later is not None:
        content += marks.bar(scale(later.value), scale(first.value), "join")
    for one, kind in ((later, "steady"), (first, "first")):
        if one is not None and one.interval:
            content += marks.bar(scale(one.interval[0]), scale(one.interval[1]), f"interval {kind}")
    if later is not None:
        content += marks.dot(scale(later.value), "dot steady", 4.5)
    if rung.last is not None:
        x = marks.percent(scale(rung.last[1]))
        content += element("line", x1=x, x2=x, y1=6, y2=24, class_="centre")
    content += element("circle", cx=marks.percent(scale(first.value)), cy=marks.MIDDLE, r=5, class_="dot first")
    words = f"First {fmt.time(first.value, first.interval)}, later {_later(rung)}"
    return picture(content, words, "Hollow: first. Filled: later.", height=marks.TRACK_HEIGHT, class_="track")


def _later(rung: Rung) -> str:
    return fmt.time(rung.later.value, rung.later.interval) if rung.later else "once a process"


def _value(rung: Rung) -> str:
    first = fmt.time(rung.first.value, rung.first.interval)
    return f"{fmt.time(rung.later.value, rung.later.interval)} → {first}" if rung.later else first


def _numbers(rung: Rung) -> list[str]:
    first, later = rung.first, rung.later
    return [
        rung.name,
        fmt.time(first.value, first.interval),
        fmt.quantity_interval(first.value, "s", first.interval) or "no interval",
        fmt.time(later.value, later.interval) if later else fmt.MISSING,
        (fmt.quantity_interval(later.value, "s", later.interval) or "no interval") if later else "once a process",
        f"{rung.last[0]}: {fmt.time(rung.last[1])}" if rung.last else fmt.MISSING,
        f"{first.value / later.value:.3g}x" if later else fmt.MISSING,
    ]
