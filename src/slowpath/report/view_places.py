# SPDX-License-Identifier: Apache-2.0
"""The environment drawn: nodes, processors, where the ranks ran, the GPU and what carries messages. Nothing is guessed:
what the record does not hold is not drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.core.cpu_list import parse_cpu_list
from slowpath.core.results import PlacementResult, RankPlace, Results, RunResult
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Table
from slowpath.report.svg import placement as drawn
from slowpath.report.svg.placement import NodeDrawn

MOST_NODES = 4
MOST_NAMED = 4  # ranks that are named one by one
MOST_PROCESSORS = 1024
LONGEST = 44  # characters of a node's heading


def places(results: Results) -> list[Figure]:
    """A figure for each placement of which a launch reported where its ranks were."""
    return [_figure(one, results) for one in results.run.placements if one.observed]


def _figure(placement: PlacementResult, results: Results) -> Figure:
    run, hosts = results.run, dict.fromkeys(one.host for one in placement.observed)
    shown = list(hosts)[:MOST_NODES]
    nodes = [_node(host, [one for one in placement.observed if one.host == host], run) for host in shown]
    title = f"Placement {placement.name}"
    words = ["bound to nothing" if placement.bind == "none" else f"each rank bound to a {placement.bind}"]
    words += [f"{len(hosts) - len(shown)} more nodes like these"] if len(hosts) > len(shown) else []
    table = Table(
        ["Rank", "Node", "Processors allowed", "Seen on"],
        [[str(one.rank), one.host, one.cpus_allowed or _NONE, _NONE if one.cpu is None else str(one.cpu)]
         for one in placement.observed],
    )  # fmt: skip
    picture = drawn.chart(nodes, _device(results), _link(run), title)
    return Figure(title, "; ".join(words), table, picture=picture)


_NONE = f"{fmt.MISSING} not reported"


def _node(host: str, ranks: Sequence[RankPlace], run: RunResult) -> NodeDrawn:
    allowed = {one.rank: _processors(one.cpus_allowed) for one in ranks}
    bound = all(len(found) == 1 for found in allowed.values())
    at = {place: (min(allowed[one.rank]) if bound else one.cpu) for place, one in enumerate(ranks)}
    filled = {
        processor: place if len(ranks) <= MOST_NAMED else 0 for place, processor in at.items() if processor is not None
    }
    free = frozenset[int]() if bound else frozenset().union(*allowed.values())
    return NodeDrawn(_heading(host, run), _sockets(run, [*filled, *free]), filled, free, _notes(ranks, allowed, bound))


def _heading(host: str, run: RunResult) -> str:
    """`n003: AMD EPYC 7763, 128 processors`; the processor is that of the machine that started the run."""
    named = run.machine.get("processor") if host == run.machine.get("host") else None
    words = f"{host}: {named}" if named else host
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _notes(ranks: Sequence[RankPlace], allowed: Mapping[int, frozenset[int]], bound: bool
           ) -> tuple[tuple[str, int | None], ...]:  # fmt: skip
    if len(ranks) > MOST_NAMED:
        each = "one processor each" if bound else "seen on these processors"
        return ((f"{drawn.ranks_words(len(ranks))}, {each}", 0),)
    if bound:
        return tuple((f"rank {one.rank}: processor {min(allowed[one.rank])}", place) for place, one in enumerate(ranks))
    return tuple((f"rank {one.rank}: {_free(one, allowed[one.rank])}", place) for place, one in enumerate(ranks))


def _free(one: RankPlace, allowed: frozenset[int]) -> str:
    seen = f", seen on {one.cpu}" if one.cpu is not None else ""
    return (f"any of {len(allowed)} processors" if allowed else "processors not reported") + seen


def _processors(text: str | None) -> frozenset[int]:
    return frozenset(parse_cpu_list(text)) if text else frozenset()


def _sockets(run: RunResult, used: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Processors by socket as the record has them; else all in one; else those that ranks used."""
    groups: dict[str, Any] = run.machine.get("processor_groups") or {}
    sockets = [sorted(_processors(text)) for text in groups.get("socket") or []]
    if not sockets:
        count = run.machine.get("processors")
        sockets = [list(range(count))] if isinstance(count, int) and count > 0 else [sorted(set(used))]
    known = {one for socket in sockets for one in socket}
    sockets += [rest] if (rest := sorted(set(used) - known)) else []
    return tuple(tuple(socket[:MOST_PROCESSORS]) for socket in sockets)


def _device(results: Results) -> str | None:
    """The GPU, where the run moved its memory."""
    used = any("device" in cell.parameters.get("memory", "") for cell in results.cells if cell.metrics)
    if not used:
        return None
    found = results.run.machine.get("gpus")
    names = [str(one.get("name", one)) if isinstance(one, dict) else str(one) for one in found or []]
    return ", ".join(dict.fromkeys(names)) or "GPU memory"


def _link(run: RunResult) -> str | None:
    """The library and what it says carries its messages."""
    used = [mpi for mpi in run.mpis if not mpi.unavailable]
    names = [" ".join(filter(None, (one.name, one.version, f"over {one.transport}" if one.transport else None)))
             for one in used]  # fmt: skip
    return "; ".join(filter(None, names)) or None
