# SPDX-License-Identifier: Apache-2.0
"""The experiment exchange on ranks: all faces arrive, in each datatype, and the record holds every rank's times."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks import Ranks, ends_of_cells, events_in

from slowpath.record.blocks import scan

DATATYPES = ("contiguous", "packed", "derived")
BOX = "box_x=5 box_y=3 box_z=4 point_bytes=12"
FACES_BYTES = (3 * 4 * 12, 5 * 4 * 12)  # normal to x and to y
ARRAY_BYTES = 7 * 5 * 6 * 12
GRIDS = {
    2: "ranks stand in a grid of 2 x 1 x 1: each sends 2 faces, to 1 neighbour",
    4: "ranks stand in a grid of 2 x 2 x 1: each sends 4 faces, to 2 neighbours",
}


@pytest.mark.parametrize("size", [2, 4])
def test_every_face_arrives(ranks: Ranks, tmp_path: Path, size: int) -> None:
    effort = "samples=10 warmup_s=0 time_limit_s=0.01"
    cells = [f"exchange {BOX} datatype={datatype} {effort}" for datatype in DATATYPES]
    done = ranks.run_plan(tmp_path / "run", cells, ranks=size)
    assert done.returncode == 0, done.stderr
    events = events_in(tmp_path / "run")
    assert {event["text"] for event in events if event["event"] == "note" and "grid" in event["text"]} == {GRIDS[size]}
    ends = ends_of_cells(events)
    assert [(end["status"], end["wrong_bytes"]) for end in ends] == [("ok", 0)] * 3
    faces = 2 * sum(FACES_BYTES[: size // 2])
    assert [end["validated_bytes"] for end in ends] == [3 * size * each for each in (faces, ARRAY_BYTES, ARRAY_BYTES)]
    index = scan(tmp_path / "run" / "samples.blk")
    for cell in range(3):
        for phase, least in (("first", 1), ("warmup", 4), ("steady", 8)):
            counts = [int(index.headers["n"][i]) for i in index.select(cell=cell, phase=phase)]
            assert len(counts) == size, "a block of each rank"
            assert set(counts) == {counts[0]}
            assert counts[0] >= least
