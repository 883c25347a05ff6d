# SPDX-License-Identifier: Apache-2.0
"""libslowpath-nccl.so as NCCL would use it: each version of the interface, threads, and how a process may end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slowpath.run.engine.elf import dynamic
from slowpath.watch.nccl.record import NcclRecord, Timer, read_nccl_records
from slowpath.watch.nccl.use import nccl_use
from slowpath.watch.start.library import nccl_library

MS = 1_000_000
VERSIONS = (1, 2, 3, 4, 5)
Start = Callable[..., str]


@pytest.fixture(scope="module")
def plugin(watch_library: Path) -> Path:
    """libslowpath-nccl.so, next to the other library."""
    found = nccl_library(watch_library)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """nccl_host.c, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    program = tmp_path_factory.mktemp("host") / "nccl_host"
    source = Path(__file__).with_name("nccl_host.c")
    subprocess.run([compiler, "-O1", "-pthread", "-o", str(program), str(source), "-ldl"], check=True)
    return program


@pytest.fixture
def start(host: Path, plugin: Path, tmp_path: Path) -> Start:
    """Runs the host with its records in tmp_path/ranks; what it prints."""
    (tmp_path / "ranks").mkdir()

    def run(version: int, rank: int = 0, ranks: int = 2, calls: int = 100, threads: int = 1, how: str = "finalize",
            code: int = 0, **variables: str) -> str:  # fmt: skip
        environ = {**os.environ, "SLOWPATH_WATCH": str(tmp_path / "ranks"), **variables}
        words = [str(word) for word in (host, plugin, version, rank, ranks, calls, threads, how)]
        done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


def only(folder: Path) -> NcclRecord:
    records, notes = read_nccl_records(folder)
    assert notes == []
    (record,) = records
    return record


def by_function(record: NcclRecord) -> dict[str, np.void]:
    return {row["function"].decode(): row for row in record.rows}


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_and_planted_times(start: Start, tmp_path: Path, version: int) -> None:
    start(version, calls=100)
    record = only(tmp_path)
    assert int(record.header["interface_version"]) == version
    assert record.timer == (Timer.PROXY if version < 4 else Timer.GPU)
    (communicator,) = record.communicators
    assert (int(communicator["id"]), int(communicator["rank"]), communicator["name"]) == (1000, 0, b"pair")
    assert int(communicator["ranks"]) == (2 if version >= 4 else -1)
    assert (int(communicator["calls"]), int(communicator["is_closed"])) == (100, 1)
    rows = by_function(record)
    assert {name: (int(row["calls"]), int(row["count"]), row["datatype"].decode()) for name, row in rows.items()} == {
        "AllReduce": (50, 2**20, "ncclFloat32"),
        "AllGather": (40, 4096, "ncclFloat32"),
        "Send": (10, 500, "ncclBfloat16"),
    }
    assert (rows["AllReduce"]["algorithm"], rows["AllReduce"]["protocol"]) == (b"RING", b"SIMPLE")
    assert int(rows["AllReduce"]["channels"]) == 3
    assert [int(row["group_calls"]) for row in record.rows] == [1, 1, 1]
    assert int(rows["AllReduce"]["host_calls"]) == 49
    assert int(rows["AllReduce"]["gpu_calls"]) == 49
    if version >= 4:
        assert {int(row["first_gpu_ns"]) for row in record.rows} == {3 * MS}
        assert int(rows["AllReduce"]["gpu_ns"]) == 49 * 3 * MS
        assert int(communicator["busy_ns"]) == 100 * 3 * MS
        assert set((record.samples["gpu_end_ns"] - record.samples["gpu_start_ns"]).tolist()) == {3 * MS}
    collectives = record.samples[record.samples["peer"] < 0]
    assert sorted(collectives["number"].tolist()) == list(range(1, 91))
    assert set(record.samples["peer"].tolist()) == {-1, 1}
    assert (record.samples["launched_ns"] >= record.samples["start_ns"]).all()


@pytest.mark.parametrize("version", [3, 4, 5])
def test_threads_lose_nothing(start: Start, tmp_path: Path, version: int) -> None:
    start(version, calls=1500, threads=6)
    record = only(tmp_path)
    assert record.communicators["calls"].tolist() == [1500] * 6
    assert sorted(record.communicators["id"].tolist()) == list(range(1000, 1006))
    assert int(record.rows["calls"].sum()) == 9000
    if version >= 4:
        assert record.communicators["busy_ns"].tolist() == [1500 * 3 * MS] * 6
        assert int(record.header["unfinished"]) == 0


def test_two_ranks_show_the_late_one(start: Start, tmp_path: Path) -> None:
    for rank in (0, 1):
        start(5, rank=rank, calls=200)
    use = nccl_use(tmp_path, 10.0)
    assert use is not None
    (late,) = use.late
    assert (late.rank, late.last_share, late.late_s) == (1, 1.0, pytest.approx(2e-3))
    assert {one.function: one.work_s for one in use.operations}["AllReduce"] == pytest.approx(1e-3)


def test_a_long_run_keeps_the_same_calls_on_each_rank(start: Start, tmp_path: Path) -> None:
    for rank in (0, 1):
        start(4, rank=rank, calls=80_000)
    one, other = read_nccl_records(tmp_path)[0]
    assert one.samples.size <= 32768
    assert int(one.header["sampled_below"]) < 2**64 - 1
    kept = [set(record.samples["number"][record.samples["peer"] < 0].tolist()) for record in (one, other)]
    assert kept[0] == kept[1]
    assert len(kept[0]) > 10_000
    assert int(one.rows["calls"].sum()) == 80_000


@pytest.mark.parametrize("how", ["exit", "fork", "twice"])
def test_however_a_process_ends_its_record_is_whole(start: Start, tmp_path: Path, how: str) -> None:
    start(5, how=how)
    record = only(tmp_path)
    assert int(record.rows["calls"].sum()) == 100
    assert int(record.header["is_closed"]) == 1


def test_a_killed_process_leaves_what_was_there_a_second_ago(start: Start, tmp_path: Path) -> None:
    start(5, how="kill", code=-9)
    record = only(tmp_path)
    assert int(record.header["is_closed"]) == 0
    assert int(record.rows["calls"].sum()) >= 100


def test_calls_that_never_end_are_counted(start: Start, tmp_path: Path) -> None:
    start(5, how="open", calls=10_000)
    record = only(tmp_path)
    assert int(record.rows["calls"].sum()) == 10_000
    assert int(record.rows["gpu_calls"].sum()) == 0


def test_without_kernels_there_are_launches(start: Start, tmp_path: Path) -> None:
    assert start(5, SLOWPATH_NCCL_KERNELS="0") == "mask 1543 context 1\n"
    record = only(tmp_path)
    assert record.timer == Timer.HOST_ONLY
    assert int(record.rows["host_calls"].sum()) == 97
    assert int(record.rows["gpu_calls"].sum()) == 0


@pytest.mark.parametrize("folder", ["", "/nowhere/at/all", "/dev/null"])
@pytest.mark.parametrize("version", [1, 5])
def test_where_nothing_can_be_recorded_nothing_is_asked_for(start: Start, version: int, folder: str) -> None:
    assert start(version, SLOWPATH_WATCH=folder) == "mask 0 context 0\n"


def test_a_limit_of_file_length_is_no_signal(host: Path, plugin: Path, tmp_path: Path) -> None:
    words = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *map(str, (host, plugin, 5, 0, 2, 10, 1, "finalize"))]
    environ = {**os.environ, "SLOWPATH_WATCH": str(tmp_path)}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "mask 0 context 0\n")


def test_it_needs_the_c_library_alone(plugin: Path) -> None:
    found = dynamic(plugin)
    assert found is not None
    assert {name.split(".")[0] for name in found.needed} <= {"libc", "libgcc_s", "ld-linux-x86-64"}


def test_a_watch_of_a_program_without_mpi(host: Path, watch_library: Path, tmp_path: Path) -> None:
    """Two processes that no MPI starts; NCCL's variable leads to the plugin, unless the user has set it."""
    ranks = 'for rank in 0 1; do "$1" "$NCCL_PROFILER_PLUGIN" 5 $rank 2 300 1 exit & done; wait'
    watch = [sys.executable, "-m", "slowpath.cli", "watch", "--library", str(watch_library), "--full"]
    argv = [*watch, "-o", str(tmp_path / "w"), "--", "sh", "-c", ranks, "sh", str(host)]
    environ = {name: value for name, value in os.environ.items() if name != "NCCL_PROFILER_PLUGIN"}
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "nccl_host: 2 ranks by NCCL" in done.stderr
    assert "NCCL: rank 1 comes last in 100 % of" in done.stderr
    assert "RING SIMPLE, 3 channels" in done.stderr
    argv = [*watch, "-o", str(tmp_path / "own"), "--dry-run", "--", "true"]
    environ["NCCL_PROFILER_PLUGIN"] = "none"
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=100, check=False)
    assert "NCCL_PROFILER_PLUGIN" not in done.stdout
