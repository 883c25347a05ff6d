# SPDX-License-Identifier: Apache-2.0
"""A matrix of ranks: a square for each pair, darker with more bytes. Many ranks share a square."""

from __future__ import annotations

import math
from collections.abc import Mapping

from markupsafe import Markup

from slowpath.report.svg.element import element, picture, text

WIDTH, LEFT, TOP = 344, 40, 44
MOST = 32  # squares along a side
LABELS = 8  # along a side
LIGHTEST = 0.12  # of the pair with the least bytes
LEAST_SPAN = 100.0  # from the lightest to the darkest, so that almost equal pairs look almost equal


def bin_of(ranks: int) -> int:
    """Return how many ranks share a row."""
    return max(1, math.ceil(ranks / MOST))


def chart(ranks: int, cells: Mapping[tuple[int, int], int], title: str, described: str) -> Markup:
    """Return the picture, with senders on the left.

    Args: cells: bytes by row and column, each of `bin_of(ranks)` ranks.
    """
    each = bin_of(ranks)
    side_count = math.ceil(ranks / each)
    side = (WIDTH - LEFT - 4) / max(1, side_count)
    most, least = max(cells.values(), default=1), max(1, min(cells.values(), default=1))
    span = math.log(max(LEAST_SPAN, most / least))
    content = element("rect", x=LEFT, y=TOP, width=side * side_count, height=side * side_count, class_="square base")
    for (row, column), sent in sorted(cells.items()):
        shade = 1.0 - (1 - LIGHTEST) * math.log(most / max(1, sent)) / span
        content += element("rect", x=LEFT + column * side + 0.5, y=TOP + row * side + 0.5, width=max(1.0, side - 1),
                           height=max(1.0, side - 1), class_="sent", fill_opacity=f"{shade:.2f}")  # fmt: skip
    for place in range(0, side_count, math.ceil(side_count / LABELS)):
        at = (place + 0.5) * side
        content += text(str(place * each), LEFT - 6, TOP + at + 4, "end", "label")
        content += text(str(place * each), LEFT + at, TOP - 6, "middle", "label")
    content += text("from rank (left)", 0, 14, None, "axis-title")
    content += text("to rank", WIDTH - 4, 14, "end", "axis-title")
    return picture(content, title, described, height=math.ceil(TOP + side * side_count + 6), width=WIDTH)
