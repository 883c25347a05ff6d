# SPDX-License-Identifier: Apache-2.0
"""A stall every so many messages, planted under real MPIs: its period comes out of the record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ranks import Ranks

from slowpath.record.blocks import read, scan
from slowpath.stats.shapes.folded import period_of
from slowpath.studies.plants.measure import LIBRARY, VARIABLE

STALL_S = 20e-3  # longer than a busy machine takes a core away, which is several ms
CELLS = 4


def test_a_stall_every_32nd_message_has_its_period(ranks: Ranks, tmp_path: Path) -> None:
    variables = {"LD_PRELOAD": str(ranks.engine.program.parent / LIBRARY), VARIABLE: f"index%32=7 cost_s={STALL_S}"}
    # Short ones, of which a busy machine disturbs few: three of four cells have to show the period.
    cells = ["p2p pattern=one_way message_bytes=8 messages=320"] * CELLS
    done = ranks.run_plan(tmp_path, cells, seed=5, exported=variables)
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "samples.blk")
    series = []
    for cell in range(CELLS):
        (block,) = index.select(cell=cell, phase="steady", rank=0)
        times_s = read(index, int(block)).duration_ns * 1e-9
        series.append((int(index.headers["seq0"][block]) + np.arange(times_s.size), times_s))
    found = period_of(series)
    assert found is not None
    assert (found.every, found.slow) == (32, 1)
    assert found.p < 1e-6
    assert all(one.slow_s >= STALL_S for one in found.launches if one.apart)
