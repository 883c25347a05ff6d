# SPDX-License-Identifier: Apache-2.0
"""Distribution of a cell, relative to its median: left, a dot for each launch's median; right, the tail of the samples.

The two halves have an axis each, because launches differ by per cent and tails by factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale, spanning

QUANTILES = (("p50", "50"), ("p90", "90"), ("p99", "99"), ("p999", "99.9"))
_LINES = 3  # dots are spread over so many lines, so that equal ones stay apart
_TAIL_BEGINS, _LAUNCHES_END = 52.0, 42.0  # percent of the track


@dataclass(frozen=True, slots=True)
class Scales:
    """Axes of both halves, in multiples of the median."""

    launches: LogScale
    tail: LogScale


def _relative(estimate: dict[str, Any], values: Sequence[float | None]) -> list[float]:
    centre = estimate.get("value")
    return [value / centre for value in values if value is not None] if centre else []


def scales_of(estimates: Sequence[dict[str, Any]]) -> Scales:
    """Axes for everything that the tracks of `estimates` show."""
    medians, tails = [1.0], [1.0]
    for one in estimates:
        medians += _relative(one, [*(one.get("launch_values") or ()), *(one.get("interval") or ())])
        tails += _relative(one, (one.get("min"), one.get("max")))
    left, right = spanning(medians, least=1.1, margin=1.01), spanning(tails, least=2.0, margin=1.05)
    return Scales(
        LogScale(*(left or (0.9, 1.1)), 0.0, _LAUNCHES_END), LogScale(*(right or (0.5, 2.0)), _TAIL_BEGINS, 100.0)
    )


def axis(scales: Scales, grid: str) -> Markup:
    """Tick labels of both halves, what each shows, and the lines that the tracks use, under the id `grid`."""
    left = [(tick, f"{tick:g}×") for tick in _medians_ticks(scales)]
    right = [(tick, f"{tick:g}×") for tick in _tail_ticks(scales)]
    words = "Axes in multiples of the cell's median, logarithmic", "Left: launch medians. Right: samples."
    lines = marks.gridlines(scales.launches, _medians_ticks(scales)) + marks.gridlines(scales.tail, _tail_ticks(scales))
    content = marks.defined(grid, lines) + marks.axis(scales.launches, left, 40) + marks.axis(scales.tail, right, 40)
    content += element("text", "launch medians", x="0%", y=13, class_="tick")
    content += element("text", "samples", x=marks.percent(_TAIL_BEGINS), y=13, class_="tick")
    return picture(content, *words, height=40, class_="axis")


def _medians_ticks(scales: Scales) -> list[float]:
    return scales.launches.ticks(4)


def _tail_ticks(scales: Scales) -> list[float]:
    return scales.tail.ticks(5)


def track(estimate: dict[str, Any], unit: str, scales: Scales, grid: str) -> Markup:
    """Left: launch medians over the interval. Right: from the smallest to the largest sample, quantiles as ticks."""
    content = marks.used(grid)
    content += _launches(estimate, scales.launches) + _samples(estimate, scales.tail)
    title = f"Median {fmt.quantity(estimate.get('value'), unit, estimate.get('interval'))}"
    return picture(content, title, describe(estimate, unit), height=marks.TRACK_HEIGHT, class_="track")


def _launches(estimate: dict[str, Any], scale: LogScale) -> str:
    interval = _relative(estimate, estimate.get("interval") or ())
    content = marks.bar(scale(interval[0]), scale(interval[1]), "interval spread", 15) if interval else ""
    content += _tick(scale(1.0), 4, 26, "centre") if estimate.get("value") else ""
    dots = "".join(
        element("circle", cx=marks.percent(scale(value)), cy=9 + 6 * (index % _LINES), r=3)
        for index, value in enumerate(_relative(estimate, estimate.get("launch_values") or ()))
    )
    return content + element("g", dots, class_="dot launch")


def _samples(estimate: dict[str, Any], scale: LogScale) -> str:
    ends = _relative(estimate, (estimate.get("min"), estimate.get("max")))
    content = marks.bar(scale(ends[0]), scale(ends[1]), "range", 15) if len(ends) == 2 else ""
    content += "".join(_tick(scale(end), 12, 18, "end") for end in ends)
    for name, _ in QUANTILES[1:]:
        content += "".join(
            _tick(scale(value), 8, 22, "quantile") for value in _relative(estimate, (estimate.get(name),))
        )
    return content + (_tick(scale(1.0), 4, 26, "centre") if estimate.get("value") else "")


def _tick(x: float, top: int, bottom: int, class_: str) -> str:
    return element("line", x1=marks.percent(x), x2=marks.percent(x), y1=top, y2=bottom, class_=class_)


def describe(estimate: dict[str, Any], unit: str) -> str:
    """The quantiles in words."""
    known = [
        f"{name} %: {fmt.quantity(estimate.get(key), unit)}" for key, name in QUANTILES if estimate.get(key) is not None
    ]
    return f"{fmt.plural(len(estimate.get('launch_values') or ()), 'launch')}. " + ", ".join(known)
