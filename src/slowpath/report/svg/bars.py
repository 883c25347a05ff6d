# SPDX-License-Identifier: Apache-2.0
"""Bars on a logarithmic axis, a thin bar for each series, with ranges or intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.size_curves import STYLES


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a row.

    Args: series: index into the legend, which gives the colour; None is history, drawn hollow. value: None draws the
          extension only. beyond: end of a lighter extension. spread: a range or interval.
    """

    series: int | None
    value: float | None
    spread: tuple[float, float] | None = None
    beyond: float | None = None


def scale_of(rows: Sequence[Sequence[Bar]]) -> LogScale:
    """Return an axis for all bars that begins well below the shortest one, so that it is visible."""
    values = [v for row in rows for bar in row for v in (bar.value, bar.beyond, *(bar.spread or ()))]
    low, high = spanning(values, least=4.0, margin=1.06) or (1.0, 10.0)
    return LogScale(low / 1.8, high)


def axis(scale: LogScale, grid: str, label: Callable[[float], str], title: str) -> Markup:
    """Return tick labels, and the lines that the tracks use, under the id `grid`."""
    ticks = scale.ticks(7)
    content = marks.defined(grid, marks.gridlines(scale, ticks))
    content += marks.axis(scale, [(tick, label(tick)) for tick in ticks]) + marks.axis_title(title)
    words = f"Logarithmic, from {label(scale.low)} to {label(scale.high)}."
    return picture(content, title, words, height=marks.AXIS_HEIGHT, class_="axis")


def track(bars: Sequence[Bar], scale: LogScale, grid: str, words: str) -> Markup:
    """Return the bars of a row below each other, each from the axis' left end."""
    height = min(12, (marks.TRACK_HEIGHT - 4) // max(1, len(bars)))
    top = (marks.TRACK_HEIGHT - height * len(bars)) // 2
    content = marks.used(grid)
    for place, bar in enumerate(bars):
        content += _bar(bar, scale, top + place * height, height)
    return picture(content, words, "Length on a logarithmic axis.", height=marks.TRACK_HEIGHT, class_="track")


def _bar(bar: Bar, scale: LogScale, y: int, height: int) -> str:
    style = "history" if bar.series is None else f"point {STYLES[bar.series % len(STYLES)]}"
    thick = max(3, height - 2)
    content = ""
    if bar.beyond is not None:
        content += element("rect", x=0, width=marks.percent(scale(bar.beyond)), y=y + 1, height=thick,
                           class_=f"{style} beyond")  # fmt: skip
    if bar.value is not None:
        content += element("rect", x=0, width=marks.percent(scale(bar.value)), y=y + 1, height=thick, class_=style)
    if bar.spread:
        low, high = (marks.percent(scale(end)) for end in bar.spread)
        content += element("line", x1=low, x2=high, y1=y + 1 + thick / 2, y2=y + 1 + thick / 2, class_="spread-line")
    return content
