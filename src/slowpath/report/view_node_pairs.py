# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes as a matrix and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from slowpath.core.results import NodePair, NodePairs, Results
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, heading
from slowpath.report.svg.element import element, picture, text

WIDTH, LEFT, TOP = 520, 84, 70
NUMBERED = 12  # with more nodes a square is too small for its number; the table has it
FULL = 4.0  # the ratio that is drawn darkest


@dataclass(frozen=True, slots=True)
class Square:
    """A pair of nodes. `ratio`: over the other pairs, None if not compared. `slow`: decided to be slower."""

    ratio: float | None
    shown: str
    slow: bool


def matrix(nodes: Sequence[str], squares: Mapping[tuple[str, str], Square], title: str) -> Markup:
    """Return the picture, with both halves of the matrix, because readers look along a row.

    Args: squares: by pair of names, in either order.
    """
    side = (WIDTH - LEFT - 4) / max(1, len(nodes))
    content = ""
    for row, a in enumerate(nodes):
        content += text(a, LEFT - 6, TOP + (row + 0.5) * side + 4, "end", "label")
        content += _column(a, LEFT + (row + 0.5) * side)
        for column, b in enumerate(nodes):
            square = squares.get((a, b)) or squares.get((b, a))
            content += _square(square, LEFT + column * side, TOP + row * side, side, len(nodes) <= NUMBERED)
    slow = [f"{a} and {b}" for (a, b), square in squares.items() if square.slow]
    described = f"{len(nodes)} nodes. Slow: {', '.join(slow) or 'none'}."
    return picture(content, title, described, height=math.ceil(TOP + side * len(nodes) + 6), width=WIDTH)


def _column(name: str, x: float) -> str:
    return element("text", escape(name), x=x, y=TOP - 8, class_="label", transform=f"rotate(-40 {x:.1f} {TOP - 8})")


def _square(square: Square | None, x: float, y: float, side: float, numbered: bool) -> str:
    if square is None:
        return element("rect", x=x + 1, y=y + 1, width=side - 2, height=side - 2, class_="square none")
    shade = 0.0 if square.ratio is None else min(1.0, max(0.0, math.log(square.ratio) / math.log(FULL)))
    made = element("rect", x=x + 1, y=y + 1, width=side - 2, height=side - 2, class_="square base")
    made += element(
        "rect", x=x + 1, y=y + 1, width=side - 2, height=side - 2, class_="square slower" if square.slow else "square",
        fill_opacity=f"{0.75 * shade:.2f}",
    )  # fmt: skip
    if numbered:
        made += text(square.shown, x + side / 2, y + side / 2 + 4, "middle", "label")
    return made


def pair_figures(results: Results) -> list[Figure]:
    """Return a matrix for each entry of the results' `node_pairs`."""
    return [_figure(pair) for pair in results.node_pairs]


def _figure(pairs: NodePairs) -> Figure:
    title = heading(pairs.metric, "over the other pairs") if pairs.metric else "Pairs of nodes: not measured"
    squares = {(pair.a, pair.b): Square(pair.ratio, _shown(pair), pair.verdict == "slower") for pair in pairs.pairs}
    return Figure(title, pairs.label, _table(pairs), picture=matrix(pairs.nodes, squares, f"{title}, {pairs.label}"))


def _shown(pair: NodePair) -> str:
    if pair.ratio is not None:
        return f"{pair.ratio:.3g}×"
    return fmt.time(pair.value_s) if pair.value_s is not None else fmt.MISSING


def _table(pairs: NodePairs) -> FigureTable:
    head = ["Nodes", "Time", "Over the other pairs", "Verdict"]
    rows = []
    for pair in sorted(pairs.pairs, key=lambda pair: -(pair.ratio or 0.0)):
        time = fmt.quantity(pair.value_s, "s", pair.interval) if pair.value_s else fmt.MISSING
        ratio = fmt.ratio(pair.ratio, pair.ratio_interval) if pair.ratio else fmt.MISSING
        within = fmt.ratio_interval(pair.ratio, pair.ratio_interval) if pair.ratio else None
        shown = fmt.with_kind(within, pair.interval_kind) if within else pair.reason
        rows.append([f"{pair.a} and {pair.b}", time, f"{ratio} {shown}", pair.verdict or fmt.MISSING])
    return FigureTable(head, rows)
