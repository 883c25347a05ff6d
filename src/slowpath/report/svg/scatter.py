# SPDX-License-Identifier: Apache-2.0
"""Many small points in one or two groups: times in the order of messages, of places of a period, or of launches.

A group is one path of dots, so that some hundred of them stay small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.scale_linear import LinearScale
from slowpath.report.svg.size_curves import tick_label

WIDTH, HEIGHT = 560, 250
_FRAME = Frame(66, 26, WIDTH - 10, HEIGHT - 44)
_FEW = 40  # points, which are drawn larger
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Group:
    """Points of one kind. slow: in the colour of what is slower."""

    label: str
    points: tuple[Point, ...]
    slow: bool


@dataclass(frozen=True, slots=True)
class Axes:
    """What the axes are called. unit: of y, "s" or "×"."""

    x_title: str
    y_title: str
    unit: str = "s"


def chart(groups: Sequence[Group], axes: Axes, title: str) -> Markup | None:
    """Times on a logarithmic axis over a linear one; None without points above zero."""
    ends = spanning([y for group in groups for _, y in group.points], margin=1.15)
    places = [x for group in groups for x, _ in group.points]
    if ends is None or not places:
        return None
    low, high = min(places), max(max(places), min(places) + 1)
    x = LinearScale(low, high, _FRAME.left + 8, _FRAME.right - 8)
    y = LogScale(*ends, _FRAME.bottom, _FRAME.top)
    content = _FRAME.y_axis(y, lambda tick: f"{tick:g}×" if axes.unit == "×" else tick_label(tick, axes.unit))
    ticks = [tick for tick in x.ticks(8) if tick == int(tick)]
    content += "".join(
        _FRAME.upright(x(tick)) + text(f"{tick:g}", x(tick), _FRAME.bottom + 16, "middle", "tick") for tick in ticks
    )
    content += _FRAME.titles(axes.x_title, axes.y_title)
    few = len(places) <= _FEW
    content += "".join(_dots(group, x, y, few) for group in groups if group.points)
    said = "; ".join(
        f"{fmt.plural(len(group.points), group.label)}, {_span([value for _, value in group.points], axes.unit)}"
        for group in groups
        if group.points
    )
    return picture(content, title, f"{said}.", height=HEIGHT, width=WIDTH)


def _span(values: Sequence[float], unit: str) -> str:
    low, high = (f"{one:.3g}×" if unit == "×" else tick_label(one, unit) for one in (min(values), max(values)))
    return f"{low} to {high}"


def _dots(group: Group, x: LinearScale, y: LogScale, few: bool) -> str:
    path = "".join(f"M{number(x(px))} {number(y(py))}h0" for px, py in group.points)
    classes = f"dots {'few' if few else 'many'}{' slower' if group.slow else ''}"
    return element("path", d=path, class_=classes)
