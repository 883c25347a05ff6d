# SPDX-License-Identifier: Apache-2.0
"""Raw samples for the explorer: read from blocks, thinned without losing an extreme, within the budget."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slowpath.record.blocks import Block, write_blocks
from slowpath.report.samples import SampleSeries, explore, ranks, read_series, thin


def series(cell: int, n: int, launch: int = 0, seed: int = 0) -> SampleSeries:
    """Random samples of one launch."""
    values = np.random.default_rng(seed + launch).integers(100, 10**6, n)
    return SampleSeries(cell, launch, "steady", 0, 1, values)


@pytest.mark.parametrize("n", [1, 2, 7, 20, 21, 1000, 1001])
def test_thin_keeps_order_and_extremes(n: int) -> None:
    values = series(0, n).values_ns
    found = thin(values, 10)
    assert len(found) == min(n, 20)
    assert {int(values.min()), int(values.max())} <= set(found.tolist())
    remaining = iter(values.tolist())
    assert all(value in remaining for value in found.tolist())


def test_ranks_hold_both_ends_and_the_median() -> None:
    assert ranks(np.arange(101)[::-1], 5).tolist() == [0, 25, 50, 75, 100]


def test_nothing_is_lost_below_the_budget() -> None:
    one = series(3, 500)
    found = explore([one], {3: "cell three"}, 100_000)
    assert found is not None
    assert not found.thinned
    assert found.left_out == 0
    assert json.loads(found.data)[0]["s"][0]["v"] == one.values_ns.tolist()
    assert json.loads(found.data)[0]["t"] == "cell three"


def test_budget_is_kept_by_thinning() -> None:
    found = explore(
        [series(cell, 5000, launch) for cell in range(10) for launch in range(8)], dict.fromkeys(range(10), ""), 100_000
    )
    assert found is not None
    assert found.thinned
    assert found.left_out == 0
    assert found.samples == 400_000
    assert 50_000 < len(found.data.encode()) <= 100_000


def test_budget_is_kept_by_leaving_out_the_last_cells() -> None:
    found = explore([series(cell, 50) for cell in range(200)], {cell: f"c{cell}" for cell in range(200)}, 20_000)
    assert found is not None
    assert found.left_out > 0
    assert len(found.data.encode()) <= 20_000
    assert [one["c"] for one in json.loads(found.data)] == list(range(200 - found.left_out))


def test_no_samples_is_none() -> None:
    assert explore([], {}, 100_000) is None
    assert explore([SampleSeries(0, 0, "steady", 0, 1, np.array([], dtype=np.int64))], {}, 100_000) is None


def test_no_room_is_none() -> None:
    assert explore([series(3, 500)], {3: "cell three"}, 0) is None


def block(cell: int, phase: str, allocation: int, values: list[int]) -> Block:
    """A block of rank 0."""
    return Block(cell=cell, launch=7, rank=0, phase=phase, batch=1, allocation=allocation, duration_ns=values, t0_ns=0)


def test_series_join_the_allocations_of_a_launch(tmp_path: Path) -> None:
    folder = tmp_path / "launches" / "000007"
    folder.mkdir(parents=True)
    blocks = [
        block(1, "first", 0, [9]),
        block(1, "steady", 0, [1, 2]),
        block(1, "first", 1, [8]),
        block(1, "steady", 1, [3]),
    ]
    write_blocks(folder / "samples.blk", blocks)
    found = {one.phase: one for one in read_series(tmp_path)}
    assert found["first"].values_ns.tolist() == [9, 8]
    assert found["steady"].values_ns.tolist() == [1, 2, 3]
    assert (found["first"].cell, found["first"].launch) == (1, 7)


def test_damaged_file_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "launches" / "000001"
    folder.mkdir(parents=True)
    (folder / "samples.blk").write_bytes(b"not blocks at all" * 20)
    assert list(read_series(tmp_path)) == []
    assert list(read_series(tmp_path / "no such folder")) == []
