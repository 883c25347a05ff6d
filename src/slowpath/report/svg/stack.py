# SPDX-License-Identifier: Apache-2.0
"""A bar of parts that add up, on a linear axis of time from 0. The class of a part gives its colour."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.scale import LinearScale


def axis(scale: LinearScale, grid: str, title: str) -> Markup:
    """Return the axis' title, tick labels in time, and the lines that the tracks use, under the id `grid`."""
    lines, labels = marks.linear_ticks(scale, lambda tick: short_time(tick) if tick else "0")
    content = marks.defined(grid, lines) + text(title, "50%", 13, "middle", "axis-title") + labels
    return picture(content, "Time axis", f"Linear, from 0 to {short_time(scale.high)}.", height=38, class_="axis")


def track(parts: Sequence[tuple[str, float]], whole_s: float | None, interval: Sequence[float] | None,
          scale: LinearScale, grid: str, words: str,
          about: str = "Parts of the time, mean over ranks.") -> Markup:  # fmt: skip
    """Return a bar.

    Args: parts: class and seconds, in order. whole_s: a vertical tick, with its interval.
    """
    content, at = marks.used(grid), 0.0
    for class_, seconds in parts:
        low, high = scale(at), scale(at + seconds)
        content += element("rect", x=marks.percent(low), width=marks.percent(high - low), y=6, height=18, class_=class_)
        at += seconds
    if whole_s is not None:
        x = marks.percent(scale(whole_s))
        content += element("line", x1=x, x2=x, y1=3, y2=27, class_="centre")
    if interval:
        content += marks.bar(scale(interval[0]), scale(interval[1]), "spread-line")
    return picture(content, words, about, height=marks.TRACK_HEIGHT, class_="track")
