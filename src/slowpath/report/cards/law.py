# SPDX-License-Identifier: Apache-2.0
"""The picture of a finding's law, with its predictions, and the predictions as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.results import Finding, LawPoint, LawResult, LimitBracket
from slowpath.report import format as fmt
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.marks import percent
from slowpath.report.svg.plot import LINE, Wide, spread_apart
from slowpath.report.svg.scale import LinearScale, LogScale, powers_of_two, spanning

HEIGHT, TOP, BOTTOM = 268, 26, 222
LEFT, RIGHT_ALONE, RIGHT_NAMED = 17.0, 97.0, 77.0
STYLES = ("s2", "s1", "s3", "s4", "s5", "s6")
NARROW = 4.0  # from the least to the largest: an axis that spans less is linear
_ZERO = 3.0  # how far below the least positive value 0 stands on a logarithmic axis


@dataclass(frozen=True, slots=True)
class Dot:
    """A measured point. `interval` in seconds; `law_s`: value of the law, or None if no law is named."""

    x: float
    value_s: float
    interval: tuple[float, float] | None
    law_s: float | None


@dataclass(frozen=True, slots=True)
class LawMark:
    """A prediction of the law with its interval, and the value measured there, in seconds, or None."""

    x: float
    predicted_s: float
    interval: tuple[float, float]
    seen_s: float | None


@dataclass(frozen=True, slots=True)
class LawLine:
    """Points that share everything that is not on the axis, ordered by x.

    Args: label: empty if it is the only line. joined: whether the law has values between the points.
    """

    label: str
    dots: tuple[Dot, ...]
    joined: bool = True


@dataclass(frozen=True, slots=True)
class LawLimit:
    """A limit at which the law changes: above `above`, at most `up_to`.

    Args: label: if empty, only the mark is drawn.
    """

    label: str
    above: float
    up_to: float


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis along which the law runs. is_bytes: its ticks are lengths."""

    title: str
    is_bytes: bool


def law_chart(
    lines: Sequence[LawLine],
    limits: Sequence[LawLimit],
    axis: Axis,
    y_title: str,
    title: str,
    predicted: Sequence[LawMark] = (),
) -> Markup | None:
    """Return the picture, or None with fewer than two places on the axis."""
    dots = [dot for line in lines for dot in line.dots if dot.value_s > 0]
    places = sorted({dot.x for dot in dots} | {mark.x for mark in predicted})
    drawn = [v for dot in dots for v in (dot.value_s, dot.law_s, *(dot.interval or ()))]
    drawn += [v for mark in predicted for v in (mark.predicted_s, mark.seen_s, *mark.interval)]
    ends = spanning(drawn, least=2.0, margin=1.2)
    if len(places) < 2 or ends is None:
        return None
    named = any(line.label for line in lines)
    frame = Wide(LEFT, RIGHT_NAMED if named else RIGHT_ALONE, TOP, BOTTOM)
    y = LogScale(*ends, frame.bottom - 4, frame.top + 4)
    x, ticks = _across(places, axis, frame)
    content = frame.levels([(y(tick), short_time(tick)) for tick in y.ticks(5)]) + frame.uprights(ticks)
    content += "".join(_limit(limit, x, frame) for limit in limits)
    content += "".join(_line(line, place, limits, x, y) for place, line in enumerate(lines))
    content += "".join(_predicted(mark, x, y) for mark in predicted)
    content += _names(lines, y, frame) + frame.titles(axis.title, y_title)
    words = _described(dots, lines, limits, axis)
    if predicted:
        words += f" {fmt.plural(len(predicted), 'forecast')}: hollow, with what was seen, filled."
    return picture(content, title, words, height=HEIGHT, class_="law")


def _described(dots: Sequence[Dot], lines: Sequence[LawLine], limits: Sequence[LawLimit], axis: Axis) -> str:
    low, high = (fmt.time(end(dot.value_s for dot in dots)) for end in (min, max))
    words = f"{fmt.plural(len(dots), 'point')} over {axis.title}, {low} to {high}, with intervals."
    words += " The line is the law." if any(dot.law_s is not None for dot in dots) else " No law is named."
    if len(lines) > 1:
        words += f" Lines: {', '.join(line.label for line in lines)}."
    return words + (f" Limits: {'; '.join(limit.label for limit in limits if limit.label)}." if limits else "")


Scale = Callable[[float], float]


def _across(places: Sequence[float], axis: Axis, frame: Wide) -> tuple[Scale, list[tuple[float, str]]]:
    """Return scale and ticks of the horizontal axis, in percent."""
    start, end = frame.left + 3, frame.right - 3
    least = next((value for value in places if value > 0), 1.0)
    label: Callable[[float], str] = (lambda v: fmt.count_bytes(int(v))) if axis.is_bytes else (lambda v: f"{v:g}")
    if places[-1] < NARROW * max(places[0], 1e-300) and places[0] > 0:
        linear = LinearScale(places[0], places[-1], start, end)
        return linear, [(linear(tick), label(tick)) for tick in linear.ticks(5)]
    low = least / _ZERO if places[0] <= 0 else least
    scale = LogScale(low, places[-1], start, end)
    zero = [(start, "0")] if places[0] <= 0 else []
    found = powers_of_two(least, places[-1], 6) if axis.is_bytes else scale.ticks(5)
    return lambda v: scale(max(v, low)), zero + [(scale(tick), label(tick)) for tick in found if tick >= least]


def _line(line: LawLine, place: int, limits: Sequence[LawLimit], x: Scale, y: LogScale) -> str:
    """Draw the law's line, broken at its limits, and the points over it."""
    style, content = STYLES[place % len(STYLES)], ""
    for here, following in zip(line.dots, line.dots[1:] if line.joined else (), strict=False):
        if (
            here.law_s is None
            or following.law_s is None
            or any(_between(limit, here.x, following.x) for limit in limits)
        ):
            continue
        content += element(
            "line",
            x1=percent(x(here.x)),
            x2=percent(x(following.x)),
            y1=y(here.law_s),
            y2=y(following.law_s),
            class_=f"fit {style}",
        )
    alone = line.dots if not line.joined or len(line.dots) == 1 else ()
    for dot in alone:
        if dot.law_s is not None:
            left, right = percent(x(dot.x) - 3), percent(x(dot.x) + 3)
            content += element("line", x1=left, x2=right, y1=y(dot.law_s), y2=y(dot.law_s), class_=f"fit {style}")
    for dot in line.dots:
        where = percent(x(dot.x))
        if dot.interval:
            low, high = (y(end) for end in dot.interval)
            content += element("line", x1=where, x2=where, y1=low, y2=high, class_=f"whisker {style}")
        content += element("circle", cx=where, cy=y(dot.value_s), r=3.5, class_=f"point {style}")
    return content


def _predicted(mark: LawMark, x: Scale, y: LogScale) -> str:
    """Draw a prediction: hollow with its interval, with the measured value in it."""
    where = percent(x(mark.x))
    low, high = (y(end) for end in mark.interval)
    content = element("line", x1=where, x2=where, y1=low, y2=high, class_="predicted")
    content += element("circle", cx=where, cy=y(mark.predicted_s), r=6, class_="predicted")
    if mark.seen_s is not None:
        content += element("circle", cx=where, cy=y(mark.seen_s), r=2.5, class_="seen")
    return content


def _between(limit: LawLimit, low: float, high: float) -> bool:
    return low <= limit.above and limit.up_to <= high


def _limit(limit: LawLimit, x: Scale, frame: Wide) -> str:
    """Draw a band between the last place before and the first one beyond, never thinner than a line."""
    low, high = x(limit.above), x(limit.up_to)
    content = element("rect", x=percent(low), width=percent(max(0.4, high - low)), y=frame.top,
                      height=frame.bottom - frame.top, class_="limit" if limit.label else "limit minor")  # fmt: skip
    if not limit.label:
        return content
    right = low > (frame.left + frame.right) / 2
    at = percent(low - 1 if right else high + 1)
    return content + text(limit.label, at, frame.top + 12, "end" if right else None, "label")


def _names(lines: Sequence[LawLine], y: LogScale, frame: Wide) -> str:
    """Draw each line's name to the right of its last point, in its colour."""
    named = [(place, line) for place, line in enumerate(lines) if line.label and line.dots]
    places = spread_apart([y(line.dots[-1].value_s) + 4 for _, line in named], LINE - 1, frame.top + 8, frame.bottom)
    return "".join(
        text(line.label, percent(frame.right + 1), at, None, f"curve {STYLES[place % len(STYLES)]}")
        for (place, line), at in zip(named, places, strict=True)
    )


MOST_LINES = 5
_ALLOCATIONS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")
_FOLLOW = (*_ALLOCATIONS, "buffer_bytes")  # what the length of a message may decide
_ALONG: Mapping[str, tuple[str, ...]] = {
    "bytes": ("message_bytes",),
    "segments": ("message_bytes",),
    "pages": ("message_bytes",),
    "granules": _ALLOCATIONS,
    "allocation": _ALLOCATIONS,
    "live buffers": ("live_buffers",),
    "repetition": ("repetition",),
    "queue depth": ("in_flight",),
    "queue": ("queue",),
    "blocks": ("blocks",),
    "step": (*_ALLOCATIONS, "message_bytes"),
    "saturates": (*_ALLOCATIONS, "message_bytes"),
    "threshold": _ALLOCATIONS,
}
_TITLES = {
    "message_bytes": "length of the message",
    "allocation_bytes": "length of the allocation",
    "sender_allocation_bytes": "length of the sender's allocation",
    "receiver_allocation_bytes": "length of the receiver's allocation",
    "live_buffers": "live buffers",
    "repetition": "use of the buffer",
    "in_flight": "messages in flight",
    "queue": "entries in front of the message",
    "page_bytes": "page with which the length can be mapped",
}


@dataclass(frozen=True, slots=True)
class LawPicture:
    """The picture of a law, and which optional marks it has."""

    drawing: Markup
    has_limits: bool
    has_predictions: bool


def law_picture(finding: Finding) -> LawPicture | None:
    """Return the picture of a finding's law, or None without a named law or without points at two places."""
    law = finding.law
    if law is None or law.name in (None, "constant") or not law.drawn:
        return None
    name = _along(law)
    if name is None:
        return None
    lines, name = _lines(law, name)
    axis = Axis(_TITLES.get(name, name.replace("_", " ")), name.endswith("_bytes"))
    limits = [_limit_of(bracket, place == 0) for place, bracket in enumerate(law.brackets) if bracket.covariate == name]
    title = f"Law of {finding.rule}: {finding.title}"
    predicted = marks(law, name)
    drawing = law_chart(lines, limits, axis, _y_title(finding, law), title, predicted)
    return LawPicture(drawing, bool(limits), bool(predicted)) if drawing is not None else None


def _y_title(finding: Finding, law: LawResult) -> str:
    words = fmt.metric_name(finding.metric)
    words = f"excess in {words}" if law.is_excess else words
    return words[:1].upper() + words[1:] + (" of the first message" if finding.phase == "first" else "")


def _values(points: Iterable[LawPoint], name: str) -> set[float]:
    return {point.place[name] for point in points if name in point.place}


def _along(law: LawResult) -> str | None:
    """Return the covariate of the axis: one that the law uses and that varies."""
    names = [name for name in _ALONG.get(law.name or "", ()) if len(_values(law.drawn, name)) > 1]
    return max(names, key=lambda name: len(_values(law.drawn, name)), default=None)


def _lines(law: LawResult, name: str) -> tuple[list[LawLine], str]:
    """Return the lines, and the covariate of their axis."""
    if any(point.page_bytes for point in law.drawn):
        return _by_page(law, name)
    others = [covariate for covariate in law.drawn[0].place if covariate != name and covariate not in _FOLLOW]
    varied = [covariate for covariate in others if len(_values(law.drawn, covariate)) > 1]
    groups: dict[tuple[float, ...], list[LawPoint]] = {}
    for point in law.drawn:
        groups.setdefault(tuple(point.place[covariate] for covariate in varied), []).append(point)
    if len(groups) > MOST_LINES:
        return [LawLine("", _dots(law.drawn, name, with_law=False))], name
    labels = {
        key: ", ".join(_value(varying, value) for varying, value in zip(varied, key, strict=True)) for key in groups
    }
    return [LawLine(labels[key], _dots(points, name)) for key, points in sorted(groups.items())], name


def _by_page(law: LawResult, name: str) -> tuple[list[LawLine], str]:
    """Return a line for each page size over the length, or one over the page size if all lengths are similar."""
    lengths = sorted(_values(law.drawn, name))
    largest = max(
        (bracket.up_to for bracket in law.brackets if bracket.covariate != name), default=0.0
    )  # alignment without a remainder
    pages = {point.page_bytes or largest for point in law.drawn}
    if lengths[-1] < NARROW * lengths[0] and len(pages) > 1:
        dots = [_dot(point, point.page_bytes or largest) for point in law.drawn]
        return [LawLine("", tuple(sorted(dots, key=lambda dot: dot.x)), joined=False)], "page_bytes"
    lines = []
    for page in sorted({point.page_bytes or 0 for point in law.drawn}, key=lambda page: page or largest):
        points = [point for point in law.drawn if (point.page_bytes or 0) == page]
        label = f"{fmt.count_bytes(page)} pages" if page else f"n × {fmt.count_bytes(int(largest))}"
        lines.append(LawLine(label if len(pages) > 1 else "", _dots(points, name)))
    return lines, name


def _dots(points: Sequence[LawPoint], name: str, with_law: bool = True) -> tuple[Dot, ...]:
    dots = [_dot(point, point.place[name], with_law) for point in points]
    return tuple(sorted(dots, key=lambda dot: dot.x))


def _dot(point: LawPoint, x: float, with_law: bool = True) -> Dot:
    return Dot(x, point.value_s, point.interval, point.fitted_s if with_law else None)


def _value(name: str, value: float) -> str:
    if name == "page_bytes":
        return f"{fmt.count_bytes(int(value))} pages"
    return fmt.count_bytes(int(value)) if name.endswith("_bytes") else f"{name.replace('_', ' ')} {value:g}"


def _limit_of(bracket: LimitBracket, main: bool) -> LawLimit:
    """Return a limit. Only the limit that the finding is about has a label."""
    shown = fmt.count_bytes if bracket.covariate.endswith("_bytes") else lambda value: f"{value:g}"
    low, high = shown(int(bracket.above)), shown(int(bracket.up_to))
    label = f"{low}" if bracket.up_to - bracket.above <= 1 else f"{low} to {high}"
    return LawLimit(label if main else "", bracket.above, bracket.up_to)


_OUTCOMES = {True: "held", False: "failed", None: "not decided"}


def forecast_lines(law: LawResult | None) -> list[str]:
    """Return a line for each prediction, failed ones first."""
    seen = [forecast for forecast in (law.forecasts if law else ()) if forecast.seen_s is not None]
    ordered = sorted(seen, key=lambda forecast: forecast.held is not False)
    return [f"{forecast.text}: {_OUTCOMES[forecast.held]}" for forecast in ordered]


def marks(law: LawResult, name: str) -> list[LawMark]:
    """Return the predictions as marks on an axis.  Args: name: covariate of the axis."""
    return [
        LawMark(forecast.place[name], forecast.predicted_s, forecast.interval, forecast.seen_s)
        for forecast in law.forecasts
        if name in forecast.place and forecast.seen_s is not None
    ]
