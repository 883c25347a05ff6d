# SPDX-License-Identifier: Apache-2.0
"""Marks that several charts share. x is a percentage, so that a track can be as wide as its box."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slowpath.report.svg.element import element, number, text
from slowpath.report.svg.scale import LinearScale, LogScale

TRACK_HEIGHT = 30
AXIS_HEIGHT = 38  # of an axis with its title
NEAREST = 9.0  # percent of a track between two labels, so that they do not touch
MIDDLE = TRACK_HEIGHT // 2

# A shape and a word for each verdict: colour only repeats them.
SHAPES = {
    "slower": "M-5-6L7 0L-5 6z",
    "faster": "M5-6L-7 0L5 6z",
    "same": "M-5-5H5V5H-5z",
    "undecided": "M0-7L7 0L0 7L-7 0z",
    "not measured": "M-6-1H6V1H-6z",
    "shown": "M-5.5 0.5L-1.5 4.5L5.5-4.5",
    "missing": "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0z",
    "refuted": "M-4.5-4.5L4.5 4.5M4.5-4.5L-4.5 4.5",
}


def percent(position: float) -> str:
    """Return a position between 0 and 100 as an SVG length."""
    return f"{number(position)}%"


def gridlines(scale: LogScale, ticks: Iterable[float], class_: str = "grid") -> str:
    """Draw vertical lines at the ticks. Stacked tracks join them into the lines of one chart."""
    places = [percent(scale(tick)) for tick in ticks]
    return "".join(element("line", x1=x, x2=x, y1=0, y2=TRACK_HEIGHT, class_=class_) for x in places)


def defined(grid: str, lines: str) -> str:
    """Return lines that are written once, in the axis, for all tracks below it, which keeps the page small."""
    return element("defs", element("g", lines, id=grid))


def used(grid: str) -> str:
    """Return a reference to the lines of `defined`, for a track."""
    return element("use", href=f"#{grid}")


def axis(scale: LogScale, labels: Iterable[tuple[float, str]], height: int = AXIS_HEIGHT, keep: int = 0) -> str:
    """Return tick labels over a chart of tracks. A narrow box hides those of class odd, but never number `keep`."""
    marks: list[str] = []
    places = [(scale(tick), words) for tick, words in labels]
    kept = places[keep][0] if places else 0.0
    shown = [(x, words) for x, words in places if x == kept or abs(x - kept) >= NEAREST]
    last = -NEAREST
    for index, (x, words) in enumerate(shown):
        if x != kept and x - last < NEAREST:
            continue
        last = x
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        marks.append(text(words, percent(x), height - 7, anchor, "tick odd" if (index - keep) % 2 else "tick"))
    return "".join(marks)


def linear_ticks(
    scale: LinearScale, label: Callable[[float], str], y: int = AXIS_HEIGHT - 7, height: int = TRACK_HEIGHT
) -> tuple[str, str]:
    """Return the grid lines at the ticks of a linear axis, and their labels. A narrow box hides those of class odd.

    Args: y: baseline of the labels.  height: length of the lines in pixels.
    """
    lines, labels = "", ""
    for place, tick in enumerate(scale.ticks(6)):
        x, at = scale(tick), percent(scale(tick))
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        lines += element("line", x1=at, x2=at, y1=0, y2=height, class_="grid")
        labels += text(label(tick), at, y, anchor, "tick odd" if place % 2 else "tick")
    return lines, labels


def axis_title(words: str) -> str:
    """Return the title of an axis of tracks, above its labels."""
    return text(words, "0%", 12, None, "axis-title")


def bar(low: float, high: float, class_: str, y: int = MIDDLE) -> str:
    """Draw an interval, from and to in percent."""
    return element("line", x1=percent(low), x2=percent(high), y1=y, y2=y, class_=class_)


def dot(x: float, class_: str, radius: float = 5.0, y: int = MIDDLE) -> str:
    """Draw a round marker."""
    return element("circle", cx=percent(x), cy=y, r=radius, class_=class_)


def shape(x: float, verdict: str, y: int = MIDDLE) -> str:
    """Draw the marker of a verdict. A nested picture without size carries the path, which takes no percentages."""
    path = element("path", d=SHAPES.get(verdict, SHAPES["undecided"]), class_=f"mark {verdict}")
    return element("svg", path, x=percent(x), y=y, overflow="visible", width=1, height=1)
