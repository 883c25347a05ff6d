# SPDX-License-Identifier: Apache-2.0
"""Placements on the nodes at hand."""

from __future__ import annotations

from typing import Any

import pytest

from slowpath.core.campaign import PlacementTable
from slowpath.core.errors import UsageError
from slowpath.core.plan import Placement
from slowpath.plan.campaign import Nodes, resolve_placements

THREE = Nodes(3, ("n1", "n2", "n3"))


def resolved(ranks: int = 2, at_hand: Nodes = THREE, **keys: Any) -> list[Placement]:
    return resolve_placements([PlacementTable("there", **keys)], [ranks], at_hand, "test.toml")


@pytest.mark.parametrize("keys", [{"nodes": 2}, {"ranks_per_node": 2}, {"nodes": 2, "ranks_per_node": 2}])
def test_one_of_nodes_and_ranks_per_node_follows_from_the_other(keys: dict[str, int]) -> None:
    (placement,) = resolved(4, **keys)
    assert (placement.nodes, placement.ranks_per_node, placement.unavailable) == (2, 2, None)


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
