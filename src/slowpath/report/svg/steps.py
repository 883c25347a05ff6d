# SPDX-License-Identifier: Apache-2.0
"""The steps of a diagnosis on an axis of time, and the shares of a gap that remedies removed."""

from __future__ import annotations

from markupsafe import Markup

from slowpath.core.result import Interval
from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.scale_linear import LinearScale

HEIGHT = 20


def scale_of(whole_s: float) -> LinearScale:
    """Return the axis from the first step's start to the last step's end."""
    return LinearScale(0.0, max(whole_s, 1e-3), 0.0, 100.0)


def axis(scale: LinearScale, grid: str) -> Markup:
    """Return tick labels, and the lines that the tracks use, under the id `grid`."""
    lines, labels = marks.linear_ticks(scale, lambda tick: fmt.duration(tick) if tick else "0", height=HEIGHT)
    content = marks.defined(grid, lines) + marks.axis_title("time since the diagnosis began") + labels
    return picture(
        content, "Time axis", f"Linear, from 0 to {fmt.duration(scale.high)}.", height=marks.AXIS_HEIGHT, class_="axis"
    )


def track(name: str, begin_s: float, wall_s: float, kind: str, scale: LinearScale, grid: str) -> Markup:
    """Return a step.  Args: kind: kind of the step, which gives the colour."""
    low, high = scale(begin_s), scale(begin_s + wall_s)
    content = marks.used(grid) + element("rect", x=marks.percent(low), width=marks.percent(max(0.5, high - low)), y=4,
                                         height=HEIGHT - 8, rx=2, class_=f"step {kind}")  # fmt: skip
    return picture(content, name, fmt.duration(wall_s), height=HEIGHT, class_="track")


SCALE = LinearScale(-0.3, 1.3, 0.0, 100.0)
_TICKS = (0.0, 0.5, 1.0)
TITLE = "share of the gap that the remedy removed"


def removed_axis(grid: str) -> Markup:
    """Return tick labels, and the lines that the tracks use, under the id `grid`."""
    places = [(marks.percent(SCALE(tick)), fmt.percent(tick, 0)) for tick in _TICKS]
    lines = "".join(element("line", x1=x, x2=x, y1=0, y2=marks.TRACK_HEIGHT, class_="grid") for x, _ in places)
    labels = "".join(text(words, x, 31, "middle", "tick") for x, words in places)
    content = marks.defined(grid, lines) + marks.axis_title(TITLE) + labels
    return picture(
        content, "Axis of shares", "Linear, from 0 to 100 % of the gap.", height=marks.AXIS_HEIGHT, class_="axis"
    )


def removed_track(name: str, value: float | None, interval: Interval | None, verdict: str, grid: str) -> Markup:
    """Return a bar of the removed share with its interval, or no bar if it is unknown."""
    if value is None:
        words = "The removed share is unknown."
        return picture(marks.used(grid), f"{name}: {verdict}", words, height=marks.TRACK_HEIGHT, class_="track")
    start, end = SCALE(0.0), SCALE(value)
    low, width = marks.percent(min(start, end)), marks.percent(max(0.4, abs(end - start)))
    content = marks.used(grid) + element("rect", x=low, y=9, height=12, width=width, class_=f"share {verdict}")
    if interval:
        content += marks.bar(SCALE(interval[0]), SCALE(interval[1]), "spread-line")
    words = f"Removes {fmt.percent(value, 0)} of the gap"
    return picture(content, f"{name}: {verdict}", words, height=marks.TRACK_HEIGHT, class_="track")
