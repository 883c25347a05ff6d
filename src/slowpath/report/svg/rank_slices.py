# SPDX-License-Identifier: Apache-2.0
"""Ranks over time: a row for each rank, filled from below with shares of its time, hatched where nothing was kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.scale_linear import LinearScale

LEFT, RIGHT, TOP, BOTTOM, GAP = 6.0, 99.5, 20, 40, 2
ROWS = ((4, 44), (8, 28), (16, 20), (32, 14), (64, 9))  # up to so many rows: pixels of one
LABEL = 14  # pixels between two labels
WIDE = 1000  # units of a row's own box; a row is 100 units high
HATCH = "unkept"


@dataclass(frozen=True, slots=True)
class Piece:
    """A time range of a rank. `shares` from below; the rest is the row's ground. None: no events were kept."""

    start_s: float
    end_s: float
    shares: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class RankRow:
    """A rank. `pieces` are ordered by time and don't overlap."""

    label: str
    pieces: Sequence[Piece]


def chart(rows: Sequence[RankRow], classes: Sequence[str], ground: str, end_s: float, title: str,
          description: str, what: str = "rank", left: float = LEFT) -> Markup:  # fmt: skip
    """Return the picture.

    Args: classes: classes of the shares, from below. ground: class of the rest.  what: a row is; other pictures of the
          page have other words.  left: percent of the width, for the rows' labels.
    """
    scale = LinearScale(0.0, end_s if end_s > 0 else 1e-9, left, RIGHT)
    hatch = HATCH if what == "rank" else f"{HATCH}-{what}"
    high = next((pixels for most, pixels in ROWS if len(rows) <= most), ROWS[-1][1])
    height = TOP + (high + GAP) * len(rows) + BOTTOM
    content = _hatch(hatch) + _axis(scale, height)
    every = max(1, -(-LABEL // (high + GAP)))
    for place, row in enumerate(rows):
        y = TOP + place * (high + GAP)
        if place % every == 0:
            content += text(row.label, marks.percent(left - 1), y + (high + 9) / 2, "end", "label")
        content += _row(row, classes, ground, scale, y, high) + _unkept(row, scale, y, high, hatch)
    content += text(what, marks.percent(left - 1), 12, "end", "axis-title")
    content += text("time since the first MPI_Init", "52%", height - 6, "middle", "axis-title")
    return picture(content, title, description, height=height, class_="slices")


def _hatch(name: str) -> str:
    stroke = element("path", d="M0 6L6 0M-1.5 1.5L1.5-1.5M4.5 7.5L7.5 4.5", class_="hatch")
    return element("defs", element("pattern", stroke, id=name, width=6, height=6, patternUnits="userSpaceOnUse"))


def _axis(scale: LinearScale, height: int) -> str:
    content = ""
    for place, tick in enumerate(scale.ticks(6)):
        x = marks.percent(scale(tick))
        content += element("line", x1=x, x2=x, y1=TOP - 4, y2=height - BOTTOM, class_="grid")
        anchor = "end" if scale(tick) > 94 else "middle"
        content += text(short_time(tick) if tick else "0", x, height - 24, anchor, "tick odd" if place % 2 else "tick")
    return content


def _row(row: RankRow, classes: Sequence[str], ground: str, scale: LinearScale, y: int, high: int) -> str:
    """Draw each share down to the row's foot, the highest first, so that lower ones cover it."""
    end_s, left = scale.high, scale(0.0)
    kept = [(round(WIDE * piece.start_s / end_s), round(WIDE * piece.end_s / end_s), piece.shares)
            for piece in row.pieces if piece.shares is not None]  # fmt: skip
    layers = [(ground, _path(kept, lambda _: 1.0))]
    layers += [(classes[top - 1], _path(kept, lambda shares, top=top: sum(shares[:top])))  # type: ignore[misc]
               for top in range(len(classes), 0, -1)]  # fmt: skip
    content = "".join(element("path", d=d, class_=class_) for class_, d in layers if d)
    if not content:
        return ""
    return element("svg", content, x=marks.percent(left), width=marks.percent(RIGHT - left), y=y, height=high,
                   viewBox=f"0 0 {WIDE} 100", preserveAspectRatio="none")  # fmt: skip


def _path(kept: Sequence[tuple[int, int, tuple[float, ...]]], height: Callable[[tuple[float, ...]], float]) -> str:
    steps = [(start, end, 100 - round(100 * min(1.0, height(shares)))) for start, end, shares in kept if end > start]
    return "".join(_outline(run) for run in _runs(steps) if any(y < 100 for _, _, y in run))


def _runs(steps: Sequence[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Return runs of steps that touch each other."""
    run: list[tuple[int, int, int]] = []
    for step in steps:
        if run and step[0] != run[-1][1]:
            yield run
            run = []
        run.append(step)
    if run:
        yield run


def _outline(run: Sequence[tuple[int, int, int]]) -> str:
    parts, last = [f"M{run[0][0]} 100"], 100
    for place, (_, end, y) in enumerate(run):
        if y != last:
            parts.append(f"V{y}")
            last = y
        if place + 1 == len(run) or run[place + 1][2] != y:
            parts.append(f"H{end}")
    return "".join([*parts, "V100z"])


def _unkept(row: RankRow, scale: LinearScale, y: int, high: int, hatch: str) -> str:
    content, lost = "", [piece for piece in row.pieces if piece.shares is None]
    begin = end = None
    for piece in [*lost, None]:
        if piece is not None and end is not None and abs(piece.start_s - end) < 1e-9:
            end = piece.end_s
            continue
        if begin is not None and end is not None:
            low, top = scale(begin), scale(end)
            content += element("rect", x=marks.percent(low), width=marks.percent(top - low), y=y, height=high,
                               fill=f"url(#{hatch})", class_="unkept")  # fmt: skip
        begin, end = (piece.start_s, piece.end_s) if piece is not None else (None, None)
    return content
