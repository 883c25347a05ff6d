# SPDX-License-Identifier: Apache-2.0
"""The campaign overalloc asks who pays, on both sides of every over-allocation."""

from __future__ import annotations

import json
from pathlib import Path

from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand

DESCRIBE = Path(__file__).parents[3] / "schema" / "engine.json"


def test_each_over_allocation_is_asked_of_both_calls() -> None:
    mpi = MpiInUse("mpich", "mpich 5.0.2", lambda setting: ({}, None))
    plan = expand(load("overalloc"), json.loads(DESCRIBE.read_text()), [mpi], seed=1)
    cells = {cell.cell: cell for cell in plan.cells}
    asked = {(cells[c.b.cell].group, c.metric) for c in plan.contrasts if c.axis == "overalloc_bytes"}
    groups = ("both", "sender", "receiver")
    assert {(group, metric) for group in groups for metric in ("one_way_s", "send_s", "receive_s")} == asked
    split = [c for c in plan.contrasts if c.metric in ("send_s", "receive_s")]
    assert {c.a.phase for c in split} == {c.b.phase for c in split} == {"first"}
    assert all(cells[c.a.cell].parameters["overalloc_bytes"] == "0" for c in split)
