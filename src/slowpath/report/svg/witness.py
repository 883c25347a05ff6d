# SPDX-License-Identifier: Apache-2.0
"""A witness: the time of an operation on either side, how much of it the kernel took, and how many pages it mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.marks import percent
from slowpath.report.svg.scale_linear import LinearScale
from slowpath.report.svg.wide import LINE, Wide

ROW, TOP, FOOT, BAR = 46, 2, 42, 16


@dataclass(frozen=True, slots=True)
class Seen:
    """One rank of one side. wall_s: of an operation.  system_s: of it in the kernel.  note: what else was counted."""

    label: str
    kind: str
    wall_s: float
    system_s: float
    note: str


def chart(seen: Sequence[Seen], axis_title: str, title: str) -> Markup | None:
    """The picture, as wide as its box; None where nothing took time."""
    longest = max((max(one.wall_s, one.system_s) for one in seen), default=0.0)
    if longest <= 0:
        return None
    frame = Wide(0.0, 100.0, TOP + LINE + 4, TOP + ROW * len(seen))
    scale = LinearScale(0.0, 1.04 * longest, frame.left + 1, frame.right - 5)
    ticks = [(scale(tick), short_time(tick) if tick else "0") for tick in scale.ticks(5)]
    content = frame.uprights(ticks)
    content += "".join(_row(one, TOP + ROW * place, scale) for place, one in enumerate(seen))
    content += frame.titles(axis_title, "")
    words = "; ".join(f"{one.label}: {fmt.time(one.system_s)} of {fmt.time(one.wall_s)} in the kernel" for one in seen)
    height = TOP + ROW * len(seen) + FOOT
    return picture(content, title, f"{words}.", height=height, class_="witness-picture")


def _row(one: Seen, top: int, scale: LinearScale) -> str:
    y, start = top + 20, scale(0.0)
    content = text(one.label, 0, top + 14, None, f"label side-{one.kind}") + text(
        one.note, "100%", top + 14, "end", "label"
    )
    for seconds, name in ((one.wall_s, "wall"), (one.system_s, "kernel")):
        width = percent(max(0.3, scale(seconds) - start))
        content += element("rect", x=percent(start), y=y, width=width, height=BAR, class_=f"{name} side-{one.kind}")
    return content
