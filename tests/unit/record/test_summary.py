# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.analyse.summary import summarise
from slowpath.record.blocks import Block, scan, write_blocks


def test_summary_of_each_group(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    rng = np.random.default_rng(2)
    first, second, other = (rng.integers(1000, 2000, n) for n in (101, 57, 33))
    write_blocks(
        path,
        [
            Block(cell=7, launch=1, phase="steady", duration_ns=first, batch=4),
            Block(cell=2, launch=1, phase="steady", duration_ns=other),
            Block(cell=7, launch=1, phase="steady", duration_ns=second, batch=4, allocation=1),
            Block(cell=7, launch=1, phase="first", duration_ns=[9000]),
            Block(cell=9, launch=1, phase="steady", duration_ns=np.array([], dtype=np.int64)),
        ],
    )
    found = summarise(scan(path))
    assert [(s.cell, s.phase, s.count, s.batch) for s in found] == [
        (7, "steady", 158, 4),
        (2, "steady", 33, 1),
        (7, "first", 1, 1),
    ]
    together = np.concatenate([first, second]) / 4
    top = found[0]
    assert (top.median_ns, top.p90_ns, top.p99_ns) == pytest.approx(tuple(np.quantile(together, [0.5, 0.9, 0.99])))
    assert (top.min_ns, top.max_ns) == (together.min(), together.max())
    assert found[2].median_ns == 9000


def test_unlike_batches_are_divided_before_they_are_pooled(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    write_blocks(
        path,
        [
            Block(cell=1, launch=1, phase="steady", duration_ns=[100, 100], batch=1),
            Block(cell=1, launch=1, phase="steady", duration_ns=[1600, 1600, 1600], batch=8),
        ],
    )
    (found,) = summarise(scan(path))
    assert (found.batch, found.median_ns, found.min_ns, found.max_ns) == (None, 200.0, 100.0, 200.0)


def test_more_groups_than_one_task(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    write_blocks(path, (Block(cell=c, launch=1, phase="steady", duration_ns=[c + 1]) for c in range(500)))
    assert [s.median_ns for s in summarise(scan(path))] == list(range(1, 501))


def test_nothing_to_summarise(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    path.touch()
    assert summarise(scan(path)) == []
