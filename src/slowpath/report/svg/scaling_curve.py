# SPDX-License-Identifier: Apache-2.0
"""Counts over the number of ranks: as counted, the law through them, and what it predicts, hollow and dashed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.size_curves import MARKERS, STYLES

WIDTH, PLOT_HEIGHT, LINE = 344, 284, 18
MOST = len(STYLES)  # curves of one panel


@dataclass(frozen=True, slots=True)
class Predicted:
    """Beyond what was counted."""

    ranks: int
    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """One collective: (ranks, value) by ranks as counted, and as each law has it; then what the last law predicts."""

    label: str
    counted: tuple[tuple[int, float], ...]
    fitted: tuple[tuple[tuple[int, float], ...], ...]
    predicted: tuple[Predicted, ...]


def chart(curves: Sequence[Curve], y_title: str, title: str) -> Markup | None:
    """One panel of at most MOST curves; None without a value above zero."""
    values = [v for one in curves for _, v in one.counted]
    values += [v for one in curves for far in one.predicted for v in (far.value, *far.interval)]
    ranks = [float(p) for one in curves for p, _ in one.counted]
    last = max(ranks, default=0.0)
    ranks += [float(far.ranks) for one in curves for far in one.predicted]
    across, up = spanning(ranks, margin=1.0), spanning([v for v in values if v > 0], least=1.5, margin=1.1)
    if across is None or up is None:
        return None
    frame = Frame(46, 28, WIDTH - 12, PLOT_HEIGHT - 50)
    x, y = LogScale(*across, frame.left + 10, frame.right - 10), LogScale(*up, frame.bottom, frame.top)
    content = frame.y_axis(y, lambda tick: f"{tick:g}", 6) + frame.x_axis(x, _ticks(ranks, x), lambda tick: f"{tick:g}")
    content += text(y_title, 4, 14, None, "axis-title")
    content += text("ranks", (frame.left + frame.right) / 2, frame.bottom + 34, "middle", "axis-title")
    if any(one.predicted for one in curves):
        at = x(last)
        content += element("line", x1=at, x2=at, y1=frame.top, y2=frame.bottom, class_="critical")
        content += text("extrapolated →", at + 4, frame.top + 10, None, "label")
    content += "".join(_curve(one, place, x, y) + _legend(one, place) for place, one in enumerate(curves))
    described = f"{fmt.plural(len(curves), 'curve')} over ranks. Filled: counted. Hollow, dashed: predicted."
    return picture(content, title, described, height=PLOT_HEIGHT + LINE * len(curves), width=WIDTH)


def _ticks(ranks: Sequence[float], x: LogScale) -> list[float]:
    """The numbers of ranks, those left out whose labels would touch."""
    found: list[float] = []
    for one in sorted(set(ranks)):
        if not found or x(one) - x(found[-1]) >= 26:
            found.append(one)
    return found


def _curve(one: Curve, place: int, x: LogScale, y: LogScale) -> str:
    style = STYLES[place % len(STYLES)]
    content = "".join(_line(law, f"line {style}", x, y) for law in one.fitted)
    if one.predicted and one.fitted:
        beyond = (one.fitted[-1][-1], *((far.ranks, far.value) for far in one.predicted))
        content += _line(beyond, f"line {style} predicted", x, y)
    for far in one.predicted:
        at, (low, high) = x(far.ranks), far.interval
        if low > 0:
            content += element("line", x1=at, x2=at, y1=y(low), y2=y(high), class_=f"whisker {style}")
        content += _marker(at, y(far.value), place, "point hollow")
    return content + "".join(_marker(x(p), y(v), place, f"point {style}") for p, v in one.counted if v > 0)


def _line(points: Sequence[tuple[int, float]], class_: str, x: LogScale, y: LogScale) -> str:
    places = [f"{number(x(p))} {number(y(v))}" for p, v in points if v > 0]
    return element("path", d="M" + "L".join(places), class_=class_) if len(places) > 1 else ""


def _marker(x: float, y: float, place: int, class_: str) -> str:
    move = f"translate({number(x)} {number(y)})"
    return element("path", d=MARKERS[place % len(MARKERS)], transform=move, class_=class_)


def _legend(one: Curve, place: int) -> str:
    y, style = PLOT_HEIGHT + LINE * place + 8, STYLES[place % len(STYLES)]
    return _marker(52.0, float(y) - 4, place, f"point {style}") + text(one.label, 64, y, None, f"curve {style}")
