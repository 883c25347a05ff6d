# SPDX-License-Identifier: Apache-2.0
"""Planted delays under real MPIs: whoever has to pay does, by the law, and nobody else.

A delay is spun, so that it is a lower bound of the call whatever else the machine does. No upper bound is asked for:
the calls that pay nothing are compared with the least that those which pay take.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from ranks import Process, Ranks

from slowpath.record.blocks import BlockIndex, read, scan
from slowpath.studies.plants.measure import LIBRARY, VARIABLE

pytestmark = pytest.mark.needs("minutes")

LONG_S = 0.04  # of a planted delay: far beyond what a busy machine adds to each of some messages
MESSAGE = "pattern=one_way message_bytes=4096"
Planted = Callable[..., BlockIndex]


@pytest.fixture
def planted(ranks: Ranks, tmp_path: Path) -> Planted:
    """Runs cells of p2p under a law and reads what they left."""

    def run(law: str, *cells: str) -> BlockIndex:
        done = launch(ranks, tmp_path, law, cells)
        assert done.returncode == 0, done.stderr
        return scan(tmp_path / "samples.blk")

    return run


def launch(ranks: Ranks, folder: Path, law: str, cells: tuple[str, ...]) -> Process:
    variables = {"LD_PRELOAD": str(ranks.engine.program.parent / LIBRARY), VARIABLE: law}
    named = [cell if cell.startswith("coll ") else f"p2p {cell}" for cell in cells]
    return ranks.run_plan(folder, named, seed=5, exported=variables)


def times_s(index: BlockIndex, cell: int, phase: str, rank: int = 0) -> NDArray[np.float64]:
    """Of the operations alone: parts tell how late a rank came."""
    chosen = [i for i in index.select(cell=cell, phase=phase, rank=rank) if index.headers["part"][i] == 0]
    return np.concatenate([read(index, int(i)).duration_ns for i in chosen]) * 1e-9


def test_pages_of_an_allocation_are_paid_once_by_the_sender(planted: Planted) -> None:
    cells = [
        f"{MESSAGE} buffer_bytes=2097152 overalloc_bytes={more} allocations=5 messages=3" for more in (0, 1, 65536)
    ]
    index = planted("use=1 cost_s=100e-6 per=page", *cells)
    aligned, by_small, by_middle = (times_s(index, cell, "first") for cell in range(3))
    assert by_small.min() >= 513 * 100e-6
    assert by_middle.min() >= 33 * 100e-6
    assert aligned.min() < by_middle.min() < by_small.min()
    assert times_s(index, 1, "steady").min() < by_small.min()


def test_a_receive_can_be_planted_too(planted: Planted) -> None:
    index = planted("call=receive cost_s=5e-3", f"{MESSAGE} messages=6")
    for phase in ("first", "steady"):
        assert times_s(index, 0, phase, rank=1).min() >= 5e-3


def test_a_gate_opens_at_the_nth_use(planted: Planted) -> None:
    index = planted("use<4 cost_s=20e-3", f"{MESSAGE} messages=8 allocations=2")
    later = times_s(index, 0, "steady").reshape(2, 7)
    assert times_s(index, 0, "first").min() >= 20e-3
    assert later[:, :2].min() >= 20e-3
    assert later[:, 2:].min() < later[:, :2].min()


def test_one_buffer_more_than_the_cache_holds_misses_always(planted: Planted) -> None:
    cells = [f"{MESSAGE} messages=4 live_buffers={live}" for live in (3, 4)]
    index = planted(f"others>2 cost_s={LONG_S}", *cells)
    assert times_s(index, 1, "steady").min() >= LONG_S
    assert times_s(index, 0, "steady").min() < times_s(index, 1, "steady").min()


def test_a_threshold_is_exact_to_the_byte(planted: Planted) -> None:
    cells = [f"pattern=one_way message_bytes={n} messages=8" for n in (1000, 1001)]
    index = planted(f"bytes>1000 cost_s={LONG_S}", *cells)
    assert times_s(index, 1, "steady").min() >= LONG_S
    assert times_s(index, 0, "steady").min() < times_s(index, 1, "steady").min()


def test_blocks_and_open_receives_are_counted(planted: Planted) -> None:
    few = f"{MESSAGE} messages=8"
    index = planted(f"cost_s={LONG_S / 8} per=block", f"{few} datatype=vector blocks=8", few)
    assert times_s(index, 0, "steady").min() >= LONG_S
    assert times_s(index, 1, "steady").min() < times_s(index, 0, "steady").min()
    index = planted(
        f"call=receive cost_s={LONG_S / 16} per=queue", *(f"{few} posted=before queue={n}" for n in (16, 0))
    )
    assert times_s(index, 0, "steady", rank=1).min() >= LONG_S
    assert times_s(index, 1, "steady", rank=1).min() < times_s(index, 0, "steady", rank=1).min()


def pays_alone(planted: Planted, clauses: dict[str, str], usual: str) -> None:
    """Each clause makes its own cell slow, on the side that pays, and neither the cells before it nor the usual one."""
    costs = (f"{clause} cost_s={LONG_S * 2**i}" for i, clause in enumerate(clauses))
    index = planted("; ".join(costs), *clauses.values(), usual)
    least = [max(times_s(index, cell, "steady", rank).min() for rank in (0, 1)) for cell in range(len(clauses) + 1)]
    *slow, fast = least
    assert all(took >= LONG_S * 2**i for i, took in enumerate(slow)), least
    assert [fast, *slow] == sorted([fast, *slow]), least


def test_completions_wildcards_alloc_mem_and_open_receives_pay_where_they_are(planted: Planted) -> None:
    few = f"{MESSAGE} messages=4"
    asked = {
        "call=wait": f"{few} completion=wait",
        "call=receive wildcard=1": f"{few} source=any",
        "alloc_mem=1": f"{few} memory=mpi",
        "open>0": f"{few} open_receive=on",
    }
    pays_alone(planted, asked, few)


def test_other_completions_roots_and_reductions_in_place_pay_where_they_are(planted: Planted) -> None:
    few = "samples=5 time_limit_s=0 warmup_s=0 message_bytes=8 datatype=int"
    asked = {
        "call=bcast root>0": f"coll collective=bcast root=last {few}",
        "call=allreduce in_place=1": f"coll collective=allreduce in_place=on {few}",
        "call=waitall": f"{MESSAGE} messages=4 completion=waitall",
        "call=test": f"{MESSAGE} messages=4 completion=test",
    }
    pays_alone(planted, asked, f"coll collective=bcast {few}")


def test_every_third_message_of_one_direction_waits_and_larger_ones_pay_more(planted: Planted) -> None:
    """The engine's decisions between messages are neither counted nor delayed."""
    slow = f"rank=0 peer=1 index%3=0 bytes=4096 cost_s={LONG_S} place=waiting"
    cells = [f"{MESSAGE} messages=27", "pattern=one_way message_bytes=65536 messages=9"]
    index = planted(f"{slow}; bytes>4096 start%4096=0 cost_s={LONG_S / 65536} per=byte place=kernel", *cells)
    turns = np.concatenate([times_s(index, 0, phase) for phase in ("first", "steady")]).reshape(9, 3)
    waits = turns.min(axis=0) >= LONG_S
    assert waits.sum() == 1, turns
    assert np.all(np.median(turns[:, ~waits], axis=0) < LONG_S), "a busy machine delays some, too"
    assert times_s(index, 1, "steady").min() >= LONG_S


def test_a_text_that_cannot_be_read_ends_the_job(ranks: Ranks, tmp_path: Path) -> None:
    done = launch(ranks, tmp_path, "use=1 costs=1", (MESSAGE,))
    assert done.returncode != 0
    assert f"slowpath-plant: error: {VARIABLE}='use=1 costs=1'" in done.stdout + done.stderr
