# SPDX-License-Identifier: Apache-2.0
"""Single calls of the experiment first_use on ranks: each one of the panel is made, under each of its conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from ranks import Event, Ranks, ends_of_cells, events_in

from slowpath.core.campaign import scalars
from slowpath.core.units import expand_values
from slowpath.record.blocks import scan
from slowpath.run.prepare import campaign_named

EFFORT = {"uses": "3", "idle_s": "0.0001", "pauses": "1"}
MISSING = "this MPI library has no such call"
# Calls that begin a request which nothing but its completion follows: none of one-sided access, none of partitions.
BEGINS = re.compile(r"call=(i(?!m?probe|n|s_)\w+|ineighbor\w+|file_i\w+|start .*request=(?!MPI_P))")


def cells_of_panel() -> list[str]:
    """Each call with each of its conditions, at the shortest of its lengths."""
    cells = []
    for group in campaign_named("panel").cells:
        given = {name: scalars(value) for name, value in group.parameters.items()}
        if group.experiment != "first_use" or given["pattern"] != ["call"]:
            continue
        lengths = [str(value) for written in given.get("message_bytes", ["8"]) for value in expand_values(written)]
        varied = next((name for name in ("request", "window", "blocks") if name in given), None)
        fixed = {name: values[0] for name, values in given.items() if name not in ("call", varied, "message_bytes")}
        for call in given["call"]:
            for value in given[varied] if varied else ("",):
                words = {**fixed, **EFFORT, "call": call, "message_bytes": lengths[0]}
                words |= {varied: value} if varied else {}
                cells.append("first_use " + " ".join(f"{name}={word}" for name, word in words.items()))
    return cells


def refused(cells: Sequence[str], ends: Sequence[Event]) -> dict[str, str]:
    """Cells that were not measured, with the reason."""
    return {cell: end["reason"] for cell, end in zip(cells, ends, strict=True) if end["status"] != "ok"}


@pytest.mark.parametrize("size", [2, 3])
def test_each_call_of_the_panel_is_made_or_missing(ranks: Ranks, tmp_path: Path, size: int) -> None:
    # Intel MPI 2021.18.1 ends any job of three ranks that waits for a started MPI_Scatter_init: Invalid communicator.
    fails = ranks.mpi.name == "intelmpi" and size > 2
    cells = [cell for cell in cells_of_panel() if not (fails and "request=MPI_Scatter_init" in cell)]
    done = ranks.run_plan(tmp_path / "run", cells, ranks=size)
    assert done.returncode == 0, done.stderr
    ends = ends_of_cells(events_in(tmp_path / "run"))
    reasons = refused(cells, ends)
    allowed = (MISSING, *(["needs every rank in a pair"] if size > 2 else []))
    assert {cell: why for cell, why in reasons.items() if not any(word in why for word in allowed)} == {}
    assert len(reasons) < len(cells) / 4
    assert sum(end["validated_bytes"] > 0 for end in ends) > 100
    index = scan(tmp_path / "run" / "samples.blk")
    for number, cell in enumerate(cells):
        parts = {int(index.headers["part"][block]) for block in index.select(cell=number, phase="steady", rank=0)}
        completion = {2} if BEGINS.search(cell) else set()
        assert parts == (set() if cell in reasons else {0, 1} | completion), cell


def test_partitioned_requests_that_are_only_made_disturb_no_later_message(ranks: Ranks, tmp_path: Path) -> None:
    calls = ("psend_init", "pready_range") * 8  # of the same peer and tag
    cells = [f"first_use pattern=call uses=4 idle_s=0 pauses=1 message_bytes=64 call={call}" for call in calls]
    assert ranks.run_plan(tmp_path / "run", cells).returncode == 0
    assert all(MISSING in why for why in refused(cells, ends_of_cells(events_in(tmp_path / "run"))).values())
