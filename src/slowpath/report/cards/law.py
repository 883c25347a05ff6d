# SPDX-License-Identifier: Apache-2.0
"""The picture of a finding's law, with its predictions, and the predictions as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.results import Finding, LawPoint, LawResult, LimitBracket
from slowpath.report import format as fmt
from slowpath.report.svg import law as drawn
from slowpath.report.svg.law import Axis, Dot, LawLimit, LawLine, LawMark

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
    limits = [_limit(bracket, place == 0) for place, bracket in enumerate(law.brackets) if bracket.covariate == name]
    title = f"Law of {finding.rule}: {finding.title}"
    predicted = marks(law, name)
    drawing = drawn.chart(lines, limits, axis, _y_title(finding, law), title, predicted)
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
    if lengths[-1] < drawn.NARROW * lengths[0] and len(pages) > 1:
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


def _limit(bracket: LimitBracket, main: bool) -> LawLimit:
    """Return a limit. Only the limit that the finding is about has a label."""
    shown = fmt.count_bytes if bracket.covariate.endswith("_bytes") else lambda value: f"{value:g}"
    low, high = shown(int(bracket.above)), shown(int(bracket.up_to))
    label = f"{low}" if bracket.up_to - bracket.above <= 1 else f"{low} to {high}"
    return LawLimit(label if main else "", bracket.above, bracket.up_to)


_OUTCOMES = {True: "held", False: "failed", None: "not decided"}
_KINDS = {"held out": "point set apart before the fit", "later": "measured afterwards"}


def forecast_lines(law: LawResult | None) -> list[str]:
    """Return a line for each prediction that was measured: failed ones first, then those measured later."""
    seen = [forecast for forecast in (law.forecasts if law else ()) if forecast.seen_s is not None]
    ordered = sorted(seen, key=lambda forecast: (forecast.held is not False, forecast.kind != "later"))
    return [f"{forecast.text}: {_OUTCOMES[forecast.held]} ({_KINDS[forecast.kind]})" for forecast in ordered]


def marks(law: LawResult, name: str) -> list[LawMark]:
    """Return the predictions as marks on an axis.  Args: name: covariate of the axis."""
    return [
        LawMark(forecast.place[name], forecast.predicted_s, forecast.interval, forecast.seen_s)
        for forecast in law.forecasts
        if name in forecast.place and forecast.seen_s is not None
    ]
