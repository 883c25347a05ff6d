# SPDX-License-Identifier: Apache-2.0
"""Placements on the nodes at hand."""

from __future__ import annotations

from typing import Any

import pytest

from slowpath.core.campaign import PlacementTable
from slowpath.core.errors import UsageError
from slowpath.core.plan import Placement, cell_key
from slowpath.plan.campaign import Nodes, most_nodes, resolve_placements

THREE = Nodes(3, ("n1", "n2", "n3"))


def resolved(ranks: int = 2, at_hand: Nodes = THREE, **keys: Any) -> list[Placement]:
    return resolve_placements([PlacementTable("there", **keys)], [ranks], at_hand, "test.toml")


def test_a_binding_alone_asks_for_no_place() -> None:
    (placement,) = resolved(bind="socket")
    assert placement == Placement("there", "socket")
    assert placement.asked == {}


@pytest.mark.parametrize("keys", [{"nodes": 2}, {"ranks_per_node": 2}, {"nodes": 2, "ranks_per_node": 2}])
def test_one_of_nodes_and_ranks_per_node_follows_from_the_other(keys: dict[str, int]) -> None:
    (placement,) = resolved(4, **keys)
    assert (placement.nodes, placement.ranks_per_node, placement.unavailable) == (2, 2, None)


def test_one_node_is_asked_for_where_there_are_more() -> None:
    (placement,) = resolved(nodes=1)
    assert (placement.nodes, placement.ranks_per_node) == (1, 2)
    (placement,) = resolved(at_hand=Nodes(), nodes=1)
    assert placement.asked == {}, "there is no other, and not every launcher can be asked"


def test_ranks_that_are_spread_stay_on_one_node() -> None:
    (placement,) = resolved(spread="socket")
    assert (placement.nodes, placement.ranks_per_node) == (1, 2)


def test_every_pair_of_nodes() -> None:
    pairs = resolved(pairs=True)
    assert [placement.name for placement in pairs] == ["there n1 n2", "there n1 n3", "there n2 n3"]
    assert [placement.hosts for placement in pairs] == [["n1", "n2"], ["n1", "n3"], ["n2", "n3"]]
    assert {placement.of for placement in pairs} == {"there"}


@pytest.mark.parametrize(
    ("nodes", "keys", "why"),
    [
        (Nodes(), {"nodes": 2}, "needs 2 nodes and there is one"),
        (Nodes(), {"pairs": True}, "there is one"),
        (Nodes(4), {"pairs": True}, "does not report their names"),
    ],
)
def test_nodes_that_are_not_there_have_cells_skipped_with_the_reason(
    nodes: Nodes, keys: dict[str, Any], why: str
) -> None:
    (placement,) = resolved(at_hand=nodes, **keys)
    assert placement.unavailable is not None
    assert why in placement.unavailable
    assert "slowpath run --script SYSTEM --nodes 2" in placement.unavailable


@pytest.mark.parametrize(
    ("ranks", "keys", "key"),
    [
        (3, {"nodes": 2}, "nodes"),
        (3, {"ranks_per_node": 2}, "ranks_per_node"),
        (4, {"nodes": 2, "ranks_per_node": 1}, "ranks_per_node"),
        (4, {"pairs": True}, "pairs"),
        (2, {"pairs": True, "nodes": 2}, "nodes"),
        (2, {"spread": "socket", "nodes": 2}, "spread"),
    ],
)
def test_keys_that_do_not_go_together(ranks: int, keys: dict[str, Any], key: str) -> None:
    with pytest.raises(UsageError, match=rf"test.toml: \[\[placement\]\] 'there': key {key}:"):
        resolved(ranks, **keys)


def test_most_nodes() -> None:
    assert most_nodes([PlacementTable("a")]) == 1
    assert most_nodes([PlacementTable("a", nodes=4), PlacementTable("b", pairs=True)]) == 4
    assert most_nodes([PlacementTable("b", pairs=True)]) == 2


def test_a_place_is_part_of_the_key_only_where_one_is_asked_for() -> None:
    plain = cell_key("p2p", {}, {}, "core", 1, 2, "mpich 5.0.2")
    assert cell_key("p2p", {}, {}, "core", 1, 2, "mpich 5.0.2", {}) == plain
    assert cell_key("p2p", {}, {}, "core", 1, 2, "mpich 5.0.2", {"nodes": 2}) != plain
