# SPDX-License-Identifier: Apache-2.0
"""slowpath-ipc against the stub driver: a planted law is found, and the record is as docs/results/gpu.md says."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from ranks import Process, finished

from slowpath.record.blocks import BlockIndex, read, scan
from slowpath.record.events import read_events
from slowpath.run.engine.cache import Engine

KIB, MIB = 1 << 10, 1 << 20
STEPS = ("export", "open", "first_access", "close", "reopen", "close_again")
Run = Callable[..., Process]


@pytest.fixture
def ipc(engine: Engine, stub: Path) -> Run:
    """Runs slowpath-ipc, which is built beside the engine."""

    def run(words: str, **variables: str) -> Process:
        env = {**os.environ, "SLOWPATH_CUDA_DRIVER": str(stub), **variables}
        return finished([engine.program.parent / "slowpath-ipc", *shlex.split(words)], env)

    return run


def step_us(index: BlockIndex, cell: int, step: str, phase: str) -> list[float]:
    """Durations of one step of one cell, in us."""
    chosen = [i for i in index.select(cell=cell, phase=phase) if index.headers["seq0"][i] == STEPS.index(step)]
    return [read(index, int(i)).duration_ns[0] / 1e3 for i in chosen]


def test_a_planted_law_is_found_again(ipc: Run, tmp_path: Path) -> None:
    ns_per_page = 200  # 0.8 ms in all: shorter than a turn of the scheduler, so that some repetition is whole
    done = ipc(
        f"--allocation-bytes 16MiB --overalloc-bytes 0,1,64KiB,2MiB --repetitions 15 --out '{tmp_path}'",
        SLOWPATH_STUB_CUDA_OPEN_NS_PER_PAGE=str(ns_per_page),
    )
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "samples.blk")
    pages = [8, 4097, 257, 9]
    for step, phase in (("open", "first"), ("reopen", "steady")):
        # The least of several: what other processes on the machine take is only ever added.
        least = [min(step_us(index, cell, step, phase)) for cell in range(4)]
        for cell in range(4):
            assert least[cell] >= pages[cell] * ns_per_page / 1e3
        slope = np.polyfit(pages, least, 1)[0]
        assert slope == pytest.approx(ns_per_page / 1e3, rel=0.1)
    for step in ("export", "first_access", "close"):
        assert min(step_us(index, 1, step, "first")) < pages[1] * ns_per_page / 1e3 / 10


def test_padding_takes_the_law_away(ipc: Run, tmp_path: Path) -> None:
    done = ipc(
        f"--allocation-bytes 16MiB+1 --pad-to-bytes 0,2MiB --out '{tmp_path}'",
        SLOWPATH_STUB_CUDA_OPEN_NS_PER_PAGE="2000",
    )
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "samples.blk")
    without, padded = (min(step_us(index, cell, "open", "first")) for cell in (0, 1))
    assert padded < without / 10
    assert {a.allocation_bytes for a in read_events(tmp_path / "events.jsonl").allocations(1)} == {18 * MIB}


def test_every_step_of_every_allocation_is_a_block(ipc: Run, tmp_path: Path) -> None:
    done = ipc(f"--allocation-bytes 64KiB --live 3 --repetitions 4 --warmups 2 --out '{tmp_path}'")
    assert done.returncode == 0, done.stderr
    index = scan(tmp_path / "samples.blk")
    assert not index.notes
    seen = {(int(h["allocation"]), int(h["seq0"])) for h in index.headers}
    assert seen == {(a, s) for a in range(18) for s in range(6)}
    assert len(index) == len(seen)
    for i, header in enumerate(index.headers):
        allocation, step = int(header["allocation"]), int(header["seq0"])
        assert header["rank"] == (0 if step == 0 else 1)
        assert index.phase(i) == ("warmup" if allocation < 6 else "first" if step < 4 else "steady")
        samples = read(index, i)
        assert samples.start_ns is not None
        assert len(samples.duration_ns) == header["batch"] == 1
        assert samples.duration_ns[0] > 0
    begin = {(int(h["allocation"]), int(h["seq0"])): int(h["t0_ns"]) for h in index.headers}
    # All of a repetition are open before the first of them is closed.
    assert max(begin[a, 1] for a in (6, 7, 8)) < min(begin[a, 3] for a in (6, 7, 8))


def test_the_events_name_both_processes_and_each_allocation(ipc: Run, tmp_path: Path) -> None:
    ipc(f"--allocation-bytes 64KiB,128KiB --overalloc-bytes 1 --repetitions 3 --out '{tmp_path}'")
    events = read_events(tmp_path / "events.jsonl")
    assert not events.notes
    assert events.size == 2
    assert len({rank.pid for rank in events.ranks}) == 2
    assert [end.status for end in events.cell_ends.values()] == ["ok", "ok"]
    assert events.cell_ends[0].validated_bytes == 4 * 64
    exported = [a for a in events.allocations(1) if a.role == "export"]
    assert [a.index for a in exported] == [0, 1, 2, 3]
    assert {a.allocation_bytes for a in exported} == {128 * KIB + 1}
    # The one before still stands when the next is made.
    assert all(a.address != b.address for a, b in pairwise(exported))
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    ranges = [line for line in lines if line["event"] == "allocation" and line["role"] == "export"]
    assert all(line["range_base"] == line["base"] for line in ranges)
    assert all(line["range_bytes"] == line["allocation_bytes"] for line in ranges)


def test_a_table_of_medians(ipc: Run) -> None:
    done = ipc("--allocation-bytes 64KiB --overalloc-bytes 0,1")
    header, columns, *rows = done.stdout.splitlines()
    assert header == "# ipc"
    assert columns.split()[:4] == ["#", "Size", "Export", "(us)"]
    assert [row.split()[0] for row in rows] == ["65536", "65537"]
    assert all(float(number) > 0 for row in rows for number in row.split()[1:])
    assert not done.stderr


@pytest.mark.parametrize(
    ("words", "variables", "code", "says"),
    [
        ("", {"SLOWPATH_CUDA_DRIVER": "libslowpath-no-such-driver.so"}, 4, "no CUDA driver"),
        ("", {"SLOWPATH_CUDA_DRIVER": "libc.so.6"}, 4, "lacks cuInit"),
        ("", {"SLOWPATH_STUB_CUDA_DEVICES": "0"}, 4, "no device"),
        ("", {"SLOWPATH_STUB_CUDA_FAIL": "cuIpcOpenMemHandle_v2=2"}, 4, "cuIpcOpenMemHandle: CUDA_ERROR_OUT_OF"),
        ("", {"SLOWPATH_STUB_CUDA_FAIL": "cuIpcGetMemHandle=2"}, 4, "cuIpcGetMemHandle: CUDA_ERROR_OUT_OF"),
        ("--alocation-bytes 8", {}, 2, "did you mean allocation_bytes"),
        ("--allocation-bytes 8 --access-bytes 9", {}, 2, "more than the allocation's 8 bytes"),
        ("--allocation-bytes 1GB", {}, 2, "1GB"),
        ("--out /dev/null/record", {}, 4, "can't make the folder"),
    ],
)
def test_what_is_wrong_is_one_line(ipc: Run, words: str, variables: dict[str, str], code: int, says: str) -> None:
    done = ipc(words, **variables)
    assert done.returncode == code
    assert done.stderr.startswith("slowpath-ipc: error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_a_cell_that_this_machine_cannot_do_is_skipped(ipc: Run) -> None:
    done = ipc("--allocation-bytes 64KiB --importer-device 0,3 --repetitions 1")
    assert done.returncode == 0
    assert "# 65536 skipped: there is no device 3" in done.stdout
    done = ipc("--allocation-bytes 1MiB,2MiB", SLOWPATH_STUB_CUDA_MOST_BYTES=str(MIB))
    assert done.returncode == 0
    assert "# 2097152 skipped: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY" in done.stdout
