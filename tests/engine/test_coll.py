# SPDX-License-Identifier: Apache-2.0
"""The experiment coll on ranks: each collective in each way gives the right result; the record holds each call."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks import Ranks, ends_of_cells, events_in

from slowpath.record.blocks import scan
from slowpath.record.events import Release, read_events

STARTS = ("blocking", "nonblocking", "persistent")
EFFORT = "samples=8 warmup_s=0 time_limit_s=1"  # ranks share cores: calls are slow, and all 8 are wanted
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
ROOTED = ("bcast", "gather", "gatherv", "scatter", "scatterv")
MOVING = (*ROOTED, "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
NEIGHBOURS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
ALL = ("barrier", *MOVING, *REDUCTIONS, *(f"neighbor_{name}" for name in NEIGHBOURS))


def cells_of(size: int, library: str) -> list[str]:
    """Each collective with each start, and what reductions, roots and blocks have besides."""
    # Intel MPI 2021.18: a persistent gather, scatter or allgather delivers what was in the buffers when it was made.
    starts = STARTS[:2] if library == "intelmpi" else STARTS
    cells = [
        f"collective={collective} start={start} datatype=int message_bytes=40" for collective in ALL for start in starts
    ]
    cells += [
        f"collective={collective} datatype=double in_place=on message_bytes=8"
        for collective in (*MOVING[1:], *REDUCTIONS)
    ]
    cells += [f"collective={collective} root=last message_bytes=0" for collective in (*ROOTED, "reduce")]
    cells += [f"collective={collective} shape=one_type message_bytes=24 datatype=double" for collective in MOVING]
    for collective in REDUCTIONS:
        cells.append(f"collective={collective} op=user_ordered datatype=byte message_bytes=3")
        cells.append(f"collective={collective} op=user_ordered in_place=on datatype=int message_bytes=2048")
        cells.append(f"collective={collective} op=user shape=one_type datatype=double message_bytes=64")
    if size >= 4:
        cells += ["collective=allgather communicator=halves", "collective=alltoall communicator=strided"]
    # Few calls: ranks without a core of their own need a time slice for each.
    return [f"coll pattern=counted calls=2 {cell}" for cell in cells]


@pytest.mark.parametrize("size", [2, 3])
def test_every_result_is_right(ranks: Ranks, tmp_path: Path, size: int) -> None:
    cells = cells_of(size, ranks.mpi.name)
    done = ranks.run_plan(tmp_path / "run", cells, ranks=size)
    assert done.returncode == 0, done.stderr
    ends = ends_of_cells(events_in(tmp_path / "run"))
    assert {(cell, end["status"], end["reason"]) for cell, end in zip(cells, ends, strict=True)} == {
        (cell, "ok", None) for cell in cells
    }
    for cell, end in zip(cells, ends, strict=True):
        nothing = "=barrier" in cell or "message_bytes=0" in cell
        assert (end["validated_bytes"] == 0) is nothing, cell


def test_calls_in_place_that_ran_out_of_time_are_judged_by_a_result(ranks: Ranks, tmp_path: Path) -> None:
    """Their buffers were filled anew when the ranks had enough; that was reported as a wrong result of the library."""
    effort = "in_place=on datatype=int message_bytes=64 warmup_s=0 time_limit_s=1e-6"
    cells = [
        *(
            f"coll pattern=counted calls=100000 collective={collective} {effort}"
            for collective in ("allreduce", "reduce", "scan")
        ),
        f"coll pattern=communicators calls=3 samples=1000 collective=allreduce {effort}",
    ]
    done = ranks.run_plan(tmp_path / "run", cells)
    assert done.returncode == 0, done.stderr
    ends = ends_of_cells(events_in(tmp_path / "run"))
    assert [(end["status"], end["reason"]) for end in ends] == [("ok", None)] * 4
    index = scan(tmp_path / "run" / "samples.blk")
    assert all(index.headers["n"][index.select(phase="first")] < 100000), "they ran out of time"


def test_each_pattern_has_its_blocks(ranks: Ranks, tmp_path: Path) -> None:
    patterns = [
        "pattern=calls communicator=duplicate",
        "pattern=counted calls=7",
        "pattern=communicators calls=3",
        "members=2 duplicates=2",
        "arrival=linear arrival_ratio=5",
        "pattern=after_barrier",
        "pattern=back_to_back",
    ]
    cells = [f"coll collective=bcast {pattern} {EFFORT}" for pattern in patterns]
    done = ranks.run_plan(tmp_path / "run", cells, ranks=4)
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "run" / "samples.blk")
    shapes = [
        {
            phase: sorted(
                (int(index.headers["rank"][i]), int(index.headers["allocation"][i]), int(index.headers["n"][i]))
                for i in index.select(cell=cell, phase=phase)
                if int(index.headers["part"][i]) == 0
            )
            for phase in ("first", "steady")
        }
        for cell in range(len(cells))
    ]
    assert shapes[0] == {"first": [(rank, 0, 1) for rank in range(4)], "steady": [(rank, 0, 8) for rank in range(4)]}
    assert shapes[1] == {"first": [(rank, 0, 7) for rank in range(4)], "steady": []}
    assert shapes[2]["steady"] == [(rank, number, 8) for rank in range(4) for number in range(3)]
    assert shapes[3]["steady"] == [(0, 0, 8), (1, 0, 8)], "the others are outside"
    releases = read_events(tmp_path / "run" / "events.jsonl").of(Release)
    assert [release.by for release in releases] == ["shared memory"] * 7
    assert [release.together_ns is not None for release in releases] == [False] * 4 + [True] + [False] * 2
    assert shapes[5] == shapes[6] == shapes[0]
    assert [release.late_starts is None for release in releases] == [False] * 5 + [True] * 2, "no deadline in a loop"
    parts = [index.headers["part"][i] for i in index.select(cell=1, phase="first")]
    assert sorted(int(part) for part in parts) == [0] * 4 + [1] * 4, "how late each entry was"


def test_overlap_has_three_parts_on_each_rank_and_right_results(ranks: Ranks, tmp_path: Path) -> None:
    words = ["--pattern", "overlap", "--start", "nonblocking", "--collective", "allreduce,bcast,alltoall"]
    done = ranks.run_engine("coll", *words, "--samples", "9", "--time-limit-s", "0.01", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert {event["status"] for event in events_in(tmp_path) if event["event"] == "cell_end"} == {"ok"}
    index = scan(tmp_path / "samples.blk")
    for rank in (0, 1):
        blocks = index.select(cell=0, rank=rank, phase="steady")
        parts = dict(zip(index.headers["part"][blocks].tolist(), index.headers["n"][blocks].tolist(), strict=True))
        assert {0, 2, 3} <= set(parts)
        assert len({parts[part] for part in (0, 2, 3)}) == 1


def test_what_cannot_be_meant_is_refused(ranks: Ranks, tmp_path: Path) -> None:
    refused = {
        "collective=bcast in_place=on": "bcast takes no MPI_IN_PLACE",
        "datatype=double message_bytes=12": "message_bytes 12 is no multiple of 8 B",
        "shape=one_type": "needs op=user",
        "collective=barrier op=user": "barrier has no op",
        "collective=barrier root=last": "barrier has no root",
        "pattern=counted arrival=linear": "needs pattern=calls",
        "pattern=back_to_back arrival=linear": "needs pattern=calls",
    }
    plan = tmp_path / "plan.txt"
    cells = [f"cell {number} coll {text}" for number, text in enumerate(refused)]
    plan.write_text("\n".join(["slowpath-plan 1", "launch 7", "seed 3", *cells, ""]))
    done = ranks.run_engine("check", "--plan", str(plan), ranks=1)
    assert done.returncode == 2
    for reason in refused.values():
        assert reason in done.stdout
