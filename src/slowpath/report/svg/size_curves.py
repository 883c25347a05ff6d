# SPDX-License-Identifier: Apache-2.0
"""A metric over message size: points with their intervals, thin lines to lead the eye, labels at the lines' ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.plot import Frame, spread_apart
from slowpath.report.svg.scale import LogScale, powers_of_two, spanning

WIDTH, HEIGHT = 344, 292
LONGEST_LABEL = 16
STYLES = ("s1", "s2", "s3", "s4", "s5", "s6")  # colour and marker of a line; more lines go into another panel
MARKERS = ("M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", "M-3.2-3.2H3.2V3.2H-3.2z", "M0-4.4L4.2 3.2H-4.2z",
            "M0-4.6L4.6 0L0 4.6L-4.6 0z", "M0 4.4L4.2-3.2H-4.2z", "M-4 0H4M0-4V4")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """One cell of a curve. Value and interval in the metric's unit."""

    size_bytes: int
    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Cells that differ in message size only, by size. An empty label: the only curve of its panel."""

    label: str
    points: tuple[Point, ...]


def chart(curves: Sequence[Curve], unit: str, title: str) -> Markup | None:
    """One panel, at most len(STYLES) curves; None without points above zero."""
    points = [point for curve in curves for point in curve.points]
    ends = spanning([v for p in points for v in (p.value, *(p.interval or ()))], least=3.0, margin=1.25)
    widths = spanning([float(p.size_bytes) for p in points], margin=1.0)
    if ends is None or widths is None:
        return None
    room = max((_label_width(curve) for curve in curves), default=0)
    frame = Frame(62, 24, WIDTH - 14 - room, HEIGHT - 44)
    x = LogScale(*widths, frame.left + 8, frame.right - 10)
    y = LogScale(*ends, frame.bottom, frame.top)
    content = frame.y_axis(y, lambda tick: tick_label(tick, unit), 6)
    content += frame.x_axis(
        x, powers_of_two(*widths, max(2, (frame.right - frame.left) // 56)), lambda tick: fmt.count_bytes(int(tick))
    )
    content += "".join(_curve(curve, index, x, y) for index, curve in enumerate(curves))
    content += _labels(curves, y, frame) + frame.titles("length of the message", title.partition(",")[0])
    described = (
        f"{fmt.plural(len(curves), 'curve')} over message size, {fmt.quantity(min(p.value for p in points), unit)}"
    )
    described += f" to {fmt.quantity(max(p.value for p in points), unit)}."
    return picture(content, title, described, height=HEIGHT, width=WIDTH)


def tick_label(tick: float, unit: str) -> str:
    """A tick without needless zeros."""
    if unit == "s":
        return short_time(tick)
    shown, _, name = fmt.quantity(tick, unit).partition(" ")
    return f"{float(shown):g} {name}"


def _curve(curve: Curve, index: int, x: LogScale, y: LogScale) -> str:
    style = STYLES[index % len(STYLES)]
    places = [(x(p.size_bytes), y(p.value), p) for p in curve.points]
    line = "M" + "L".join(f"{number(px)} {number(py)}" for px, py, _ in places)
    content = element("path", d=line, class_=f"line {style}")
    for px, py, point in places:
        if point.interval:
            low, high = (y(end) for end in point.interval)
            content += element("line", x1=px, x2=px, y1=low, y2=high, class_=f"whisker {style}")
        move = f"translate({number(px)} {number(py)})"
        content += element("path", d=MARKERS[index % len(MARKERS)], transform=move, class_=f"point {style}")
    return content


def _shown(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _label_width(curve: Curve) -> int:
    """Pixels for a label; 7 a character is a little more than system fonts need at 12 px."""
    return 7 * len(_shown(curve.label)) if curve.label else 0


def _labels(curves: Sequence[Curve], y: LogScale, frame: Frame) -> str:
    """Each curve's name to the right of its last point, in its colour."""
    named = [(index, curve) for index, curve in enumerate(curves) if curve.label]
    wanted = [y(curve.points[-1].value) + 4 for _, curve in named]
    places = spread_apart(wanted, 15, frame.top + 4, frame.bottom)
    return "".join(
        text(_shown(curve.label), frame.right + 2, place, None, f"curve {STYLES[index % len(STYLES)]}")
        for (index, curve), place in zip(named, places, strict=True)
    )
