# SPDX-License-Identifier: Apache-2.0
"""A history as one picture: a small curve a series, its changes marked; series with changes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from slowpath.compare.history import History, Series
from slowpath.compare.history_text import shift_words, title
from slowpath.core.clean import line
from slowpath.report import format as fmt
from slowpath.report.svg.element import element, picture, text

WIDTH, ROW, LEFT, RIGHT = 900, 44, 420, 110
_STYLE = (
    "text{font:12px sans-serif;fill:#1a1a1a}.n{fill:#666}polyline{fill:none;stroke:#4a6fa5;stroke-width:1.5}"
    ".i{stroke:#4a6fa5;stroke-opacity:.35}.w{fill:#b3261e}.b{fill:#2e7d32}.p{fill:#4a6fa5}.o{fill:none;stroke:#666}"
    "rect.g{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#eee}.n{fill:#aaa}rect.g{fill:#121212}}"
)


def render_svg(found: History) -> str:
    """The picture, a file of its own."""
    ordered = sorted(found.series, key=lambda series: not series.shifts)
    height = ROW * len(ordered) + 8
    content = element("style", _STYLE) + element("rect", width=WIDTH, height=height, class_="g")
    content += "".join(_row(series, ROW * i) for i, series in enumerate(ordered))
    changed = sum(bool(series.shifts) for series in ordered)
    described = f"{fmt.plural(found.runs, 'run')}, {len(ordered)} series, {changed} with changes of level"
    drawn = picture(content, f"History of {found.folder}", described, height=height, width=WIDTH)
    return str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _row(series: Series, top: int) -> str:
    last = series.points[-1]
    shown = series.reason or "; ".join(shift_words(series, shift) for shift in series.shifts) or "no change of level"
    parts = element("title", _safe(f"{title(series)}: {shown}"))
    parts += text(_short(title(series), 66), 8, top + 20) + text(_short(shown, 72), 8, top + 36, class_="n")
    parts += text(fmt.quantity(last.value, series.unit, last.interval), WIDTH - 8, top + 26, anchor="end")
    return element("g", parts + _curve(series, top))


def _curve(series: Series, top: int) -> str:
    points = series.points
    ends = [end for point in points for end in (point.value, *(point.interval or ())) if end > 0]
    low, high = math.log(min(ends)), math.log(max(ends))
    room = max(high - low, math.log(1.05))  # a flat series is drawn flat
    middle = (low + high) / 2

    def y(value: float) -> float:
        return top + ROW / 2 - (math.log(value) - middle) / room * (ROW - 14)

    step = (WIDTH - LEFT - RIGHT) / max(len(points) - 1, 1)
    xs = [LEFT + step * i for i in range(len(points))]
    bars = [(x, p.interval) for x, p in zip(xs, points, strict=True) if p.interval and min(p.interval) > 0]
    drawn = "".join(element("line", x1=x, x2=x, y1=y(i[0]), y2=y(i[1]), class_="i") for x, i in bars)
    path = " ".join(f"{x:.1f},{y(p.value):.1f}" for x, p in zip(xs, points, strict=True) if not p.outlier)
    drawn += element("polyline", points=path)
    drawn += "".join(_mark(series, i, xs, y(point.value)) for i, point in enumerate(points))
    return drawn


def _mark(series: Series, i: int, xs: Sequence[float], y: float) -> str:
    here = next((shift for shift in series.shifts if shift.position == i), None)
    kind = "p" if here is None else "w" if here.worse else "b"
    point = series.points[i]
    shown = f"{point.started[:16]} {point.run}: {fmt.quantity(point.value, series.unit, point.interval)}"
    return element(
        "circle",
        element("title", _safe(shown)),
        cx=xs[i],
        cy=y,
        r=2.0 if here is None else 4.5,
        class_="o" if point.outlier else kind,
    )


def _safe(words: str) -> str:
    return escape(line(words))


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"
