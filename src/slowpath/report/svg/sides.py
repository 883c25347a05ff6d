# SPDX-License-Identifier: Apache-2.0
"""Rows on one axis of time: the slow and the fast side of a path, a trial, pairs, and times in the kernel.

Each row has a dot for each launch, and the median with its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from slowpath.core.results import ContrastResult
from slowpath.report import format as fmt
from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.marks import percent
from slowpath.report.svg.plot import LINE, Frame, Wide
from slowpath.report.svg.scale import LinearScale, LogScale, spanning

ROW, TOP, FOOT = 50, 4, 42
LONGEST = 46  # characters of a row's name: as many as a box of 320 px holds
MOST_DOTS = 40  # of a row: more are thinned to evenly spaced ranks
NEAREST = 1.2  # percent: dots that are closer stand on another line
_LIFTS = (0, -5, 5, -9, 9)

Kind = Literal["slow", "remedy", "fast"]


@dataclass(frozen=True, slots=True)
class SideTimes:
    """A row. `values_s`: values of launches; `value_s`: their centre, with its interval."""

    label: str
    kind: Kind
    values_s: tuple[float, ...]
    value_s: float
    interval: tuple[float, float] | None


def chart(sides: Sequence[SideTimes], axis_title: str, title: str) -> Markup | None:
    """Return the picture, or None without times above zero."""
    values = [v for side in sides for v in (side.value_s, *side.values_s, *(side.interval or ()))]
    ends = spanning(values, least=1.6, margin=1.06)
    if ends is None:
        return None
    frame = Wide(3.0, 97.0, TOP + LINE + 2, TOP + ROW * len(sides))
    scale = LogScale(*ends, frame.left, frame.right)
    content = frame.uprights([(scale(tick), short_time(tick)) for tick in scale.ticks(6)])
    content += "".join(_row(side, TOP + ROW * place, scale) for place, side in enumerate(sides))
    content += frame.titles(axis_title, "")
    words = "; ".join(f"{side.label}: {fmt.time(side.value_s, side.interval)}" for side in sides)
    height = TOP + ROW * len(sides) + FOOT
    return picture(content, title, f"{words}. A dot is a launch.", height=height, class_="sides-picture")


def _row(side: SideTimes, top: int, scale: LogScale) -> str:
    """Draw the name above dots, interval and median, with the median's value next to them."""
    middle = top + 34
    value = fmt.time(side.value_s, side.interval)
    room = LONGEST - len(value) - 2
    label = side.label if len(side.label) <= room else side.label[: room - 1] + "…"
    content = text(label, percent(0), top + 13, None, f"label side-{side.kind}")
    content += text(value, "100%", top + 13, "end", f"label value side-{side.kind}")
    if side.interval:
        low, high = (scale(end) for end in side.interval)
        content += element("rect", x=percent(low), width=percent(max(0.3, high - low)), y=middle - 11, height=22, rx=3,
                           class_=f"reach side-{side.kind}")  # fmt: skip
    content += _dots(side, middle, scale)
    at = percent(scale(side.value_s))
    return content + element("line", x1=at, x2=at, y1=middle - 12, y2=middle + 12, class_=f"median side-{side.kind}")


def _dots(side: SideTimes, middle: int, scale: LogScale) -> str:
    """Draw dots, lifting those that would cover each other."""
    values = sorted(side.values_s)
    if len(values) > MOST_DOTS:
        values = [values[round(place * (len(values) - 1) / (MOST_DOTS - 1))] for place in range(MOST_DOTS)]
    content, last, lift = "", -100.0, 0
    for value in values:
        x = scale(value)
        lift = (lift + 1) % len(_LIFTS) if x - last < NEAREST else 0
        last = x
        content += element(
            "circle", cx=percent(x), cy=middle + _LIFTS[lift], r=3.2, class_=f"launch-dot side-{side.kind}"
        )
    return content


WITNESS_ROW, WITNESS_TOP, WITNESS_FOOT, BAR = 46, 2, 42, 16


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A rank of one side.

    Args: wall_s: time of an operation. system_s: part of it in the kernel. note: other counts.
    """

    label: str
    kind: str
    wall_s: float
    system_s: float
    note: str


def witness_chart(seen: Sequence[KernelTime], axis_title: str, title: str) -> Markup | None:
    """Return the picture of times in the kernel, or None if nothing took time."""
    longest = max((max(kernel_time.wall_s, kernel_time.system_s) for kernel_time in seen), default=0.0)
    if longest <= 0:
        return None
    frame = Wide(0.0, 100.0, WITNESS_TOP + LINE + 4, WITNESS_TOP + WITNESS_ROW * len(seen))
    scale = LinearScale(0.0, 1.04 * longest, frame.left + 1, frame.right - 5)
    ticks = [(scale(tick), short_time(tick) if tick else "0") for tick in scale.ticks(5)]
    content = frame.uprights(ticks)
    content += "".join(
        _witness_row(drawn_time, WITNESS_TOP + WITNESS_ROW * place, scale) for place, drawn_time in enumerate(seen)
    )
    content += frame.titles(axis_title, "")
    words = "; ".join(
        f"{kernel_time.label}: {fmt.time(kernel_time.system_s)} of {fmt.time(kernel_time.wall_s)} in the kernel"
        for kernel_time in seen
    )
    height = WITNESS_TOP + WITNESS_ROW * len(seen) + WITNESS_FOOT
    return picture(content, title, f"{words}.", height=height, class_="witness-picture")


def _witness_row(kernel_time: KernelTime, top: int, scale: LinearScale) -> str:
    y, start = top + 20, scale(0.0)
    content = text(kernel_time.label, 0, top + 14, None, f"label side-{kernel_time.kind}") + text(
        kernel_time.note, "100%", top + 14, "end", "label"
    )
    for seconds, name in ((kernel_time.wall_s, "wall"), (kernel_time.system_s, "kernel")):
        width = percent(max(0.3, scale(seconds) - start))
        content += element(
            "rect", x=percent(start), y=y, width=width, height=BAR, class_=f"{name} side-{kernel_time.kind}"
        )
    return content


WIDTH, HEIGHT = 300, 204
_FRAME = Frame(58, 26, 292, 174)
_LEFT, _RIGHT = 110, 240
MOST_WORDS = 20  # letters under a side


def pairs_chart(contrast: ContrastResult) -> Markup | None:
    """Return the pairs of a contrast in seconds on a logarithmic axis, or None without pairs."""
    pairs = contrast.pairs
    ends = spanning((value for pair in pairs for value in pair), least=1.15)
    if ends is None:
        return None
    scale = LogScale(*ends, _FRAME.bottom, _FRAME.top)
    content = _FRAME.y_axis(scale, short_time, 5) + _FRAME.titles("", fmt.metric_name(contrast.metric))
    lines = "".join(f"M{_LEFT} {number(scale(a))}L{_RIGHT} {number(scale(b))}" for a, b in pairs)
    content += element("path", d=lines, class_=f"pair {contrast.verdict or 'undecided'}")
    for x, side, class_ in ((_LEFT, 0, "a"), (_RIGHT, 1, "b")):
        d = "".join(f"M{x} {number(scale(pair[side]))}h0" for pair in pairs)  # round caps: a dot in 10 characters
        content += element("path", d=d, class_=f"dots {class_}")
    sides = (contrast.a.value, contrast.b.value)
    for x, words in zip((_LEFT, _RIGHT), sides, strict=True):
        content += text(fmt.shortened(words, MOST_WORDS), x, _FRAME.bottom + 20, "middle", "label")
    longer = sum(b > a for a, b in pairs)
    title = f"{fmt.plural(len(pairs), 'pair')}: {sides[0]} and {sides[1]}"
    return picture(content, title, f"{sides[1]} took longer in {longer} of {len(pairs)}.", height=HEIGHT, width=WIDTH)
