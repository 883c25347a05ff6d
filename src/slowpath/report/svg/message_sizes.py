# SPDX-License-Identifier: Apache-2.0
"""Messages over their length: a circle for each class with its area by total time, and the floor below."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from slowpath.core import clean
from slowpath.report import format as fmt
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.marks import percent
from slowpath.report.svg.scale import LogScale, powers_of_two, spanning
from slowpath.report.svg.wide import Wide

HEIGHT, TOP, BOTTOM = 340, 26, 290
LEFT, RIGHT = 12.0, 98.0
LARGEST, SMALLEST = 22.0, 3.0  # radius, pixels


@dataclass(frozen=True, slots=True)
class Circle:
    """A class of messages.

    Args: seconds: time of one message. weight: total time. floor_s: None if not measured. joined: the floor is that of
          messages between ranks, which a line joins. hollow: seconds includes waiting, because the class was not
          matched.
    """

    size_bytes: float
    seconds: float
    weight: float
    floor_s: float | None
    joined: bool
    hollow: bool
    class_: str
    words: str


def chart(circles: Sequence[Circle], title: str) -> Markup | None:
    """Return the picture, or None without a message that has bytes and takes time."""
    drawn = [circle for circle in circles if circle.size_bytes > 0 and circle.seconds > 0]
    across = spanning([circle.size_bytes for circle in drawn], least=16.0, margin=1.6)
    ends = spanning([value for circle in drawn for value in (circle.seconds, circle.floor_s)], least=8.0, margin=1.9)
    if across is None or ends is None:
        return None
    frame = Wide(LEFT, RIGHT, TOP, BOTTOM)
    x, y = LogScale(*across, LEFT + 1, RIGHT - 1), LogScale(*ends, BOTTOM - 2, TOP + 2)
    content = frame.levels([(y(tick), short_time(tick)) for tick in y.ticks(6)])
    content += frame.uprights([(x(size), fmt.count_bytes(size)) for size in powers_of_two(*across, 7)])
    content += _floor(drawn, x, y)
    most = max(circle.weight for circle in drawn) or 1.0
    for circle in sorted(drawn, key=lambda circle: -circle.weight):
        radius = max(SMALLEST, LARGEST * math.sqrt(circle.weight / most))
        content += element(
            "circle", element("title", escape(clean.text(circle.words))), cx=percent(x(circle.size_bytes)),
            cy=y(circle.seconds), r=radius, class_=f"{circle.class_}{' hollow' if circle.hollow else ''}",
        )  # fmt: skip
    content += frame.titles("length of a message", "time of one message")
    low, high = (fmt.time(end(circle.seconds for circle in drawn)) for end in (min, max))
    described = f"{fmt.plural(len(drawn), 'class')} of messages, {low} to {high} each; area: time in all of them."
    return picture(content, title, described, height=HEIGHT, class_="sizes")


def _floor(circles: Sequence[Circle], x: LogScale, y: LogScale) -> str:
    """The least floor at each length, joined: what this machine needs for such a message at the best. Collectives have
    floors of their own, which are dots alone."""
    least: dict[float, float] = {}
    for circle in circles:
        if circle.floor_s and circle.joined:
            least[circle.size_bytes] = min(circle.floor_s, least.get(circle.size_bytes, circle.floor_s))
    places = [(percent(x(size)), y(floor)) for size, floor in sorted(least.items())]
    apart = [
        (percent(x(circle.size_bytes)), y(circle.floor_s)) for circle in circles if circle.floor_s and not circle.joined
    ]
    content = "".join(
        element("line", x1=a[0], y1=a[1], x2=b[0], y2=b[1], class_="floor-line") for a, b in itertools.pairwise(places)
    )
    return content + "".join(
        element("circle", cx=at, cy=level, r=2.5, class_="floor-dot") for at, level in [*places, *apart]
    )
