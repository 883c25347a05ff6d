# SPDX-License-Identifier: Apache-2.0
"""Curves over the order of the matrices or the number of ranks, with both axes logarithmic and a legend below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.size_curves import STYLES, drawn_curve, marker, tick_label

WIDTH, PLOT_HEIGHT, LINE = 344, 284, 18
ORDER, RANKS = "order n of the matrices", "ranks"
MOST = len(STYLES)  # curves of one panel


@dataclass(frozen=True, slots=True)
class OrderSeries:
    """A curve: n, value and interval of each point, by n. Values of 0 and below are not drawn."""

    label: str
    points: tuple[tuple[int, float, tuple[float, float] | None], ...]


@dataclass(frozen=True, slots=True)
class OrderMark:
    """A vertical line at an n, with the ends of its interval."""

    label: str
    n: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class OrderAxes:
    """The titles of the axes. `unit` is the unit of the values: "s", "×" or "%" (shares)."""

    y_title: str
    unit: str
    x_title: str = ORDER


def chart(
    series: Sequence[OrderSeries],
    axes: OrderAxes,
    title: str,
    marks: Sequence[OrderMark] = (),
    level: float | None = None,
) -> Markup | None:
    """Return a panel, or None without points above zero.  Args: level: a horizontal line to compare with."""
    shown = [OrderSeries(curve.label, tuple(p for p in curve.points if p[1] > 0)) for curve in series]
    values = [v for curve in shown for _, value, ends in curve.points for v in (value, *(ends or ()))]
    height_ends = spanning([*values, level], least=1.3, margin=1.08)
    orders = spanning([float(n) for curve in shown for n, _, _ in curve.points], margin=1.0)
    if not values or height_ends is None or orders is None:
        return None
    unit = axes.unit
    frame = Frame(62, 28, WIDTH - 12, PLOT_HEIGHT - 50)
    x, y = LogScale(*orders, frame.left + 10, frame.right - 10), LogScale(*height_ends, frame.bottom, frame.top)
    content = frame.y_axis(y, lambda tick: _tick(tick, unit), 6)
    content += frame.x_axis(x, _orders(shown, x), lambda tick: f"{tick:g}")
    content += text(axes.y_title, 4, 14, None, "axis-title")
    content += text(axes.x_title, (frame.left + frame.right) / 2, frame.bottom + 34, "middle", "axis-title")
    content += "".join(_mark(mark, x, frame) for mark in marks)
    if level is not None:
        content += element("line", x1=frame.left, x2=frame.right, y1=y(level), y2=y(level), class_="one")
    content += "".join(_curve(drawn_curve, place, x, y) for place, drawn_curve in enumerate(shown))
    content += "".join(_legend(drawn_curve, place) for place, drawn_curve in enumerate(shown))
    described = f"{fmt.plural(len(shown), 'curve')} over {axes.x_title}, "
    described += f"{_tick(min(values), unit)} to {_tick(max(values), unit)}."
    return picture(content, title, described, height=PLOT_HEIGHT + LINE * len(shown), width=WIDTH)


def _tick(tick: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * tick:.6g} %"
    return f"{tick:.3g}×" if unit == "×" else tick_label(tick, unit)


def _orders(series: Sequence[OrderSeries], x: LogScale) -> list[int]:
    """Return the measured orders without those whose labels would touch."""
    found: list[int] = []
    for n in sorted({n for curve in series for n, _, _ in curve.points}):
        if not found or x(n) - x(found[-1]) >= 40:
            found.append(n)
    return found


def _mark(mark: OrderMark, x: LogScale, frame: Frame) -> str:
    content = ""
    if mark.interval:
        low, high = (x(end) for end in mark.interval)
        content += element("rect", x=low, width=max(1.0, high - low), y=frame.top, height=frame.bottom - frame.top,
                           class_="band")  # fmt: skip
    at = x(mark.n)
    content += element("line", x1=at, x2=at, y1=frame.top, y2=frame.bottom, class_="critical")
    right = at > (frame.left + frame.right) / 2
    return content + text(mark.label, at - 4 if right else at + 4, frame.top + 10, "end" if right else None, "label")


def _curve(curve: OrderSeries, place: int, x: LogScale, y: LogScale) -> str:
    if not curve.points:
        return ""
    places = [
        (x(n), y(value), (y(ends[0]), y(ends[1])) if ends and ends[0] > 0 else None) for n, value, ends in curve.points
    ]
    return drawn_curve(places, place)


def _legend(curve: OrderSeries, place: int) -> str:
    y = PLOT_HEIGHT + LINE * place + 8
    return marker(68.0, float(y) - 4, place) + text(curve.label, 80, y, None, f"curve {STYLES[place % len(STYLES)]}")
