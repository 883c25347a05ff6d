# SPDX-License-Identifier: Apache-2.0
"""The frames of charts with two axes: in CSS pixels, or as wide as its box. Text is never scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from slowpath.report.svg.element import element, text
from slowpath.report.svg.marks import percent
from slowpath.report.svg.scale import LogScale


@dataclass(frozen=True, slots=True)
class Frame:
    """A plot area in a picture, in pixels from the picture's top left corner."""

    left: int
    top: int
    right: int
    bottom: int

    def upright(self, x: float) -> str:
        """Draw a grid line from top to bottom."""
        return element("line", x1=x, x2=x, y1=self.top, y2=self.bottom, class_="grid")

    def level(self, y: float) -> str:
        """Draw a grid line from left to right."""
        return element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="grid")

    def titles(self, x_title: str, y_title: str) -> str:
        """Draw the titles of both axes: that of x under its labels, that of y above its axis."""
        across = text(x_title, self.right, self.bottom + 32, "end", "axis-title") if x_title else ""
        return across + text(y_title, 0, 12, None, "axis-title")

    def y_axis(self, scale: LogScale, label: Callable[[float], str], ticks: int = 5) -> str:
        """Draw grid lines with labels on the left."""
        return "".join(
            self.level(scale(tick)) + text(label(tick), self.left - 6, scale(tick) + 4, "end", "tick")
            for tick in scale.ticks(ticks)
        )

    def x_axis(self, scale: LogScale, ticks: Iterable[float], label: Callable[[float], str]) -> str:
        """Draw grid lines with labels below."""
        return "".join(
            self.upright(scale(tick)) + text(label(tick), scale(tick), self.bottom + 16, "middle", "tick")
            for tick in ticks
        )


def spread_apart(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Return places of labels, moved at least `gap` apart within [low, high], in the order given."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    below = low - gap
    for i in order:
        moved[i] = below = max(places[i], below + gap)
    above = high + gap
    for i in reversed(order):
        moved[i] = above = min(moved[i], above - gap)
    return moved


Tick = tuple[float, str]  # place, label
LINE = 16  # pixels of a line of text
ROOM = 12.0  # percent between two labels of an axis that touch in no box of 300 px


@dataclass(frozen=True, slots=True)
class Wide:
    """The plot area. `left` and `right` in percent, `top` and `bottom` in pixels."""

    left: float
    right: float
    top: int
    bottom: int

    def levels(self, ticks: Iterable[Tick]) -> str:
        """Draw grid lines from left to right with labels on the left. Places are in pixels."""
        content = ""
        for y, label in ticks:
            content += element("line", x1=percent(self.left), x2=percent(self.right), y1=y, y2=y, class_="grid")
            content += text(label, percent(self.left - 1.5), y + 4, "end", "tick")
        return content

    def uprights(self, ticks: Iterable[Tick]) -> str:
        """Draw grid lines from top to bottom with labels below. Places are in percent.

        Labels that would touch are left out; a narrow box shows every second one.
        """
        content, last, shown = "", -100.0, 0
        for x, label in ticks:
            content += element("line", x1=percent(x), x2=percent(x), y1=self.top, y2=self.bottom, class_="grid")
            if x - last < ROOM:
                continue
            last, shown = x, shown + 1
            content += text(label, percent(x), self.bottom + LINE, "middle", "tick odd" if shown % 2 == 0 else "tick")
        return content

    def titles(self, x_title: str, y_title: str) -> str:
        """Draw the titles of both axes: that of x under its labels, that of y above its axis."""
        content = text(y_title, 0, 12, None, "axis-title") if y_title else ""
        return content + text(x_title, percent(self.right), self.bottom + 2 * LINE + 2, "end", "axis-title")
