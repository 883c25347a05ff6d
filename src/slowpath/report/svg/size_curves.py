# SPDX-License-Identifier: Apache-2.0
"""A metric over message size: points with intervals, thin lines, labels at the lines' ends; and envelopes of ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
class SizePoint:
    """A cell of a curve. Value and interval are in the metric's unit."""

    size_bytes: int
    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """Cells that differ in message size only, by size. An empty label means the only curve of its panel."""

    label: str
    points: tuple[SizePoint, ...]


def chart(curves: Sequence[SizeCurve], unit: str, title: str) -> Markup | None:
    """Return a panel of at most len(STYLES) curves, or None without points above zero."""
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
    """Return a tick's label without unnecessary zeros."""
    if unit == "s":
        return short_time(tick)
    shown, _, name = fmt.quantity(tick, unit).partition(" ")
    return f"{float(shown):g} {name}"


def _curve(curve: SizeCurve, index: int, x: LogScale, y: LogScale) -> str:
    return drawn_curve([(x(p.size_bytes), y(p.value), _on(y, p.interval)) for p in curve.points], index)


def _on(y: LogScale, interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return (y(interval[0]), y(interval[1])) if interval else None


def drawn_curve(places: Sequence[tuple[float, float, tuple[float, float] | None]], index: int) -> str:
    """Return a line through these pixels, with a marker on each and a whisker where it has an interval."""
    style = STYLES[index % len(STYLES)]
    line = "M" + "L".join(f"{number(px)} {number(py)}" for px, py, _ in places)
    content = element("path", d=line, class_=f"line {style}")
    for px, py, ends in places:
        if ends:
            content += element("line", x1=px, x2=px, y1=ends[0], y2=ends[1], class_=f"whisker {style}")
        content += marker(px, py, index)
    return content


def marker(x: float, y: float, index: int) -> str:
    """Return the marker of a line."""
    move = f"translate({number(x)} {number(y)})"
    style = STYLES[index % len(STYLES)]
    return element("path", d=MARKERS[index % len(MARKERS)], transform=move, class_=f"point {style}")


def _label_width(curve: SizeCurve) -> int:
    """Return the pixels of a label, with a little more than system fonts need at 12 px."""
    return 7 * len(fmt.shortened(curve.label, LONGEST_LABEL)) if curve.label else 0


def _labels(curves: Sequence[SizeCurve], y: LogScale, frame: Frame) -> str:
    """Draw each curve's name to the right of its last point, in its colour."""
    named = [(index, curve) for index, curve in enumerate(curves) if curve.label]
    wanted = [y(curve.points[-1].value) + 4 for _, curve in named]
    places = spread_apart(wanted, 15, frame.top + 4, frame.bottom)
    return "".join(
        text(
            fmt.shortened(curve.label, LONGEST_LABEL),
            frame.right + 2,
            place,
            None,
            f"curve {STYLES[index % len(STYLES)]}",
        )
        for (index, curve), place in zip(named, places, strict=True)
    )


ENVELOPE_WIDTH, PLOT_HEIGHT, LINE = 344, 236, 17
MOST_NAMED = 4  # ways with a colour, the usual one not counted


@dataclass(frozen=True, slots=True)
class DrawnWay:
    """A way of a collective. `times_s`: seconds and interval by length in bytes."""

    name: str
    times_s: Mapping[int, tuple[float, tuple[float, float] | None]]


def envelope_chart(usual: DrawnWay, others: Sequence[DrawnWay], title: str) -> Markup | None:
    """Return a panel of all ways and their envelope, or None with fewer than two lengths."""
    lengths = sorted(usual.times_s)
    values = [time_s for way in (usual, *others) for time_s, _ in way.times_s.values()]
    ends = spanning(values, least=3.0, margin=1.25)
    widths = spanning([float(length) for length in lengths if length > 0], margin=1.0)
    if len(lengths) < 2 or ends is None or widths is None:
        return None
    frame = Frame(56, 22, ENVELOPE_WIDTH - 10, PLOT_HEIGHT - 42)
    x = LogScale(*widths, frame.left + 8, frame.right - 10)
    y = LogScale(*ends, frame.bottom, frame.top)
    content = frame.y_axis(y, lambda tick: tick_label(tick, "s"), 5)
    content += frame.x_axis(x, powers_of_two(*widths, 5), lambda tick: fmt.count_bytes(int(tick)))
    content += frame.titles("length of the message", "time")
    named = _named(usual, others)
    content += _band(usual, others, x, y)
    content += "".join(_line(way, x, y, "other") for way in others if way not in named)
    for place, way in reversed(list(enumerate([usual, *named]))):
        content += _line(way, x, y, STYLES[place]) + _points(way, x, y, place, whiskers=place == 0)
    content += "".join(_legend(way.name, place) for place, way in enumerate([usual, *named]))
    height = PLOT_HEIGHT + LINE * (1 + len(named))
    if rest := len(others) - len(named):
        content += text(f"thin: {fmt.plural(rest, 'other way')}", 66, height + 8, None, "tick")
        height += LINE
    described = f"{usual.name} and {fmt.plural(len(others), 'other way')} over {len(lengths)} lengths."
    return picture(content, title, described, height=height, width=ENVELOPE_WIDTH)


def _named(usual: DrawnWay, others: Sequence[DrawnWay]) -> list[DrawnWay]:
    """Return the ways that are fastest at some length, those that save most first."""
    saved: dict[int, float] = {}
    for length, (own_s, _) in usual.times_s.items():
        there = [(way.times_s[length][0], place) for place, way in enumerate(others) if length in way.times_s]
        if there and min(there)[0] < own_s:
            least_s, place = min(there)
            saved[place] = max(saved.get(place, 0.0), own_s / least_s)
    return [others[place] for place in sorted(saved, key=lambda place: -saved[place])[:MOST_NAMED]]


def _band(usual: DrawnWay, others: Sequence[DrawnWay], x: LogScale, y: LogScale) -> str:
    """Draw the band from the fastest way up to the usual one."""
    lengths = sorted(usual.times_s)
    least = [min([way.times_s[n][0] for way in others if n in way.times_s] + [usual.times_s[n][0]]) for n in lengths]
    upper = [f"{number(x(n))} {number(y(usual.times_s[n][0]))}" for n in lengths]
    lower = [f"{number(x(n))} {number(y(value))}" for n, value in zip(lengths, least, strict=True)]
    return element("path", d=f"M{'L'.join([*upper, *reversed(lower)])}z", class_="band") + element(
        "path", d="M" + "L".join(lower), class_="envelope"
    )


def _line(way: DrawnWay, x: LogScale, y: LogScale, style: str) -> str:
    places = [f"{number(x(n))} {number(y(way.times_s[n][0]))}" for n in sorted(way.times_s)]
    return element("path", d="M" + "L".join(places), class_=f"line {style}")


def _points(way: DrawnWay, x: LogScale, y: LogScale, place: int, *, whiskers: bool) -> str:
    content = ""
    for n, (value_s, ends) in sorted(way.times_s.items()):
        if whiskers and ends:
            content += element(
                "line", x1=x(n), x2=x(n), y1=y(ends[0]), y2=y(ends[1]), class_=f"whisker {STYLES[place]}"
            )
        content += marker(x(n), y(value_s), place)
    return content


def _legend(name: str, place: int) -> str:
    y = PLOT_HEIGHT + LINE * place + 8
    return marker(60.0, float(y) - 4, place) + text(name, 72, y, None, f"curve {STYLES[place]}")
