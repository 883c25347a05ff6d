# SPDX-License-Identifier: Apache-2.0
"""Contrasts as a forest: each ratio with its interval on a logarithmic axis, with the verdict as a shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.result import Interval
from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale, spanning


@dataclass(frozen=True, slots=True)
class DrawnRatio:
    """A ratio to draw.

    Args: minimum_effect: half-width of the band around 1, such as 0.03. no_interval: why there is no interval.
    """

    title: str
    ratio: float | None
    interval: Interval | None
    verdict: str
    minimum_effect: float
    no_interval: str = "no interval"


def scale_of(ratios: Sequence[DrawnRatio]) -> LogScale:
    """Return an axis for `ratios` that includes 1."""
    values: list[float | None] = [1.0]
    for ratio in ratios:
        values += [ratio.ratio, *(ratio.interval or ())]
    return LogScale(*(spanning(values, least=1.6) or (0.8, 1.25)))


def ticks_of(scale: LogScale) -> list[float]:
    """Return the ratios to mark, including 1."""
    found = [tick for tick in scale.ticks(7) if abs(scale(tick) - scale(1.0)) > marks.NEAREST]
    return sorted([*found, 1.0])


def axis(scale: LogScale, grid: str) -> Markup:
    """Return tick labels, and the lines that the tracks use, under the id `grid`."""
    found = ticks_of(scale)
    labels = [(tick, f"{tick:g}×") for tick in found]
    words = "Ratio axis, logarithmic", f"From {scale.low:.3g} to {scale.high:.3g}; above 1 takes longer."
    lines = marks.gridlines(scale, found) + marks.gridlines(scale, [1.0], "one")
    content = marks.defined(grid, lines) + marks.axis(scale, labels, keep=found.index(1.0))
    content += marks.axis_title("time of the first named over that of the other")
    return picture(content, *words, height=marks.AXIS_HEIGHT, class_="axis")


def track(ratio: DrawnRatio, scale: LogScale, grid: str) -> Markup:
    """Return a ratio with the band of no effect, its interval and its verdict's marker."""
    low, high = scale(max(1 - ratio.minimum_effect, 1e-9)), scale(1 + ratio.minimum_effect)
    content = element(
        "rect", x=marks.percent(low), width=marks.percent(high - low), y=0, height=marks.TRACK_HEIGHT, class_="band"
    )
    content += marks.used(grid)
    if ratio.interval:
        content += marks.bar(scale(ratio.interval[0]), scale(ratio.interval[1]), f"interval {ratio.verdict}")
    if ratio.ratio is not None:
        content += marks.shape(scale(ratio.ratio), ratio.verdict)
    words = f"Ratio {fmt.ratio(ratio.ratio, ratio.interval)}, "
    words += fmt.ratio_interval(ratio.ratio, ratio.interval) or ratio.no_interval
    return picture(content, f"{ratio.title}: {ratio.verdict}", words, height=marks.TRACK_HEIGHT, class_="track")
