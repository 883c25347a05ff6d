# SPDX-License-Identifier: Apache-2.0
"""A picture of the environment as recorded: nodes, processors, places of the ranks, GPU and interconnect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from slowpath.core.cpu_list import parse_cpu_list
from slowpath.core.results import PlacementResult, RankPlace, Results, RunResult
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.plot import LINE

WIDTH, PAD, HEAD = 344, 12, 26
FEW = 64  # processors of a node: more are drawn smaller
STYLES = ("s1", "s2", "s3", "s4")
DEVICE_HEIGHT = 26


@dataclass(frozen=True, slots=True)
class NodeDrawn:
    """A node in the picture.

    Args: sockets: processors of each socket. ranks: index into STYLES of the rank on a processor. notes: lines under
          it. allowed: processors that ranks may use without being bound to one.
    """

    name: str
    sockets: tuple[tuple[int, ...], ...]
    ranks: Mapping[int, int]
    allowed: frozenset[int]
    notes: tuple[tuple[str, int | None], ...]  # words, place of the rank in STYLES


def chart(nodes: Sequence[NodeDrawn], device: str | None, link: str | None, title: str) -> Markup:
    """Return the picture, 344 px wide.

    Args: device: name of the GPU whose memory messages used. link: how messages travel.
    """
    content, y = "", 0
    for place, node in enumerate(nodes):
        if place and link:
            content += _joint(y, link)
            y += LINE + 12
        drawn, height = _node_mark(node, y, device)
        content, y = content + drawn, y + height
    if len(nodes) == 1 and link:
        content += text(link, PAD, y + LINE, None, "tick")
        y += LINE + 4
    words = "; ".join(f"{node.name}: {', '.join(note for note, _ in node.notes)}" for node in nodes)
    return picture(content, title, f"{words}.", height=y + 4, width=WIDTH, class_="placement")


def _joint(y: int, link: str) -> str:
    line = element("line", x1=WIDTH // 2, x2=WIDTH // 2, y1=y, y2=y + LINE + 12, class_="wire")
    return line + text(link, WIDTH // 2 + 8, y + LINE + 2, None, "tick")


def _node_mark(node: NodeDrawn, top: int, device: str | None) -> tuple[str, int]:
    """Return the node and its height."""
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
    """Return the number of ranks, such as `16 ranks`."""
    return fmt.plural(count, "rank")


MOST_NODES = 4
MOST_NAMED = 4  # ranks that are named one by one
MOST_PROCESSORS = 1024
_UNASKED = {
    "none": "bound to nothing",
    "inherited": "as the launcher has it, on inherited processors",
    "widened": "as the launcher has it, on all processors",
}
LONGEST = 44  # characters of a node's heading


def places(results: Results) -> list[Figure]:
    """Return a figure for each placement whose launches reported where their ranks ran."""
    return [_figure(placement, results) for placement in results.run.placements if placement.observed]


def _figure(placement: PlacementResult, results: Results) -> Figure:
    run, hosts = results.run, dict.fromkeys(rank.host for rank in placement.observed)
    shown = list(hosts)[:MOST_NODES]
    nodes = [_node(host, [rank for rank in placement.observed if rank.host == host], run) for host in shown]
    title = f"Placement {placement.name}"
    words = [_UNASKED.get(placement.bind) or f"each rank bound to a {placement.bind}"]
    words += [f"{len(hosts) - len(shown)} more nodes like these"] if len(hosts) > len(shown) else []
    table = FigureTable(
        ["Rank", "Node", "Processors allowed", "Seen on"],
        [[str(rank.rank), rank.host, rank.cpus_allowed or _NONE, _NONE if rank.cpu is None else str(rank.cpu)]
         for rank in placement.observed],
    )  # fmt: skip
    picture = chart(nodes, _device(results), _link(run), title)
    return Figure(title, "; ".join(words), table, picture=picture)


_NONE = f"{fmt.MISSING} not reported"


def _node(host: str, ranks: Sequence[RankPlace], run: RunResult) -> NodeDrawn:
    allowed = {rank.rank: _processors(rank.cpus_allowed) for rank in ranks}
    bound = all(len(found) == 1 for found in allowed.values())
    at = {place: (min(allowed[placed.rank]) if bound else placed.cpu) for place, placed in enumerate(ranks)}
    filled = {
        processor: place if len(ranks) <= MOST_NAMED else 0 for place, processor in at.items() if processor is not None
    }
    free = frozenset[int]() if bound else frozenset().union(*allowed.values())
    return NodeDrawn(_heading(host, run), _sockets(run, [*filled, *free]), filled, free, _notes(ranks, allowed, bound))


def _heading(host: str, run: RunResult) -> str:
    """Return the node's heading, such as `n003: AMD EPYC 7763, 128 processors`."""
    named = run.machine.get("processor") if host == run.machine.get("host") else None
    words = f"{host}: {named}" if named else host
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _notes(ranks: Sequence[RankPlace], allowed: Mapping[int, frozenset[int]], bound: bool
           ) -> tuple[tuple[str, int | None], ...]:  # fmt: skip
    if len(ranks) > MOST_NAMED:
        each = "one processor each" if bound else "seen on these processors"
        return ((f"{ranks_words(len(ranks))}, {each}", 0),)
    if bound:
        return tuple(
            (f"rank {rank.rank}: processor {min(allowed[rank.rank])}", place) for place, rank in enumerate(ranks)
        )
    return tuple((f"rank {rank.rank}: {_free(rank, allowed[rank.rank])}", place) for place, rank in enumerate(ranks))


def _free(rank: RankPlace, allowed: frozenset[int]) -> str:
    seen = f", seen on {rank.cpu}" if rank.cpu is not None else ""
    return (f"any of {len(allowed)} processors" if allowed else "processors not reported") + seen


def _processors(text: str | None) -> frozenset[int]:
    return frozenset(parse_cpu_list(text)) if text else frozenset()


def _sockets(run: RunResult, used: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return processors by socket as recorded, else all in one socket, else those that ranks used."""
    groups: dict[str, Any] = run.machine.get("processor_groups") or {}
    sockets = [sorted(_processors(text)) for text in groups.get("socket") or []]
    if not sockets:
        count = run.machine.get("processors")
        sockets = [list(range(count))] if isinstance(count, int) and count > 0 else [sorted(set(used))]
    known = {processor for socket in sockets for processor in socket}
    sockets += [rest] if (rest := sorted(set(used) - known)) else []
    return tuple(tuple(socket[:MOST_PROCESSORS]) for socket in sockets)


def _device(results: Results) -> str | None:
    """Return the GPU if the run moved its memory."""
    used = any("device" in cell.parameters.get("memory", "") for cell in results.cells if cell.metrics)
    if not used:
        return None
    found = results.run.machine.get("gpus")
    names = [str(item.get("name", item)) if isinstance(item, dict) else str(item) for item in found or []]
    return ", ".join(dict.fromkeys(names)) or "GPU memory"


def _link(run: RunResult) -> str | None:
    """Return the library and the transport that it reports."""
    used = [mpi for mpi in run.mpis if not mpi.unavailable]
    names = [" ".join(filter(None, (mpi.name, mpi.version, f"over {mpi.transport}" if mpi.transport else None)))
             for mpi in used]  # fmt: skip
    return "; ".join(filter(None, names)) or None
