# SPDX-License-Identifier: Apache-2.0
"""Several ways to one result over the length of a message: the usual one, the others, and the least of all of them.

The envelope is the lower edge of a band that reaches up to the usual way: where the band has a height, something is to
be had. A small multiple: many stand next to each other, so that only ways that matter have a colour and a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, powers_of_two, spanning
from slowpath.report.svg.size_curves import MARKERS, STYLES, tick_label

WIDTH, PLOT_HEIGHT, LINE = 344, 236, 17
MOST_NAMED = 4  # ways with a colour, the usual one not counted


@dataclass(frozen=True, slots=True)
class Way:
    """times_s: length in bytes -> seconds and interval."""

    name: str
    times_s: Mapping[int, tuple[float, tuple[float, float] | None]]


def chart(usual: Way, others: Sequence[Way], title: str) -> Markup | None:
    """One panel; None without two lengths."""
    lengths = sorted(usual.times_s)
    values = [time_s for way in (usual, *others) for time_s, _ in way.times_s.values()]
    ends = spanning(values, least=3.0, margin=1.25)
    widths = spanning([float(length) for length in lengths if length > 0], margin=1.0)
    if len(lengths) < 2 or ends is None or widths is None:
        return None
    frame = Frame(56, 22, WIDTH - 10, PLOT_HEIGHT - 42)
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
    return picture(content, title, described, height=height, width=WIDTH)


def _named(usual: Way, others: Sequence[Way]) -> list[Way]:
    """The ways that are the fastest of all at some length, those that save most first."""
    saved: dict[int, float] = {}
    for length, (own_s, _) in usual.times_s.items():
        there = [(way.times_s[length][0], place) for place, way in enumerate(others) if length in way.times_s]
        if there and min(there)[0] < own_s:
            least_s, place = min(there)
            saved[place] = max(saved.get(place, 0.0), own_s / least_s)
    return [others[place] for place in sorted(saved, key=lambda place: -saved[place])[:MOST_NAMED]]


def _band(usual: Way, others: Sequence[Way], x: LogScale, y: LogScale) -> str:
    """From the least of all ways up to the usual one."""
    lengths = sorted(usual.times_s)
    least = [min([way.times_s[n][0] for way in others if n in way.times_s] + [usual.times_s[n][0]]) for n in lengths]
    upper = [f"{number(x(n))} {number(y(usual.times_s[n][0]))}" for n in lengths]
    lower = [f"{number(x(n))} {number(y(value))}" for n, value in zip(lengths, least, strict=True)]
    return element("path", d=f"M{'L'.join([*upper, *reversed(lower)])}z", class_="band") + element(
        "path", d="M" + "L".join(lower), class_="envelope"
    )


def _line(way: Way, x: LogScale, y: LogScale, style: str) -> str:
    places = [f"{number(x(n))} {number(y(way.times_s[n][0]))}" for n in sorted(way.times_s)]
    return element("path", d="M" + "L".join(places), class_=f"line {style}")


def _points(way: Way, x: LogScale, y: LogScale, place: int, *, whiskers: bool) -> str:
    content = ""
    for n, (value_s, ends) in sorted(way.times_s.items()):
        if whiskers and ends:
            content += element(
                "line", x1=x(n), x2=x(n), y1=y(ends[0]), y2=y(ends[1]), class_=f"whisker {STYLES[place]}"
            )
        content += _marker(x(n), y(value_s), place)
    return content


def _marker(x: float, y: float, place: int) -> str:
    return element(
        "path", d=MARKERS[place], transform=f"translate({number(x)} {number(y)})", class_=f"point {STYLES[place]}"
    )


def _legend(name: str, place: int) -> str:
    y = PLOT_HEIGHT + LINE * place + 8
    return _marker(60.0, float(y) - 4, place) + text(name, 72, y, None, f"curve {STYLES[place]}")
