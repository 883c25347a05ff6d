# SPDX-License-Identifier: Apache-2.0
"""First message against later ones: a hollow marker for the first, a filled one for later ones, joined."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from slowpath.core.cell_results import MetricEstimate
from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale, spanning


def scale_of(estimates: Sequence[MetricEstimate]) -> LogScale:
    """Return an axis of time for all `estimates` and their intervals."""
    values: list[float | None] = []
    for estimate in estimates:
        values += [estimate.value, *(estimate.interval or ())]
    return LogScale(*(spanning(values, least=3.0, margin=1.15) or (1e-6, 1e-3)))


def axis(scale: LogScale, grid: str, title: str = "time of one message") -> Markup:
    """Return tick labels in time, and the lines that the tracks use, under the id `grid`."""
    ticks = scale.ticks(7)
    labels = [(tick, short_time(tick)) for tick in ticks]
    content = marks.defined(grid, marks.gridlines(scale, ticks)) + marks.axis(scale, labels)
    content += marks.axis_title(title)
    words = "Time axis, logarithmic", f"From {fmt.time(scale.low)} to {fmt.time(scale.high)}."
    return picture(content, *words, height=marks.AXIS_HEIGHT, class_="axis")


def short_time(tick_s: float) -> str:
    """Return a tick's label without unnecessary zeros: 10 µs, not 10.0 µs."""
    number, _, unit = fmt.time(tick_s).partition(" ")
    return f"{float(number):g} {unit}"


def track(first: MetricEstimate, steady: MetricEstimate, scale: LogScale, grid: str) -> Markup:
    """Return a cell: both phases with their intervals, joined."""
    a, b = steady.value, first.value
    content = marks.used(grid) + marks.bar(scale(a), scale(b), "join")
    for estimate, kind in ((steady, "steady"), (first, "first")):
        if estimate.interval:
            content += marks.bar(scale(estimate.interval[0]), scale(estimate.interval[1]), f"interval {kind}")
    content += marks.dot(scale(a), "dot steady", 4.5)
    content += element("circle", cx=marks.percent(scale(b)), cy=marks.MIDDLE, r=5, class_="dot first")
    words = f"First {fmt.time(b, first.interval)}, later {fmt.time(a, steady.interval)}"
    return picture(
        content, words, "Hollow: first message. Filled: later messages.", height=marks.TRACK_HEIGHT, class_="track"
    )
