# SPDX-License-Identifier: Apache-2.0
"""What a plan's placement becomes for a launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.core.plan import Placement
from slowpath.mpi.batch_systems import NodeAllocation
from slowpath.mpi.launchers import RankPlacement, launcher_named
from slowpath.plan.campaign import Nodes
from slowpath.run import prepare as cores
from slowpath.run.prepare import cores_for, nodes_of, place_of, unavailable_placement

ONE_SOCKET = {"core": [[0], [1]], "core_group": [[0, 1]], "socket": [[0, 1]]}
TWO_SOCKETS = {"core": [[0], [1]], "core_group": [[0], [1]], "socket": [[0], [1]]}


def test_nodes() -> None:
    assert nodes_of(None) == Nodes()
    assert nodes_of(NodeAllocation("slurm", "7", 2, ("n1", "n2"), "srun")) == Nodes(2, ("n1", "n2"))


def test_place() -> None:
    placement = Placement("pair n1 n2", nodes=2, ranks_per_node=1, hosts=["n1", "n2"])
    assert place_of(placement) == RankPlacement(None, 2, 1, ("n1", "n2"))


def test_ranks_are_kept_on_the_processors_of_a_mask_that_holds_them() -> None:
    assert place_of(Placement("bound"), 2, (8, 10)).processors == (8, 10)
    assert place_of(Placement("neighbours", spread="core"), 2, (8, 10)).processors == (8, 10)
    assert place_of(Placement("bound"), 3, (8, 10)).processors == (), "they would share a core"
    assert place_of(Placement("apart", spread="socket"), 2, (8, 10)).processors == ()
    assert place_of(Placement("pair", nodes=2, ranks_per_node=1), 2, (8, 10)).processors == ()


def test_a_mask_counts_where_the_kernel_grants_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight processors, two a core; cores 1 and 2 are the mask's, of core 2 one processor."""
    for cpu in range(8):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}\n")
    monkeypatch.setattr(cores, "inherited_processors", lambda: frozenset({2, 3, 5}))
    monkeypatch.setattr(cores, "granted_processors", lambda environ, system: frozenset(range(8)))
    assert cores.kept_within({}, tmp_path) == (2, 5)
    monkeypatch.setattr(cores, "granted_processors", lambda environ, system: frozenset({2, 3, 5}))
    assert cores.kept_within({}, tmp_path) == (), "a cpuset, which launchers see as well"


def test_cores_are_those_of_the_nodes_in_use() -> None:
    assert cores_for(Placement("any"), 8, 4) == 8
    assert cores_for(Placement("one", nodes=1), 8, 4) == 2


@pytest.mark.parametrize(("groups", "there"), [(ONE_SOCKET, False), (TWO_SOCKETS, True), ({}, True)])
def test_a_second_socket_has_to_be_there(groups: dict[str, list[list[int]]], there: bool) -> None:
    """Where the kernel does not tell, the launcher is asked all the same, and what it did is compared afterwards."""
    reason = unavailable_placement(launcher_named("hydra"), Placement("apart", spread="socket"), groups)
    assert (reason is None) == there


def test_a_launcher_that_cannot_be_asked() -> None:
    reason = unavailable_placement(launcher_named("srun"), Placement("apart", spread="core_group"), TWO_SOCKETS)
    assert reason is not None
    assert "srun" in reason
