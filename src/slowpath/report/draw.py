# SPDX-License-Identifier: Apache-2.0
"""Figures as inline SVG: the one module that draws. Colours come from the page's style sheet.

A picture is as wide as its box: places across are percentages, or thousandths in a nested picture that is stretched,
whose strokes keep their width. Text is never scaled. Each picture has its words as a title.

matplotlib was tried and is not used: 115 MB of packages for a cluster's user, 1.5 s to import, 0.5 s and 30 kB for each
figure, where a page of 60 figures has to stay below 1 MB, and colours that do not follow dark mode.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from slowpath.core import guard
from slowpath.report import format as fmt
from slowpath.report.figure import STYLES, Axis, Band, Matrix, Plot, Point, Row, Rows, Series

_LADDERS: tuple[tuple[float, ...], ...] = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
_ROOM = 13.0  # percent between two labels of an axis that touch in no box of 300 px
_WIDE = 1000  # units of a stretched picture
AXIS_HEIGHT = 22
_HEIGHT, _TOP, _BOTTOM = 262, 24, 222  # of a plot, in pixels
_SQUARE_WIDTH, _SQUARE_LEFT, _SQUARE_TOP, _NUMBERED = 344, 60, 60, 34  # pixels; the least side with its words
_LABELS = 12  # names along a side of a matrix
# A shape for each verdict, state and series: colour only repeats it. The page defines them once.
SHAPES = {
    "slower": "M-5-6L7 0L-5 6z",
    "faster": "M5-6L-7 0L5 6z",
    "same": "M-5-5H5V5H-5z",
    "undecided": "M0-7L7 0L0 7L-7 0z",
    "not measured": "M-6-1H6V1H-6z",
    "shown": "M-5.5 0.5L-1.5 4.5L5.5-4.5",
    "missing": "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0z",
    "refuted": "M-4.5-4.5L4.5 4.5M4.5-4.5L-4.5 4.5",
    "info": "M-2-7H2V-3H-2zM-2-1H2V7H-2z",
    "first": "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0z",
    "later": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "s1": "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "s2": "M-3.2-3.2H3.2V3.2H-3.2z",
    "s3": "M0-4.4L4.2 3.2H-4.2z",
    "s4": "M0-4.6L4.6 0L0 4.6L-4.6 0z",
    "s5": "M0 4.4L4.2-3.2H-4.2z",
    "s6": "M-4 0H4M0-4V4",
}


_MICRO = re.compile(r"(?<=[\d\]]) us\b")
_TIMES = re.compile(r"(?<=\d)x(?=$|[\s.,;:)])")


def typeset(words: str) -> str:
    """Return text of a page, with `us` and `x` behind numbers as `µs` and `×`."""
    return _TIMES.sub("×", _MICRO.sub(" µs", guard.text(words)))


def shape_id(style: str) -> str:
    """Return the id of a shape in the page."""
    return f"shape-{style.replace(' ', '-')}" if style in SHAPES else "shape-s1"


def number(value: float) -> str:
    """Return a coordinate with at most one decimal, which keeps the page small."""
    return f"{value:.1f}".removesuffix(".0")


def element(name: str, content: str = "", /, **attributes: str | float | int | None) -> str:
    """Return an element around `content`, which is markup. `class_` becomes class, `text_anchor` text-anchor."""
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            text = number(value) if isinstance(value, float) else escape(guard.text(str(value)))
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{text}"')
    opened = " ".join(parts)
    return f"<{opened}>{content}</{name}>" if content else f"<{opened}/>"


def label(words: str, x: str | float, y: float, anchor: str | None = None, class_: str = "tick") -> str:
    """Return a text."""
    return element("text", escape(typeset(words)), x=x, y=y, text_anchor=anchor, class_=class_)


def picture(content: str, words: str, height: int, class_: str, width: int | None = None) -> Markup:
    """Return a whole picture.  Args: width: in pixels; None: as wide as its box."""
    box = None if width is None else f"0 0 {width} {height}"
    title = element("title", escape(typeset(words)))
    across = "100%" if width is None else str(width)
    return Markup(element("svg", title + content, class_=class_, role="img", width=across, height=height, viewBox=box))


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps [low, high] to [start, end]."""

    low: float
    high: float
    log: bool
    start: float = 0.0
    end: float = 100.0

    def __call__(self, value: float) -> float:
        """Return the position of `value`, limited to the axis."""
        inside = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, at_most: int = 6) -> list[float]:
        """Return round values on the axis, of a logarithmic one those of the finest ladder that fits."""
        if not self.log:
            return _round_values(self.low, self.high, at_most)
        best: list[float] = []
        for steps in _LADDERS:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            values = [step * 10.0**decade for decade in decades for step in steps]
            inside = [value for value in values if self.low <= value * (1 + 1e-12) and value <= self.high * (1 + 1e-12)]
            if best and len(inside) > at_most:
                break
            best = inside
        if len(best) < 3:  # the axis spans less than a decade
            best = [value for value in _round_values(self.low, self.high, at_most) if value > 0]
        return best[:: math.ceil(len(best) / at_most)]


def _round_values(low: float, high: float, at_most: int) -> list[float]:
    """Return evenly spaced round values between two ends, about `at_most`."""
    rough = (high - low) / max(1, at_most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    return [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def powers_of_two(low: float, high: float, at_most: int) -> list[float]:
    """Return at most `at_most` powers of 2 between two sizes in bytes, in steps of 2 or a power of 4."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / at_most))
    return [float(2**n) for n in range(first + (-first) % step, last + 1, step)]


def scale_of(axis: Axis, values: Iterable[float | None], start: float, end: float, margin: float) -> Scale | None:
    """Return the scale of an axis for these values and its own ends, or None without one that it can show.

    Args: margin: ratio between the ends of a logarithmic axis and the values.
    """
    every = [value for value in (*values, *axis.ends) if value is not None and math.isfinite(value)]
    if not axis.log:
        low, high = min(every, default=0.0), max(every, default=0.0)
        return Scale(low, high, False, start, end) if high > low else None
    positive = [value for value in every if value > 0]
    if not positive:
        return None
    low, high = min(positive) / margin, max(positive) * margin
    if high / low < axis.least:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(axis.least), middle * math.sqrt(axis.least)
    return Scale(low, high, True, start, end)


def tick_words(value: float, unit: str) -> str:
    """Return a tick's label without unnecessary zeros: 10 µs, not 10.0 µs."""
    if unit == "B":
        return fmt.count_bytes(int(value))
    if unit == "%":
        return f"{100 * value:.6g} %"
    if unit == "×":
        return f"{value:.3g}×" if value < 1000 else f"{value:.0f}×"
    if unit == "wall":
        return fmt.duration(value) if value else "0"
    if unit == "":
        return f"{value:g}"
    if value == 0:
        return "0"
    shown, _, name = fmt.quantity(value, unit).partition(" ")
    return f"{float(shown):g} {name}"


def _ticks(axis: Axis, scale: Scale, at_most: int) -> list[float]:
    if axis.ticks is not None:
        return sorted({tick for tick in axis.ticks if scale.low <= tick <= scale.high})
    return powers_of_two(scale.low, scale.high, at_most) if axis.unit == "B" and scale.log else scale.ticks(at_most)


def _percent(position: float) -> str:
    return f"{number(position)}%"


def _across(axis: Axis, scale: Scale, y: float, at_most: int, keep: float | None = None) -> Iterator[tuple[str, str]]:
    """Yield place and label of each tick; labels that would touch are left out, a narrow box hides every second one."""
    ticks = _ticks(axis, scale, at_most)
    if keep is not None:
        ticks = sorted([tick for tick in ticks if abs(scale(tick) - scale(keep)) >= _ROOM] + [keep])
    last, shown = -100.0, 0
    for tick in ticks:
        x, words = scale(tick), ""
        if x - last >= _ROOM:
            last, shown = x, shown + 1
            anchor = "middle" if 2 < x < 98 else "start" if x < 4 else "end"
            class_ = "tick odd" if shown % 2 == 0 else "tick"
            words = label(tick_words(tick, axis.unit), _percent(x), y, anchor, class_)
        yield _percent(x), words


def _stretched(paths: dict[str, list[str]], height: int) -> str:
    """Return a nested picture of paths by class, in thousandths across."""
    content = "".join(element("path", d="".join(parts), class_=class_) for class_, parts in paths.items() if parts)
    return element("svg", content, width="100%", height=height, viewBox=f"0 0 {_WIDE} {height}",
                   preserveAspectRatio="none") if content else ""  # fmt: skip


class Drawing:
    """Draws the figures of one page, whose ids it counts."""

    def __init__(self) -> None:
        self._ids = itertools.count()

    def rows(self, figure: Rows) -> tuple[Markup | None, list[Markup]]:
        """Return the axis, and a picture for each row; without an axis, no row has a place."""
        scale = scale_of(figure.x, (v for row in figure.rows for v in _values(row)), 0.0, 100.0, 1.06)
        if scale is None:
            return None, [Markup() for _ in figure.rows]
        grid, height = f"grid-{next(self._ids)}", figure.height
        equal = 1.0 if figure.x.unit == "×" and scale.log and scale.low < 1 < scale.high else None
        places = list(_across(figure.x, scale, AXIS_HEIGHT - 6, 7, equal))
        lines = "".join(element("line", x1=x, x2=x, y1=0, y2=height, class_="grid") for x, _ in places)
        if equal:
            at = _percent(scale(equal))
            lines += element("line", x1=at, x2=at, y1=0, y2=height, class_="one")
        content = element("defs", element("g", lines, id=grid)) + "".join(words for _, words in places)
        kind = "logarithmic" if scale.log else "linear"
        ends = f"{tick_words(scale.low, figure.x.unit)} to {tick_words(scale.high, figure.x.unit)}"
        axis = picture(content, f"{figure.x.title or 'Axis'}: {kind}, {ends}", AXIS_HEIGHT, "axis")
        return axis, [_track(row, scale, grid, height) for row in figure.rows]

    def plot(self, figure: Plot) -> Markup | None:
        """Return the picture, or None without a value that it can show."""
        points = [point for series in figure.series for point in series.points if point.y > 0 or not figure.y.log]
        ys = [v for point in points for v in (point.y, *(point.interval or ()))]
        y = scale_of(figure.y, [*ys, figure.level], _BOTTOM - 3.0, _TOP + 3.0, 1.15)
        places = [point.x for point in points]
        axis, zero = figure.x, min(places, default=1.0) <= 0 < max(places, default=0.0) and figure.x.log
        if zero:  # 0 stands below the least place of a logarithmic axis
            axis = Axis(axis.title, axis.unit, True, (min(v for v in places if v > 0) / 3,), axis.ticks)
        x = scale_of(axis, [*places, *(end for band in figure.bands for end in (band.low, band.high))], 2.5, 97.5, 1.0)
        if y is None or x is None:
            return None
        content = "".join(_level(y(tick), tick_words(tick, figure.y.unit)) for tick in _ticks(figure.y, y, 6))
        for at, words in _across(axis, x, _BOTTOM + 16.0, 6):
            content += element("line", x1=at, x2=at, y1=_TOP, y2=_BOTTOM, class_="grid") + words
        content += label("0", _percent(x(x.low)), _BOTTOM + 16.0, "middle") if zero else ""
        content += "".join(_band(band, x) for band in figure.bands)
        if figure.level is not None:
            content += element("line", x1="0%", x2="100%", y1=y(figure.level), y2=y(figure.level), class_="one")
        content += _series(figure, x, y)
        content += label(figure.y.title, -58.0, 12, None, "axis-title")
        content += label(figure.x.title, "100%", _BOTTOM + 34.0, "end", "axis-title")
        words = f"{figure.title}. {fmt.plural(len(figure.series), 'series', 'series')} over {figure.x.title}, "
        low, high = (tick_words(end(point.y for point in points), figure.y.unit) for end in (min, max))
        bands = "; ".join(band.label for band in figure.bands if band.label)
        return picture(content, f"{words}{low} to {high}.{f' Marked: {bands}.' if bands else ''}", _HEIGHT, "plot")

    def matrix(self, figure: Matrix) -> Markup:
        """Return the picture, with rows from the top."""
        count = max(1, len(figure.names))
        side = (_SQUARE_WIDTH - _SQUARE_LEFT - 4) / count
        content = ""
        for (row, column), square in sorted(figure.squares.items()):
            left, top = _SQUARE_LEFT + column * side, _SQUARE_TOP + row * side
            place = {"x": left + 0.5, "y": top + 0.5, "width": side - 1, "height": side - 1}
            class_ = f"square {figure.style}{' marked' if square.marked else ''}"
            content += element("rect", **place, class_=class_, fill_opacity=f"{square.shade:.2f}")
            if square.words and side >= _NUMBERED:
                content += label(square.words, left + side / 2, top + side / 2 + 4, "middle", "label")
        for place_ in range(0, len(figure.names), math.ceil(count / _LABELS)):
            at = (place_ + 0.5) * side
            content += label(figure.names[place_], _SQUARE_LEFT - 6.0, _SQUARE_TOP + at + 4, "end", "label")
            x, y = _SQUARE_LEFT + at, _SQUARE_TOP - 8.0
            turned = f"rotate(-40 {x:.1f} {y})"
            name = escape(guard.text(figure.names[place_]))
            content += element("text", name, x=x, y=y, class_="label", transform=turned)
        height = math.ceil(_SQUARE_TOP + side * len(figure.names) + 6)
        return picture(content, f"{figure.title}. {figure.words}", height, "matrix", _SQUARE_WIDTH)


def _values(row: Row) -> Iterator[float]:
    """Yield the values on the axis of a row's marks."""
    for mark in row.marks:
        if mark.kind == "area":
            yield from (value for place, value in enumerate(mark.values) if place % 3 != 2)
        elif mark.kind != "band" or mark.style.startswith("reach"):
            yield from mark.values


def _track(row: Row, scale: Scale, grid: str, height: int) -> Markup:
    paths: dict[str, list[str]] = {}
    shapes, middle = "", height / 2
    for mark in row.marks:
        at = [round(_WIDE / 100 * scale(value)) for value in mark.values] if mark.kind != "area" else []
        drawn = paths.setdefault(f"{mark.kind} {mark.style}", [])
        if mark.kind in ("bar", "band", "hatch"):
            top, bottom = {"bar": (0.2, 0.8), "band": (0.0, 1.0), "hatch": (0.0, 1.0)}[mark.kind]
            for low, high in zip(at[::2], at[1::2], strict=True):
                left, right = min(low, high), max(low, high, min(low, high) + 2)
                drawn.append(f"M{left} {number(height * top)}H{right}V{number(height * bottom)}H{left}z")
        elif mark.kind in ("line", "join"):
            drawn.append(f"M{at[0]} {number(middle)}H{max(at[1], at[0] + 1)}")
        elif mark.kind == "tick":
            drawn += [f"M{place} {number(0.12 * height)}V{number(0.88 * height)}" for place in at]
        elif mark.kind == "dots":
            drawn += list(_dots(at, middle))
        elif mark.kind == "dot":
            x = _percent(scale(mark.values[0]))
            shapes += element("use", href=f"#{shape_id(mark.style)}", x=x, y=middle, class_=f"mark {mark.style}")
        else:
            drawn.append(_outline(mark.values, scale, height))
    content = element("use", href=f"#{grid}") + _stretched(paths, height) + shapes
    return picture(content, f"{row.label}: {row.words or row.value}", height, "track")


def _dots(places: Sequence[int], middle: float) -> Iterator[str]:
    """Yield dots, lifting those that would cover each other."""
    lifts, last, lift = (0, -5, 5, -9, 9), -100, 0
    for place in sorted(places):
        lift = (lift + 1) % len(lifts) if place - last < 12 else 0
        last = place
        yield f"M{place} {number(middle + lifts[lift])}h0"


def _outline(values: Sequence[float], scale: Scale, height: int) -> str:
    """Return the outline of steps, which stand on the foot of the row; steps that touch are joined."""
    parts, last, level = [], -1, height
    for start, end, share in zip(values[::3], values[1::3], values[2::3], strict=True):
        left, right = (round(_WIDE / 100 * scale(value)) for value in (start, end))
        y = round(height * (1 - min(1.0, share)))
        if left != last:
            parts += [f"V{height}z" if last >= 0 else "", f"M{left} {height}"]
            level = height
        parts += [f"V{y}" if y != level else "", f"H{right}"]
        last, level = right, y
    return "".join([*parts, f"V{height}z"]) if parts else ""


def _level(y: float, words: str) -> str:
    return element("line", x1="0%", x2="100%", y1=y, y2=y, class_="grid") + label(words, -6.0, y + 4, "end")


def _band(band: Band, x: Scale) -> str:
    low, high = x(band.low), x(band.high)
    class_ = "limit" if band.label else "limit minor"
    width = {"x": _percent(low), "width": _percent(max(0.4, high - low))}
    content = element("rect", **width, y=_TOP, height=_BOTTOM - _TOP, class_=class_)
    if not band.label:
        return content
    at, anchor = (low - 1, "end") if low > 50 else (high + 1, None)
    return content + label(band.label, _percent(at), _TOP + 12.0, anchor, "label")


def style_of(series: Series, place: int) -> str:
    """Return the style of a series of a plot, by its place in it."""
    return series.style or STYLES[place % len(STYLES)]


def _series(figure: Plot, x: Scale, y: Scale) -> str:
    """Draw lines and whiskers first, then markers, the first series above the others."""
    paths: dict[str, list[str]] = {}
    marks = ""
    for place, series in reversed(list(enumerate(figure.series))):
        style = style_of(series, place)
        shown = [point for point in series.points if point.y > 0 or not y.log]
        at = [(round(_WIDE / 100 * x(point.x)), y(point.y)) for point in shown]
        if series.line and len(at) > 1:
            line = "M" + "L".join(f"{px} {number(py)}" for px, py in at)
            paths.setdefault(f"{series.line} {style}", []).append(line)
        for point, (px, _) in zip(shown, at, strict=True):
            if point.interval and point.interval[0] > 0:
                ends = [number(y(end)) for end in point.interval]
                paths.setdefault(f"whisker {style}", []).append(f"M{px} {ends[0]}V{ends[1]}")
        marks += "".join(_marker(point, series.marker, style, x, y) for point in shown if series.marker)
    return _stretched(paths, _HEIGHT) + marks


def _marker(point: Point, marker: str, style: str, x: Scale, y: Scale) -> str:
    at, class_ = _percent(x(point.x)), f"{'hollow' if marker == 'hollow' else 'point'} {style}"
    if point.area is None:
        return element("use", href=f"#{shape_id(style)}", x=at, y=y(point.y), class_=class_)
    title = element("title", escape(typeset(point.words)))
    radius = max(3.0, 22 * math.sqrt(point.area))
    return element("circle", title, cx=at, cy=y(point.y), r=radius, class_=f"{class_} circle")
