# SPDX-License-Identifier: Apache-2.0
"""Asked against observed."""

from __future__ import annotations

import pytest

from slowpath.analyse.build import differences, groups_of
from slowpath.core.plan import Placement
from slowpath.record.events import Rank

# Two sockets of two core groups of two cores with one thread each.
GROUPS = groups_of(
    {
        "processor_groups": {
            "core": [str(cpu) for cpu in range(8)],
            "core_group": ["0-1", "2-3", "4-5", "6-7"],
            "socket": ["0-3", "4-7"],
        }
    }
)


def ranks(*there: str) -> list[Rank]:
    """`n1:0-1`: host and allowed processors of each rank."""
    return [Rank(number, one.partition(":")[0], cpus_allowed=one.partition(":")[2]) for number, one in enumerate(there)]


@pytest.mark.parametrize(
    ("placement", "there"),
    [
        (Placement("p"), ranks("n1:0", "n1:1")),
        (Placement("p", "socket"), ranks("n1:0-3", "n1:4-7")),
        (Placement("p", "none"), ranks("n1:0-7", "n1:0-7")),
        (Placement("p", nodes=2, ranks_per_node=1), ranks("n1:0", "n2:0")),
        (Placement("p", nodes=2, ranks_per_node=1, hosts=["n1", "n2"]), ranks("n1.cluster:0", "n2.cluster:0")),
        (Placement("p", spread="core", nodes=1, ranks_per_node=2), ranks("n1:0", "n1:1")),
        (Placement("p", spread="core_group", nodes=1, ranks_per_node=2), ranks("n1:0", "n1:2")),
        (Placement("p", spread="socket", nodes=1, ranks_per_node=2), ranks("n1:0", "n1:4")),
        (Placement("p", "unknown"), ranks("n1:0", "n1:0")),
        (Placement("p"), ranks("n1:64", "n1:65")),  # processors that this node does not have: another kind of node
        (Placement("p"), []),
    ],
)
def test_as_asked(placement: Placement, there: list[Rank]) -> None:
    assert differences(placement, there, GROUPS) == []


@pytest.mark.parametrize(
    ("placement", "there", "text"),
    [
        (Placement("p"), ranks("n1:0-7", "n1:0"), "a core was asked for, and rank 0 may use 0-7"),
        (Placement("p"), ranks("n1:0", "n1:0"), "ranks of n1 share one"),
        (Placement("p", "socket"), ranks("n1:0-4", "n1:4-7"), "a socket was asked for, and rank 0 may use 0-4"),
        (Placement("p", "none"), ranks("n1:0-7", "n1:3"), "no binding was asked for, and rank 1 may only use 3"),
        (Placement("p", nodes=2, ranks_per_node=1), ranks("n1:0", "n1:1"), "2 nodes were asked for"),
        (Placement("p", nodes=2, ranks_per_node=2), ranks("n1:0", "n1:1", "n1:2", "n2:0"), "3 on n1, 1 on n2"),
        (Placement("p", nodes=2, hosts=["n1", "n2"]), ranks("n1:0", "n3:0"), "the nodes n1, n2 were asked for"),
        (Placement("p", spread="core"), ranks("n1:0", "n1:4"), "neighbouring cores were asked for"),
        (Placement("p", spread="socket"), ranks("n1:0", "n1:1"), "another socket was asked for"),
        (Placement("p", spread="core_group"), ranks("n1:0", "n1:1"), "another core group was asked for"),
    ],
)
def test_not_as_asked(placement: Placement, there: list[Rank], text: str) -> None:
    (found,) = differences(placement, there, GROUPS)
    assert text in found
