# SPDX-License-Identifier: Apache-2.0
"""Contrasts as a forest: each ratio with its interval on one logarithmic axis, the verdict as a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale, spanning


def scale_of(contrasts: Sequence[dict[str, Any]]) -> LogScale:
    """One axis for `contrasts`, with 1 on it."""
    values: list[float | None] = [1.0]
    for contrast in contrasts:
        values += [contrast.get("ratio"), *(contrast.get("interval") or ())]
    return LogScale(*(spanning(values, least=1.6) or (0.8, 1.25)))


def ticks_of(scale: LogScale) -> list[float]:
    """Ratios to mark; always with 1."""
    found = [tick for tick in scale.ticks(7) if abs(scale(tick) - scale(1.0)) > marks.NEAREST]
    return sorted([*found, 1.0])


def axis(scale: LogScale, grid: str) -> Markup:
    """The tick labels over the tracks, and the lines that the tracks use, under the id `grid`."""
    found = ticks_of(scale)
    labels = [(tick, f"{tick:g}×") for tick in found]
    words = "Ratio axis, logarithmic", f"From {scale.low:.3g} to {scale.high:.3g}; above 1 takes longer."
    lines = marks.gridlines(scale, found) + marks.gridlines(scale, [1.0], "one")
    content = marks.defined(grid, lines) + marks.axis(scale, labels, keep=found.index(1.0))
    return picture(content, *words, height=22, class_="axis")


def track(contrast: dict[str, Any], scale: LogScale, grid: str) -> Markup:
    """One contrast: band of no effect, interval, marker of its verdict. Without a ratio, only the axis."""
    ratio, interval = contrast.get("ratio"), contrast.get("interval")
    effect = contrast.get("minimum_effect") or 0.0
    low, high = scale(max(1 - effect, 1e-9)), scale(1 + effect)
    content = element(
        "rect", x=marks.percent(low), width=marks.percent(high - low), y=0, height=marks.TRACK_HEIGHT, class_="band"
    )
    content += marks.used(grid)
    verdict = contrast.get("verdict") or "not measured"
    if interval:
        content += marks.bar(scale(interval[0]), scale(interval[1]), f"interval {verdict}")
    if ratio is not None:
        content += marks.shape(scale(ratio), verdict)
    shown = fmt.ratio(ratio, interval)
    spread = (
        fmt.ratio_interval(ratio, interval) or contrast.get("interval_kind") or contrast.get("reason") or "no interval"
    )
    title = f"{contrast['b']['value']} against {contrast['a']['value']}: {verdict}"
    return picture(content, title, f"Ratio {shown}, {spread}", height=marks.TRACK_HEIGHT, class_="track")
