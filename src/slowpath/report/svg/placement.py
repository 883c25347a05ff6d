# SPDX-License-Identifier: Apache-2.0
"""Where ranks ran: a box for each node, a square for each processor, filled where a rank was bound or was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.wide import LINE

WIDTH, PAD, HEAD = 344, 12, 26
FEW = 64  # processors of a node: more are drawn smaller
STYLES = ("s1", "s2", "s3", "s4")
DEVICE_HEIGHT = 26


@dataclass(frozen=True, slots=True)
class NodeDrawn:
    """One node. sockets: processors of each.  ranks: processor -> place of its rank in STYLES.  notes: under it.

    allowed: processors that ranks may use without being bound to one.
    """

    name: str
    sockets: tuple[tuple[int, ...], ...]
    ranks: Mapping[int, int]
    allowed: frozenset[int]
    notes: tuple[tuple[str, int | None], ...]  # words, place of the rank in STYLES


def chart(nodes: Sequence[NodeDrawn], device: str | None, link: str | None, title: str) -> Markup:
    """The picture, 344 px wide. device: name of a GPU that the messages lived on.  link: how messages travel."""
    content, y = "", 0
    for place, node in enumerate(nodes):
        if place and link:
            content += _joint(y, link)
            y += LINE + 12
        drawn, height = _node(node, y, device)
        content, y = content + drawn, y + height
    if len(nodes) == 1 and link:
        content += text(link, PAD, y + LINE, None, "tick")
        y += LINE + 4
    words = "; ".join(f"{node.name}: {', '.join(note for note, _ in node.notes)}" for node in nodes)
    return picture(content, title, f"{words}.", height=y + 4, width=WIDTH, class_="placement")


def _joint(y: int, link: str) -> str:
    line = element("line", x1=WIDTH // 2, x2=WIDTH // 2, y1=y, y2=y + LINE + 12, class_="wire")
    return line + text(link, WIDTH // 2 + 8, y + LINE + 2, None, "tick")


def _node(node: NodeDrawn, top: int, device: str | None) -> tuple[str, int]:
    """The node, and how high it is."""
    many = sum(len(socket) for socket in node.sockets) > FEW
    size, gap, across = (7, 3, 32) if many else (14, 6, 16)
    y, content = top + HEAD, text(node.name, PAD, top + 17, None, "label")
    for socket in node.sockets:
        for place, processor in enumerate(socket):
            row, column = divmod(place, across)
            content += element("rect", x=PAD + column * (size + gap), y=y + row * (size + gap), width=size, height=size,
                               rx=2, class_=_class(node, processor))  # fmt: skip
        y += -(-len(socket) // across) * (size + gap) + 6
    if device:
        content += element("rect", x=PAD, y=y, width=WIDTH - 2 * PAD, height=DEVICE_HEIGHT, rx=4, class_="device")
        content += text(device, WIDTH // 2, y + 17, "middle", "label")
        y += DEVICE_HEIGHT + 6
    for note, style in node.notes:
        content += text(note, PAD, y + 12, None, "tick" if style is None else f"curve {STYLES[style % len(STYLES)]}")
        y += LINE
    height = y - top + 6
    return element(
        "rect", x=0.5, y=top + 0.5, width=WIDTH - 1, height=height - 1, rx=8, class_="node"
    ) + content, height


def _class(node: NodeDrawn, processor: int) -> str:
    if processor in node.ranks:
        return f"processor point {STYLES[node.ranks[processor] % len(STYLES)]}"
    return "processor allowed" if processor in node.allowed else "processor"


def ranks_words(count: int) -> str:
    """`16 ranks`."""
    return fmt.plural(count, "rank")
