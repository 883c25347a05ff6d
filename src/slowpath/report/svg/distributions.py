# SPDX-License-Identifier: Apache-2.0
"""The distribution of a cell relative to its median.

The left half has a dot for each launch's median, the right half the tail of the samples. Each half has its own axis,
because launches differ by per cent and tails by factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.cell_results import MetricEstimate
from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale, spanning

_LINES = 3  # dots are spread over so many lines, so that equal ones stay apart
_TAIL_BEGINS, _LAUNCHES_END = 52.0, 42.0  # percent of the track


@dataclass(frozen=True, slots=True)
class Scales:
    """Axes of both halves, in multiples of the median."""

    launches: LogScale
    tail: LogScale


def _relative(estimate: MetricEstimate, values: Sequence[float]) -> list[float]:
    return [value / estimate.value for value in values] if estimate.value else []


def scales_of(estimates: Sequence[MetricEstimate]) -> Scales:
    """Return axes for everything that the tracks of `estimates` show."""
    medians, tails = [1.0], [1.0]
    for estimate in estimates:
        medians += _relative(estimate, [*estimate.launch_values, *(estimate.interval or ())])
        tails += _relative(estimate, (estimate.min, estimate.max))
    left, right = spanning(medians, least=1.1, margin=1.01), spanning(tails, least=2.0, margin=1.05)
    return Scales(
        LogScale(*(left or (0.9, 1.1)), 0.0, _LAUNCHES_END), LogScale(*(right or (0.5, 2.0)), _TAIL_BEGINS, 100.0)
    )


def axis(scales: Scales, grid: str) -> Markup:
    """Return tick labels of both halves, and the lines that the tracks use, under the id `grid`."""
    left = [(tick, f"{tick:g}×") for tick in _medians_ticks(scales)]
    right = [(tick, f"{tick:g}×") for tick in _tail_ticks(scales)]
    words = "Axes in multiples of the cell's median, logarithmic", "Left: launch medians. Right: samples."
    lines = marks.gridlines(scales.launches, _medians_ticks(scales)) + marks.gridlines(scales.tail, _tail_ticks(scales))
    content = marks.defined(grid, lines) + marks.axis(scales.launches, left, 40) + marks.axis(scales.tail, right, 40)
    content += element("text", "launch medians / median", x="0%", y=13, class_="axis-title")
    content += element("text", "samples / median", x=marks.percent(_TAIL_BEGINS), y=13, class_="axis-title")
    return picture(content, *words, height=40, class_="axis")


def _medians_ticks(scales: Scales) -> list[float]:
    return scales.launches.ticks(4)


def _tail_ticks(scales: Scales) -> list[float]:
    return scales.tail.ticks(5)


def track(estimate: MetricEstimate, unit: str, scales: Scales, grid: str) -> Markup:
    """Return launch medians over the interval (left), and the range of samples with its quantiles as ticks (right)."""
    content = marks.used(grid)
    content += _launches(estimate, scales.launches) + _samples(estimate, scales.tail)
    title = f"Median {fmt.quantity(estimate.value, unit, estimate.interval)}"
    return picture(content, title, describe(estimate, unit), height=marks.TRACK_HEIGHT, class_="track")


def _launches(estimate: MetricEstimate, scale: LogScale) -> str:
    interval = _relative(estimate, estimate.interval or ())
    content = marks.bar(scale(interval[0]), scale(interval[1]), "interval spread", 15) if interval else ""
    content += _tick(scale(1.0), 4, 26, "centre") if estimate.value else ""
    dots = "".join(
        element("circle", cx=marks.percent(scale(value)), cy=9 + 6 * (index % _LINES), r=3)
        for index, value in enumerate(_relative(estimate, estimate.launch_values))
    )
    return content + element("g", dots, class_="dot launch")


def _samples(estimate: MetricEstimate, scale: LogScale) -> str:
    ends = _relative(estimate, (estimate.min, estimate.max))
    content = marks.bar(scale(ends[0]), scale(ends[1]), "range", 15) if len(ends) == 2 else ""
    content += "".join(_tick(scale(end), 12, 18, "end") for end in ends)
    quantiles = _relative(estimate, [value for _, value in _quantiles(estimate)])
    content += "".join(_tick(scale(value), 8, 22, "quantile") for value in quantiles)
    return content + (_tick(scale(1.0), 4, 26, "centre") if estimate.value else "")


def _quantiles(estimate: MetricEstimate) -> list[tuple[str, float]]:
    """Return the quantiles above the median that an estimate has, by their name in per cent."""
    found = (("90", estimate.p90), ("99", estimate.p99), ("99.9", estimate.p999))
    return [(name, value) for name, value in found if value is not None]


def _tick(x: float, top: int, bottom: int, class_: str) -> str:
    return element("line", x1=marks.percent(x), x2=marks.percent(x), y1=top, y2=bottom, class_=class_)


def describe(estimate: MetricEstimate, unit: str) -> str:
    """Return the quantiles as text."""
    median = [("50", estimate.p50)] if estimate.p50 is not None else []
    known = [f"{name} %: {fmt.quantity(value, unit)}" for name, value in [*median, *_quantiles(estimate)]]
    return f"{fmt.plural(len(estimate.launch_values), 'launch')}. " + ", ".join(known)
