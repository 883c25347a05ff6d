# SPDX-License-Identifier: Apache-2.0
"""Steps one behind the other, each as long as it took, on one axis of time."""

from __future__ import annotations

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.scale_linear import LinearScale

HEIGHT = 20


def scale_of(whole_s: float) -> LinearScale:
    """From the first step's start to the last one's end."""
    return LinearScale(0.0, max(whole_s, 1e-3), 0.0, 100.0)


def axis(scale: LinearScale, grid: str) -> Markup:
    """Tick labels, and the lines that the tracks use, under the id `grid`."""
    places = [(scale(tick), fmt.duration(tick) if tick else "0") for tick in scale.ticks(6)]
    lines = "".join(
        element("line", x1=marks.percent(x), x2=marks.percent(x), y1=0, y2=HEIGHT, class_="grid") for x, _ in places
    )
    labels = "".join(
        text(
            words,
            marks.percent(x),
            31,
            "start" if x < 4 else "end" if x > 96 else "middle",
            "tick odd" if place % 2 else "tick",
        )
        for place, (x, words) in enumerate(places)
    )
    content = marks.defined(grid, lines) + marks.axis_title("time since the diagnosis began") + labels
    return picture(
        content, "Time axis", f"Linear, from 0 to {fmt.duration(scale.high)}.", height=marks.AXIS_HEIGHT, class_="axis"
    )


def track(name: str, begin_s: float, wall_s: float, kind: str, scale: LinearScale, grid: str) -> Markup:
    """One step. kind: of the step, which gives the colour."""
    low, high = scale(begin_s), scale(begin_s + wall_s)
    content = marks.used(grid) + element("rect", x=marks.percent(low), width=marks.percent(max(0.5, high - low)), y=4,
                                         height=HEIGHT - 8, rx=2, class_=f"step {kind}")  # fmt: skip
    return picture(content, name, fmt.duration(wall_s), height=HEIGHT, class_="track")
