# SPDX-License-Identifier: Apache-2.0
"""A slow path and what it is slow against, as rows on one axis of time: a dot for each launch, the median with its
interval. With a trial: as it is, with the remedy, the fast side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.marks import percent
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.wide import LINE, Wide

ROW, TOP, FOOT = 50, 4, 42
LONGEST = 46  # characters of a row's name: as many as a box of 320 px holds
MOST_DOTS = 40  # of a row: more are thinned to evenly spaced ranks
NEAREST = 1.2  # percent: dots that are closer stand on another line
_LIFTS = (0, -5, 5, -9, 9)

Kind = Literal["slow", "remedy", "fast"]


@dataclass(frozen=True, slots=True)
class Side:
    """One row. values_s: of launches.  value_s: what stands for them, with its interval."""

    label: str
    kind: Kind
    values_s: tuple[float, ...]
    value_s: float
    interval: tuple[float, float] | None


def chart(sides: Sequence[Side], axis_title: str, title: str) -> Markup | None:
    """The picture, as wide as its box; None without times above zero."""
    values = [v for side in sides for v in (side.value_s, *side.values_s, *(side.interval or ()))]
    ends = spanning(values, least=1.6, margin=1.06)
    if ends is None:
        return None
    frame = Wide(3.0, 97.0, TOP + LINE + 2, TOP + ROW * len(sides))
    scale = LogScale(*ends, frame.left, frame.right)
    content = frame.uprights([(scale(tick), short_time(tick)) for tick in scale.ticks(6)])
    content += "".join(_row(side, TOP + ROW * place, scale) for place, side in enumerate(sides))
    content += frame.titles(axis_title, "")
    words = "; ".join(f"{side.label}: {fmt.time(side.value_s, side.interval)}" for side in sides)
    height = TOP + ROW * len(sides) + FOOT
    return picture(content, title, f"{words}. A dot is a launch.", height=height, class_="sides-picture")


def _row(side: Side, top: int, scale: LogScale) -> str:
    """The name above; dots, interval and median below it, and the median's value next to them."""
    middle = top + 34
    value = fmt.time(side.value_s, side.interval)
    room = LONGEST - len(value) - 2
    label = side.label if len(side.label) <= room else side.label[: room - 1] + "…"
    content = text(label, percent(0), top + 13, None, f"label side-{side.kind}")
    content += text(value, "100%", top + 13, "end", f"label value side-{side.kind}")
    if side.interval:
        low, high = (scale(end) for end in side.interval)
        content += element("rect", x=percent(low), width=percent(max(0.3, high - low)), y=middle - 11, height=22, rx=3,
                           class_=f"reach side-{side.kind}")  # fmt: skip
    content += _dots(side, middle, scale)
    at = percent(scale(side.value_s))
    return content + element("line", x1=at, x2=at, y1=middle - 12, y2=middle + 12, class_=f"median side-{side.kind}")


def _dots(side: Side, middle: int, scale: LogScale) -> str:
    """Dots that would cover each other are lifted a little."""
    values = sorted(side.values_s)
    if len(values) > MOST_DOTS:
        values = [values[round(place * (len(values) - 1) / (MOST_DOTS - 1))] for place in range(MOST_DOTS)]
    content, last, lift = "", -100.0, 0
    for value in values:
        x = scale(value)
        lift = (lift + 1) % len(_LIFTS) if x - last < NEAREST else 0
        last = x
        content += element(
            "circle", cx=percent(x), cy=middle + _LIFTS[lift], r=3.2, class_=f"launch-dot side-{side.kind}"
        )
    return content
