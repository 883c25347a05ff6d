# SPDX-License-Identifier: Apache-2.0
"""What a campaign costs on many nodes, on paper, and the page that says so."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from slowpath.plan.campaign import load
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse
from slowpath.plan.scale import ScaleModel, Work, scale_cost, work_of

PAGE = Path(__file__).parents[3] / "docs" / "internals" / "scale.md"
CHECKUP = Work(launches=60, cells=440, cells_s=18.0)  # of campaign checkup, docs/internals/scale.md
RANKS_A_NODE = 64


def test_the_work_is_that_of_the_shipped_campaign(description: dict[str, Any]) -> None:
    """Of the order: the campaign may grow a little without the page being wrong."""
    plan = expand(load("checkup"), description, [MpiInUse("mpich", "mpich 5", lambda _: ({"X": "1"}, None))], 1)
    found = work_of(plan)
    assert found.launches == pytest.approx(CHECKUP.launches, rel=0.3)
    assert found.cells == pytest.approx(CHECKUP.cells, rel=0.3)
    assert found.cells_s == pytest.approx(CHECKUP.cells_s, rel=0.3)


def test_one_node_of_two_ranks_costs_its_cells_and_starts() -> None:
    found = scale_cost(CHECKUP, 1, 2)
    assert found.node_s == found.wall_s == pytest.approx(60 * 0.3 + 18, rel=0.01)
    assert found.wire_up_bytes == 0
    assert found.files == 360


def test_node_seconds_grow_with_nodes_and_starting_with_their_logarithm() -> None:
    few, many = (scale_cost(CHECKUP, nodes, 1, ScaleModel(message_s=0)) for nodes in (2, 1024))
    assert many.wall_s - few.wall_s == pytest.approx(60 * 0.15 * (math.log2(1024) - 1))
    assert many.node_s == 1024 * many.wall_s


def test_the_record_grows_with_launches_and_cells_and_by_little_a_rank() -> None:
    base, more_ranks = scale_cost(CHECKUP, 2, 64), scale_cost(CHECKUP, 64, 64)
    assert more_ranks.file_bytes - base.file_bytes == 60 * 62 * (210 + 28 * 64)
    twice = scale_cost(Work(120, 880, 36.0), 2, 64)
    assert twice.file_bytes == 2 * base.file_bytes


def test_leaders_gather_from_a_node_and_rank_0_from_leaders() -> None:
    assert scale_cost(Work(1, 1, 1.0), 16, 64).gathered_messages == (63 + 15) * ScaleModel().messages_a_cell


@pytest.mark.parametrize(("nodes", "ranks"), [(0, 1), (1, 0)])
def test_no_nodes_are_refused(nodes: int, ranks: int) -> None:
    with pytest.raises(ValueError, match="scale_cost"):
        scale_cost(CHECKUP, nodes, ranks)


def test_the_page_has_what_the_function_says() -> None:
    row = r"^\| (\d+) \| ([\d.]+) s \| ([\d.]+) h \| ([\d.]+) MB \| ([\d.]+) MB \| (\d+) \|"
    rows = re.findall(row, PAGE.read_text(), re.MULTILINE)
    assert [int(row[0]) for row in rows] == [2, 64, 1024]
    for nodes, wall, node, wire_up, record, files in rows:
        found = scale_cost(CHECKUP, int(nodes), RANKS_A_NODE)
        assert float(wall) == pytest.approx(found.wall_s, rel=0.02)
        assert float(node) == pytest.approx(found.node_s / 3600, rel=0.05)
        assert float(wire_up) == pytest.approx(found.wire_up_bytes / 1e6, rel=0.02, abs=0.1)
        assert float(record) == pytest.approx(found.file_bytes / 1e6, rel=0.02)
        assert int(files) == found.files
