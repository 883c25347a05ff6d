# SPDX-License-Identifier: Apache-2.0
"""Placements of a campaign on the nodes at hand: within a node, across nodes, every pair of nodes. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from slowpath.core.campaign import PlacementTable, wrong
from slowpath.core.plan import Placement

MORE_NODES = (
    "ask the batch system for them (slowpath run --script SYSTEM --nodes {nodes}), or name them in the launcher's "
    "host file"
)


class Nodes(msgspec.Struct, frozen=True):
    """Nodes that the launcher can use. names: empty where nothing states them."""

    count: int = 1
    names: tuple[str, ...] = ()


def resolve_placements(
    tables: Sequence[PlacementTable], counts: Sequence[int], nodes: Nodes, source: str
) -> list[Placement]:
    """Every placement, those of `pairs` one for each pair of nodes; with several numbers of ranks one for each.

    One that states its own number of ranks stands once. Where any does, each has its number.

    Raises: UsageError naming table and key, where keys exclude each other or the ranks can't be divided so.
    """
    several, own = len(counts) > 1, any(table.ranks for table in tables)
    found: list[Placement] = []
    for table in tables:
        for ranks in [table.ranks] if table.ranks else counts:
            for placement in _resolve(table, ranks, nodes, source):
                if several and not table.ranks:
                    found.append(_with_ranks(placement, ranks))
                else:
                    found.append(msgspec.structs.replace(placement, ranks=ranks) if own else placement)
    return found


def _with_ranks(placement: Placement, ranks: int) -> Placement:
    name = f"{placement.name}, {ranks} rank{'s' * (ranks > 1)}"
    return msgspec.structs.replace(placement, name=name, of=placement.name, ranks=ranks)


def most_nodes(tables: Sequence[PlacementTable]) -> int:
    """The most nodes that any placement names; `pairs` needs two, and more are more pairs."""
    return max([1, *(2 if table.pairs else table.nodes or 1 for table in tables)])


def _resolve(table: PlacementTable, ranks: int, nodes: Nodes, source: str) -> list[Placement]:
    title = f"[[placement]] '{table.name}'"
    if table.pairs:
        for key in ("spread", "nodes", "ranks_per_node"):
            if getattr(table, key) is not None:
                raise wrong(source, title, key, "cannot be combined with pairs, which means two nodes with a rank each")
        if ranks != 2:
            raise wrong(source, title, "pairs", f"puts one rank on each of two nodes, not {ranks}; set ranks = 2")
        return _pairs(table, nodes)
    if table.spread is not None and (table.nodes or 1, table.ranks_per_node or ranks) != (1, ranks):
        raise wrong(source, title, "spread", "is for ranks of one node; leave nodes and ranks_per_node out")
    count, each = (1, ranks) if table.spread else _divided(table, ranks, source, title)
    if count == nodes.count == 1 and not table.spread:
        count = each = None  # there is no other place, and not every launcher can be asked for this one
    reason = None
    if count is not None and count > nodes.count:
        reason = f"it needs {count} nodes and there {_are(nodes.count)}; {MORE_NODES.format(nodes=count)}"
    return [Placement(table.name, table.bind, table.spread, count, each, unavailable=reason)]


def _divided(table: PlacementTable, ranks: int, source: str, title: str) -> tuple[int | None, int | None]:
    """Nodes and ranks on each; with one of the two given, the other follows."""
    count, each = table.nodes, table.ranks_per_node
    if count is None and each is None:
        return None, None
    if count is not None and each is not None and count * each != ranks:
        raise wrong(source, title, "ranks_per_node", f"{count} nodes with {each} ranks each can't hold {ranks} ranks")
    for key, value in (("nodes", count), ("ranks_per_node", each)):
        if value is not None and ranks % value:
            raise wrong(source, title, key, f"{ranks} ranks can't be divided by {value}")
    count = count or ranks // (each or ranks)
    return count, ranks // count


def _pairs(table: PlacementTable, nodes: Nodes) -> list[Placement]:
    if len(nodes.names) < 2:
        why = f"there {_are(nodes.count)}" if nodes.count < 2 else "the batch system does not report their names"
        reason = f"it needs the names of two nodes or more, and {why}; {MORE_NODES.format(nodes=2)}"
        return [Placement(table.name, table.bind, nodes=2, ranks_per_node=1, unavailable=reason)]
    return [
        Placement(f"{table.name} {a} {b}", table.bind, nodes=2, ranks_per_node=1, hosts=[a, b], of=table.name)
        for a, b in itertools.combinations(nodes.names, 2)
    ]


def _are(count: int) -> str:
    return "is one" if count == 1 else f"are {count}"
