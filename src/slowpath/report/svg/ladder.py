# SPDX-License-Identifier: Apache-2.0
"""A ladder: each row begins where the row above ends. Vertical lines are levels of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.scale_linear import LinearScale
from slowpath.report.svg.size_curves import STYLES


@dataclass(frozen=True, slots=True)
class LadderLevel:
    """The level of another design: its name and its series' colour."""

    name: str
    value: float
    series: int


@dataclass(frozen=True, slots=True)
class LadderStep:
    """A series in a row: from the level of the row above to its own."""

    series: int
    before: float
    after: float


def scale_of(steps: Sequence[LadderStep], levels: Sequence[LadderLevel]) -> LinearScale:
    """Return an axis from 0 to a little beyond the highest value."""
    highest = max([*(step.after for step in steps), *(level.value for level in levels)], default=1.0)
    return LinearScale(0.0, highest * 1.04 or 1.0)


def _level_lines(scale: LinearScale, levels: Sequence[LadderLevel]) -> str:
    return "".join(_level_line(level, scale, 0, marks.TRACK_HEIGHT) for level in levels)


def _level_line(level: LadderLevel, scale: LinearScale, top: int, bottom: int) -> str:
    x = marks.percent(scale(level.value))
    return element("line", x1=x, x2=x, y1=top, y2=bottom, class_=f"level {STYLES[level.series % len(STYLES)]}")


def axis(
    scale: LinearScale, grid: str, levels: Sequence[LadderLevel], label: Callable[[float], str], title: str
) -> Markup:
    """Return names of the levels over the tick labels, and the lines that the tracks use, under the id `grid`."""
    height = marks.AXIS_HEIGHT + 16 * len(levels)
    lines, labels = marks.linear_ticks(scale, label, height - 7)
    content = marks.defined(grid, lines + _level_lines(scale, levels)) + marks.axis_title(title)
    for place, level in enumerate(levels):
        x, style = scale(level.value), STYLES[level.series % len(STYLES)]
        left = x > 50
        content += text(level.name, marks.percent(x - 1 if left else x + 1), 28 + 16 * place, "end" if left else None,
                        f"curve {style}")  # fmt: skip
        content += _level_line(level, scale, 18 + 16 * place, height)
    content += labels
    names = ", ".join(f"{level.name} at {label(level.value)}" for level in levels) or "no library"
    return picture(content, title, f"Linear, from 0 to {label(scale.high)}. {names}.", height=height, class_="axis")


def track(steps: Sequence[LadderStep], scale: LinearScale, grid: str, words: str) -> Markup:
    """Return a rung with a thin bar for each series. A rung that makes things faster goes back and is hollow."""
    height = min(12, (marks.TRACK_HEIGHT - 6) // max(1, len(steps)))
    top = (marks.TRACK_HEIGHT - height * len(steps)) // 2
    content = marks.used(grid)
    for place, step in enumerate(steps):
        low, high = sorted((scale(step.before), scale(step.after)))
        style = f"point {STYLES[step.series % len(STYLES)]}" + (" beyond" if step.after < step.before else "")
        y = top + place * height
        content += element("rect", x=marks.percent(low), width=marks.percent(max(high - low, 0.3)), y=y + 1,
                           height=max(3, height - 2), class_=style)  # fmt: skip
    return picture(content, words, "From the rung above to this one.", height=marks.TRACK_HEIGHT, class_="track")
