# SPDX-License-Identifier: Apache-2.0
"""Costs planted under real MPIs by plant.c: the engine's cells show them where they are paid, and nowhere else.

No upper bound is asked for: cells that pay nothing are compared with the least that those which pay take.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from ranks import Process, Ranks

from slowpath.record.blocks import BlockIndex, read, scan

LONG_S = 0.02  # of a delay: longer than a busy machine takes a core away, which is several ms
LONG = f"us={LONG_S * 1e6:g}"
MESSAGE = "p2p pattern=one_way message_bytes=4096 messages=4"
COLLECTIVE = "samples=5 time_limit_s=0 warmup_s=0 message_bytes=8 datatype=int"
PUT = "put instructions=0 samples=5 warmup_s=0.001 time_limit_s=0.01 puts=100 synchronise"
CALL = "first_use pattern=call uses=3 message_bytes=4096 call"
RunPlanted = Callable[[str, list[str]], Process]


@pytest.fixture
def run_planted(ranks: Ranks, blankless: Path, tmp_path: Path) -> RunPlanted:
    """Runs cells under PLANT; the record is in tmp_path / "launch"."""
    source = Path(shutil.copy(Path(__file__).with_name("plant.c"), blankless))
    variables = {"LD_PRELOAD": str(ranks.compiled(source))}
    return lambda plant, cells: ranks.run_plan(
        tmp_path / "launch", cells, seed=5, exported={**variables, "PLANT": plant}
    )


def times_s(index: BlockIndex, cell: int, phase: str, rank: int, part: int = 0) -> NDArray[np.float64]:
    """Times of the first buffer's operations as a whole, or of a part of them."""
    selected = index.select(cell=cell, phase=phase, rank=rank)
    chosen = [i for i in selected if index.headers["part"][i] == part and index.headers["allocation"][i] == 0]
    return np.concatenate([np.zeros(0), *(read(index, int(i)).duration_ns for i in chosen)]) * 1e-9


# Plant -> a cell that pays, and a cell that does not.
PLANTED = [
    (f"send above=4096 {LONG}", "p2p pattern=one_way message_bytes=4097 messages=4", MESSAGE),
    (f"send multiple_of=4096 {LONG}", MESSAGE, "p2p pattern=one_way message_bytes=4095 messages=4"),
    (f"send ns_per_byte={1e9 * LONG_S / 65536}", "p2p pattern=one_way message_bytes=65536 messages=4", MESSAGE),
    (f"send us_per_block={1e6 * LONG_S / 8}", f"{MESSAGE} datatype=vector blocks=8", MESSAGE),
    (f"receive any=1 {LONG}", f"{MESSAGE} source=any", MESSAGE),
    (f"wait {LONG}", f"{MESSAGE} completion=wait", MESSAGE),
    (f"waitall {LONG}", f"{MESSAGE} completion=waitall", MESSAGE),
    (f"test {LONG}", f"{MESSAGE} completion=test", MESSAGE),
    (f"bcast root=1 {LONG}", f"coll collective=bcast root=last {COLLECTIVE}", f"coll collective=bcast {COLLECTIVE}"),
    (f"alltoall {LONG}", f"coll collective=alltoall {COLLECTIVE}", f"coll collective=bcast {COLLECTIVE}"),
    (f"flush {LONG}", f"{PUT}=flush_all", f"{PUT}=fence"),
    (f"wait {LONG}", f"{CALL}=wait", f"{CALL}=irecv"),
    (f"receive any=1 {LONG}", f"{CALL}=recv source=any", f"{CALL}=recv"),
    (f"send us_per_block={1e6 * LONG_S / 8}", f"{CALL}=send datatype=vector blocks=8", f"{CALL}=send"),
    (f"bcast root=1 {LONG}", f"{CALL}=bcast root=last", f"{CALL}=bcast"),
    (f"bcast rank=1 {LONG}", f"{CALL}=bcast", f"{CALL}=reduce"),
    (f"send idle_us=15 {LONG}", f"{CALL}=send", f"{CALL}=send after_call=on"),
]


@pytest.mark.needs("minutes")
@pytest.mark.parametrize(("plant", "pays", "free"), PLANTED)
def test_a_planted_cost_is_in_the_times_of_those_who_pay(
    run_planted: RunPlanted, tmp_path: Path, plant: str, pays: str, free: str
) -> None:
    done = run_planted(plant, [pays, free])
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "launch" / "samples.blk")
    least_s = [
        max(times_s(index, cell, "steady", rank).min() for rank in (0, 1) if index.select(cell=cell, rank=rank).size)
        for cell in (0, 1)
    ]
    assert least_s[0] >= LONG_S
    assert least_s[1] < least_s[0]


def test_first_uses_and_every_8th_message_are_paid_for(run_planted: RunPlanted, tmp_path: Path) -> None:
    """The engine's decisions between messages are neither counted nor delayed."""
    done = run_planted(
        f"send first=1 above=65535 {LONG}; send every=8 above=7 {LONG}",
        ["p2p pattern=one_way message_bytes=65536 messages=3 allocations=2"]
        + ["p2p pattern=one_way message_bytes=8 messages=80"] * 4,
    )
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "launch" / "samples.blk")
    assert times_s(index, 0, "first", 0).min() >= LONG_S
    assert times_s(index, 0, "steady", 0).min() < LONG_S
    series = []
    for cell in range(1, 5):
        (block,) = index.select(cell=cell, phase="steady", rank=0)
        series.append(read(index, int(block)).duration_ns * 1e-9)
    # On a busy machine some others are as long; every eighth is in any case, and no other eighth is.
    assert all(sum((times[phase::8] >= LONG_S).all() for phase in range(8)) == 1 for times in series)


def test_what_follows_a_pause_has_a_part_of_its_own(run_planted: RunPlanted, tmp_path: Path) -> None:
    cell = "first_use pattern=call call=send uses=9 idle_s=0.11 pauses=2"
    done = run_planted(f"send idle_us=100000 {LONG}", [cell])
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "launch" / "samples.blk")
    series = [times_s(index, 0, "steady", 1, part) for part in (0, 1, 2)]
    assert [times.size for times in series] == [8, 2, 0]
    assert series[1].min() >= LONG_S > series[0].min()


def test_what_completes_a_call_has_a_part_of_its_own(run_planted: RunPlanted, tmp_path: Path) -> None:
    calls = ["isend", "imrecv", "ibcast", "start request=MPI_Bcast_init", "recv", "wait", "startall"]
    done = run_planted(f"wait {LONG}", [f"{CALL}={call}" for call in calls])
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "launch" / "samples.blk")
    for cell, call in enumerate(calls):
        waits_s = times_s(index, cell, "steady", 1, part=2)
        assert waits_s.size == (2 if cell < 4 else 0), call
        assert (waits_s >= LONG_S).all(), call


def test_a_plant_that_cannot_be_read_ends_the_job(run_planted: RunPlanted) -> None:
    done = run_planted("send costs=1", [MESSAGE])
    assert done.returncode != 0
    assert "plant: error: 'costs=1' in PLANT" in done.stdout + done.stderr
