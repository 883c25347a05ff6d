# SPDX-License-Identifier: Apache-2.0
"""Pairs of a contrast: each launch pair is a line from its a to its b; parallel lines are a stable effect."""

from __future__ import annotations

from markupsafe import Markup

from slowpath.core.results import ContrastResult
from slowpath.report import format as fmt
from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, spanning

WIDTH, HEIGHT = 300, 204
_FRAME = Frame(58, 26, 292, 174)
_LEFT, _RIGHT = 110, 240


def _shorten(words: str, most: int = 20) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def chart(contrast: ContrastResult) -> Markup | None:
    """The picture of a contrast's pairs, seconds on a logarithmic axis; None without pairs."""
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
        content += text(_shorten(words), x, _FRAME.bottom + 20, "middle", "label")
    longer = sum(b > a for a, b in pairs)
    title = f"{fmt.plural(len(pairs), 'pair')}: {sides[0]} and {sides[1]}"
    return picture(content, title, f"{sides[1]} took longer in {longer} of {len(pairs)}.", height=HEIGHT, width=WIDTH)
