# SPDX-License-Identifier: Apache-2.0
"""The share of plants found over their cost, with the limit of detection. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, spanning

WIDTH, ROW, HEAD, FOOT = 640, 56, 24, 44
FOUND = 0.95
_STYLE = (
    ".line{fill:none;stroke:#1f6feb;stroke-width:1.5}.hit{fill:#1f6feb}.miss{fill:none;stroke:#c0392b}"
    ".grid{stroke:#ddd}.limit{stroke:#222;stroke-width:3}text{font:12px sans-serif;fill:#333}"
)


@dataclass(frozen=True, slots=True)
class Class:
    """A class of plants.

    Args: curve: cost in seconds and the share found. tried: each cost, and whether it was found. interval_s: interval
          of the cost from which on the share is FOUND, or None.
    """

    name: str
    curve: Sequence[tuple[float, float]]
    tried: Sequence[tuple[float, bool]]
    interval_s: tuple[float, float] | None


def drawing(classes: Sequence[Class]) -> Markup | None:
    """Return a row for each class, or None without a plant.

    Dots above are plants that were found, rings below those that were not. The line is the share found, the bar the
    interval of its limit.
    """
    ends = spanning([cost for plant_class in classes for cost, _ in plant_class.tried], least=10.0, margin=1.5)
    if ends is None:
        return None
    height = HEAD + ROW * len(classes) + FOOT
    frame = Frame(110, HEAD, WIDTH - 14, height - FOOT)
    x = LogScale(*ends, frame.left, frame.right)
    content = element("style", _STYLE) + frame.x_axis(x, x.ticks(8), short_time)
    for index, row in enumerate(classes):
        content += _row(row, x, HEAD + ROW * index, frame)
    content += frame.titles("planted cost", f"share of plants found, and where it reaches {FOUND:.0%}")
    described = f"{len(classes)} classes of plants over their cost, {short_time(ends[0])} to {short_time(ends[1])}."
    return picture(content, "Limits of detection", described, height=height, width=WIDTH)


def _row(plant_class: Class, x: LogScale, top: int, frame: Frame) -> str:
    bottom, high = top + ROW - 10, ROW - 18
    content = text(plant_class.name, frame.left - 8, bottom - 12, "end", "tick") + frame.level(bottom)
    inside = [(cost, share) for cost, share in plant_class.curve if x.low <= cost <= x.high]
    if inside:
        line = "M" + "L".join(f"{number(x(cost))} {number(bottom - high * share)}" for cost, share in inside)
        content += element("path", d=line, class_="line")
    for cost, found in plant_class.tried:
        at, kind = (bottom - high, "hit") if found else (bottom, "miss")
        content += element("circle", cx=x(cost), cy=at, r=2.5, class_=kind)
    if plant_class.interval_s is not None:
        low_s, high_s = plant_class.interval_s
        y = bottom - FOUND * high
        content += element("line", x1=x(low_s), x2=x(high_s), y1=y, y2=y, class_="limit")
    return content
