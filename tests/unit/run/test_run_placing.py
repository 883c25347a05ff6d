# SPDX-License-Identifier: Apache-2.0
"""What a plan's placement becomes for a launcher."""

from __future__ import annotations

from slowpath.core.plan import Placement
from slowpath.mpi.launchers import RankPlacement
from slowpath.run.prepare import cores_for, place_of


def test_place() -> None:
    placement = Placement("pair n1 n2", nodes=2, ranks_per_node=1, hosts=["n1", "n2"])
    assert place_of(placement) == RankPlacement(None, 2, 1, ("n1", "n2"))


def test_ranks_are_kept_on_the_processors_of_a_mask_that_holds_them() -> None:
    assert place_of(Placement("bound"), 2, (8, 10)).processors == (8, 10)
    assert place_of(Placement("neighbours", spread="core"), 2, (8, 10)).processors == (8, 10)
    assert place_of(Placement("bound"), 3, (8, 10)).processors == (), "they would share a core"
    assert place_of(Placement("apart", spread="socket"), 2, (8, 10)).processors == ()
    assert place_of(Placement("pair", nodes=2, ranks_per_node=1), 2, (8, 10)).processors == ()


def test_cores_are_those_of_the_nodes_in_use() -> None:
    assert cores_for(Placement("any"), 8, 4) == 8
    assert cores_for(Placement("one", nodes=1), 8, 4) == 2
