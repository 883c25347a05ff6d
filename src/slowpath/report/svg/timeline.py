# SPDX-License-Identifier: Apache-2.0
"""Timelines: a row for each rank with its parts in colour, and a line from a late rank to the rank that waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.scale import LinearScale

ROW, GAP, TOP, BOTTOM = 18, 5, 20, 40
X_TITLE, Y_TITLE = "time since the first rank began", "rank"
FINEST = 0.1  # percent of the width: what one pixel shows


@dataclass(frozen=True, slots=True)
class TimelinePiece:
    """An interval of a rank's row. `class_` is the class of its part."""

    row: int
    class_: str
    step: int
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Link:
    """A wait: row `late` arrived at `at_s`, for which row `waiting` had waited."""

    late: int
    waiting: int
    at_s: float


def chart(labels: Sequence[str], pieces: Sequence[TimelinePiece], links: Sequence[Link], begin_s: float, end_s: float,
          title: str, description: str) -> Markup:  # fmt: skip
    """Return the picture.  Args: labels: labels of the rows, from the top."""
    scale = LinearScale(begin_s, end_s if end_s > begin_s else begin_s + 1e-9, 5.0, 99.5)
    height = TOP + (ROW + GAP) * len(labels) + BOTTOM
    content = "".join(text(label, "4%", _top(row) + 13, "end", "label") for row, label in enumerate(labels))
    for place, tick in enumerate(scale.ticks(6)):
        x = marks.percent(scale(tick))
        content += element("line", x1=x, x2=x, y1=TOP - 4, y2=height - BOTTOM, class_="grid")
        anchor = "end" if scale(tick) > 94 else "middle"
        words = short_time(tick) if tick > 0 else "0" if tick == 0 else f"−{short_time(-tick)}"
        content += text(words, x, height - 24, anchor, "tick odd" if place % 2 else "tick")
    content += "".join(_rect(piece, scale) for piece in _merged(pieces, scale))
    content += "".join(_link(link, scale) for link in links)
    content += text(Y_TITLE, "4%", 12, "end", "axis-title") + text(X_TITLE, "52%", height - 6, "middle", "axis-title")
    return picture(content, title, description, height=height, class_="timeline")


def _top(row: int) -> int:
    return TOP + row * (ROW + GAP)


def _merged(pieces: Sequence[TimelinePiece], scale: LinearScale) -> list[TimelinePiece]:
    """Merge neighbours of one part and step with an invisible gap, which keeps the page small."""
    kept: list[TimelinePiece] = []
    for piece in sorted(pieces, key=lambda piece: (piece.row, piece.begin_s)):
        last = kept[-1] if kept else None
        if (
            last
            and (last.row, last.class_, last.step) == (piece.row, piece.class_, piece.step)
            and (scale(piece.begin_s) - scale(last.end_s) < FINEST)
        ):
            kept[-1] = TimelinePiece(last.row, last.class_, last.step, last.begin_s, max(last.end_s, piece.end_s))
        else:
            kept.append(piece)
    return kept


def _rect(piece: TimelinePiece, scale: LinearScale) -> str:
    low, high = scale(piece.begin_s), scale(piece.end_s)
    return element("rect", x=marks.percent(low), width=marks.percent(max(FINEST, high - low)), y=_top(piece.row),
                   height=ROW, class_=piece.class_)  # fmt: skip


def _link(link: Link, scale: LinearScale) -> str:
    x, down = marks.percent(scale(link.at_s)), link.waiting > link.late
    start = _top(link.late) + (ROW if down else 0)
    end = _top(link.waiting) + (0 if down else ROW)
    line = element("line", x1=x, x2=x, y1=start, y2=end, class_="waits")
    return line + element("circle", cx=x, cy=end, r=3, class_="waits-end")
