# SPDX-License-Identifier: Apache-2.0
"""NCCL calls from records with planted times: operations, late ranks, first use, words; and damaged records."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from slowpath.watch.brief import brief_of
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.nccl.record import HEADER, read_nccl, read_nccl_records
from slowpath.watch.nccl.results import NcclUse
from slowpath.watch.nccl.text import sentences, table_lines
from slowpath.watch.nccl.use import nccl_use
from slowpath.watch.report.write import rebuild
from slowpath.watch.results import WatchResults, read_watch_results
from slowpath.watch.start.session import troubles
from support.nccl_record import MS, US, NcclProcess, S, late_job

RUN_S = 10.0


def used(folder: Path, processes: list[NcclProcess], run_s: float | None = RUN_S) -> NcclUse:
    for process in processes:
        process.write(folder)
    found = nccl_use(folder, run_s)
    assert found is not None
    return found


def test_a_late_rank_is_named_with_how_late_it_is(tmp_path: Path) -> None:
    use = used(tmp_path, late_job())
    (late,) = use.late
    assert (late.rank, late.calls, late.last_share) == (1, 200, 1.0)
    assert (late.function, late.bytes) == ("AllReduce", 64 * 2**20)
    assert late.late_s == pytest.approx(2e-3)
    assert late.late_interval == pytest.approx((2e-3, 2e-3))
    assert late.waited_s == pytest.approx(200 * 2e-3)
    assert late.share == pytest.approx(0.04)
    words = "rank 1 comes last in 100 % of 200 AllReduce of 64 MiB, by 2"
    assert any(words in line and "waits for it for 0.400 s" in line for line in sentences(use))


def test_a_rank_that_is_late_in_some_collectives_is_named_by_those(tmp_path: Path) -> None:
    """200 late ones among 2,000 that are not, in which either rank is last by some microseconds."""
    processes = late_job(rounds=200)
    for i in range(2000):
        for rank, process in enumerate(processes):
            process.call(0, "AllGather", 100, 6 * S + i * MS, 20 * US + ((i + rank) % 2) * 7 * US)
    late = used(tmp_path, processes).late
    assert (late[0].rank, late[0].function, late[0].calls, late[0].last_share) == (1, "AllReduce", 200, 1.0)
    assert late[0].late_s == pytest.approx(2e-3)
    assert late[0].waited_s == pytest.approx(0.4 + 1000 * 7e-6, rel=1e-3)
    assert late[1].waited_s == pytest.approx(1000 * 7e-6, rel=1e-3)


def test_a_rank_that_is_late_in_two_communicators_has_one_line(tmp_path: Path) -> None:
    processes = late_job()
    for rank, process in enumerate(processes):
        number = process.communicator(rank, 2, identity=78)
        for i in range(30):
            process.call(number, "Reduce", 100, 4 * S + i * 10 * MS, (1 if rank else 9) * MS)
    use = used(tmp_path, processes)
    assert len(use.late) == 2
    (line,) = [line for line in sentences(use) if "comes last" in line]
    assert "AllReduce" in line


def test_ranks_that_come_together_are_not_late(tmp_path: Path) -> None:
    assert used(tmp_path, late_job(late_ns=2 * US)).late == ()


def test_an_operation_has_its_bus_bandwidth_without_waiting(tmp_path: Path) -> None:
    use = used(tmp_path, late_job(ranks=4))
    (operation,) = use.operations
    assert (operation.function, operation.bytes, operation.ranks, operation.datatype) == (
        *("AllReduce", 64 * 2**20, 4, "Float32"),
    )
    assert (operation.algorithm, operation.protocol, operation.channels) == ("RING", "SIMPLE", 4)
    assert operation.calls == 4 * 201
    assert operation.work_s == pytest.approx(1e-3)
    assert operation.bus_bytes_per_s == pytest.approx(1.5 * 64 * 2**20 / 1e-3)
    assert operation.wait_s == pytest.approx(0.75 * 2e-3)
    assert operation.mean_s == pytest.approx(2.5e-3)
    assert operation.seconds == pytest.approx(201 * 2.5e-3)
    assert operation.launch_s == pytest.approx(20e-6)
    assert operation.first_launch_s == pytest.approx(0.4)
    assert use.busy_s == pytest.approx(201 * 2.5e-3)


FACTORS = [
    ("AllReduce", 1, 2 * 3 / 4),
    ("AllGather", 4, 3 / 4),
    ("ReduceScatter", 4, 3 / 4),
    ("Broadcast", 1, 1.0),
    ("Reduce", 1, 1.0),
]


@pytest.mark.parametrize(("function", "parts", "factor"), FACTORS)
def test_bus_bandwidth_is_that_of_nccl_tests(tmp_path: Path, function: str, parts: int, factor: float) -> None:
    processes = [NcclProcess(rank) for rank in range(4)]
    for rank, process in enumerate(processes):
        number = process.communicator(rank, 4)
        for i in range(20):
            process.call(number, function, 1000, S + i * MS, 100 * US, datatype="ncclBfloat16")
    (operation,) = used(tmp_path, processes).operations
    assert operation.bytes == 2000 * parts
    assert operation.bus_bytes_per_s == pytest.approx(factor * 2000 * parts / 100e-6)


def test_calls_that_share_a_kernel_have_no_bandwidth(tmp_path: Path) -> None:
    processes = [NcclProcess(rank) for rank in range(2)]
    for rank, process in enumerate(processes):
        number = process.communicator(rank, 2)
        for i in range(20):
            process.call(number, "AllReduce", 1000, S + i * MS, 100 * US, group_calls=3)
    (operation,) = used(tmp_path, processes).operations
    assert operation.group_calls == 3
    assert operation.bus_bytes_per_s is None


def test_a_message_takes_what_it_takes_on_the_side_that_came_last(tmp_path: Path) -> None:
    processes = [NcclProcess(rank) for rank in range(2)]
    for rank, process in enumerate(processes):
        number = process.communicator(rank, 2)
        for i in range(30):
            took_ns = (5 if rank else 1) * MS
            process.call(number, "Recv" if rank else "Send", 10**6, S + i * 10 * MS, took_ns, peer=1 - rank)
    operations = {one.function: one for one in used(tmp_path, processes).operations}
    assert operations["Send"].work_s == operations["Recv"].work_s == pytest.approx(1e-3)
    assert operations["Recv"].wait_s == pytest.approx(2e-3)
    assert operations["Recv"].mean_s == pytest.approx(5e-3)
    assert operations["Send"].bus_bytes_per_s == pytest.approx(4e6 / 1e-3)


def test_the_first_call_of_a_communicator_is_apart(tmp_path: Path) -> None:
    use = used(tmp_path, late_job())
    (first,) = use.first_uses
    assert (first.function, first.bytes, first.ranks) == ("AllReduce", 64 * 2**20, 2)
    assert first.launch_s == pytest.approx(0.4)
    assert first.later_launch_s == pytest.approx(20e-6)
    assert any(line.startswith("NCCL first use: the first AllReduce") for line in sentences(use))


def test_the_first_message_of_a_communicator_is_apart(tmp_path: Path) -> None:
    processes = late_job()
    for rank, process in enumerate(processes):
        for i in range(5):
            launch_ns = (300 if i == 0 else 1) * MS
            process.call(0, "Recv" if rank else "Send", 10, 5 * S + i * MS, MS, peer=1 - rank, launch_ns=launch_ns)
    use = used(tmp_path, processes)
    assert [(first.function, round(first.launch_s, 6)) for first in use.first_uses] == [
        ("AllReduce", 0.4),
        ("Send", 0.3),
    ]
    assert any(line.startswith("NCCL first use: the first Send") for line in sentences(use))


def test_nothing_is_said_of_the_first_call_where_the_interface_does_not_report_it(tmp_path: Path) -> None:
    processes = late_job()
    for process in processes:
        process.interface = 4
    assert used(tmp_path, processes).first_uses == ()


def test_little_nccl_is_not_worth_a_line(tmp_path: Path) -> None:
    assert sentences(used(tmp_path, late_job(rounds=20, late_ns=US), run_s=100.0)) == []


def test_much_nccl_is_worth_one(tmp_path: Path) -> None:
    line = sentences(used(tmp_path, late_job(), run_s=1.0))[0]
    assert line.startswith("NCCL: AllReduce of 64 MiB (RING SIMPLE) takes most, ")
    assert "67.1 GB/s" in line  # 2 (n - 1) / n is 1 for two ranks


def test_the_table_has_each_kind(tmp_path: Path) -> None:
    lines = table_lines(used(tmp_path, late_job()))
    assert lines[0] == "NCCL calls by the GPU timer:"
    assert "AllReduce" in lines[2]
    assert "RING SIMPLE, 4 channels" in lines[2]


def test_a_missing_record_leaves_waiting_open(tmp_path: Path) -> None:
    use = used(tmp_path, late_job(ranks=3)[:2])
    assert use.late == ()
    assert use.operations[0].work_s is None
    assert use.operations[0].mean_s is not None
    assert any("lack records (2 of 3 ranks left one)" in note for note in use.notes)


def test_a_timer_in_other_units_is_brought_to_seconds(tmp_path: Path) -> None:
    """RCCL's counts 100 MHz."""
    processes = late_job()
    for process in processes:
        process.samples = [
            (number, start, launched, begin // 10, end // 10, seen, row, peer, 0)
            for number, start, launched, begin, end, seen, row, peer, _ in process.samples
        ]
        for row in process.rows.values():
            row["gpu"] = [value // 10 for value in row["gpu"]]
            row["first_gpu_ns"] //= 10
    use = used(tmp_path, processes)
    assert use.late[0].late_s == pytest.approx(2e-3, rel=0.01)
    assert use.operations[0].mean_s == pytest.approx(2e-3, rel=0.01)
    assert any("does not count nanoseconds" in note for note in use.notes)


def test_a_mismatch_of_collectives_is_not_matched(tmp_path: Path) -> None:
    processes = late_job(rounds=20)
    for i in range(20):
        processes[0].call(0, "AllReduce", 5, 5 * S + i * MS, 9 * MS)
        processes[1].call(0, "Broadcast", 5, 5 * S + i * MS, 1 * MS)
    (late,) = used(tmp_path, processes).late
    assert late.calls == 20


def test_untimed_kernels_leave_counts_and_launches(tmp_path: Path) -> None:
    processes = [NcclProcess(rank, timer=0) for rank in range(2)]
    for rank, process in enumerate(processes):
        number = process.communicator(rank, 2)
        for i in range(5):
            process.call(number, "AllReduce", 100, S + i * MS, 0)
    use = used(tmp_path, processes)
    assert (use.timer, use.busy_s, use.share) == ("host only", None, None)
    assert use.operations[0].seconds is None
    assert use.operations[0].launch_s == pytest.approx(20e-6)
    assert any("SLOWPATH_NCCL_KERNELS" in note for note in use.notes)


def info(folder: Path) -> None:
    words = {"slowpath": "1", "started": "2026-01-01T00:00:00Z", "working_folder": "/", "host": "node1"}
    write_watch(folder, WatchInfo(command=("train",), library="/l.so", wall_s=RUN_S, exit_code=0, **words))


def test_a_program_without_mpi_has_a_verdict_and_a_page(tmp_path: Path) -> None:
    info(tmp_path)
    for process in late_job():
        process.write(tmp_path)
    assert troubles(tmp_path, {}) == (True, [])
    results = rebuild(tmp_path)
    assert results.program.program == "train"
    assert results.verdict[0].startswith("train: 2 ranks by NCCL, 10.0 s; NCCL's kernels run for 0.40")
    assert read_watch_results(tmp_path) == results
    msgspec.json.decode(msgspec.json.encode(results), type=WatchResults)
    lines = brief_of(results, str(tmp_path), "page").lines()
    assert "rank 1 comes last" in " ".join(lines)
    assert not any("MPI" in line for line in lines)
    page = (tmp_path / "report.html").read_text()
    assert 'id="nccl"' in page
    assert "No rank left a record" not in page


def test_no_record_is_no_use(tmp_path: Path) -> None:
    (tmp_path / "ranks").mkdir()
    assert nccl_use(tmp_path, 1.0) is None


@pytest.mark.parametrize("kept", [0, 8, 100, HEADER.itemsize - 1])
def test_a_record_without_its_header_is_a_note(tmp_path: Path, kept: int) -> None:
    whole, cut = late_job(rounds=20)
    whole.write(tmp_path)
    path = cut.write(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    records, notes = read_nccl_records(tmp_path)
    assert len(records) == 1
    assert len(notes) == 1
    assert "is not a record of NCCL calls" in notes[0]


def test_any_bytes_are_read_within_limits(tmp_path: Path) -> None:
    """Each field once at its largest, and random bytes: what comes out can be written and read again."""
    random = np.random.default_rng(5)
    good = [process.write(tmp_path).read_bytes() for process in late_job(rounds=20)]
    paths = sorted((tmp_path / "ranks").iterdir())
    for trial in range(60):
        for path, content in zip(paths, good, strict=True):
            bad = bytearray(content)
            low = 8 if trial % 2 else 4096
            for at in random.integers(low, len(bad), 1 + trial // 4):
                bad[at] = 255 if trial % 3 else int(random.integers(256))
            path.write_bytes(bytes(bad))
        found = nccl_use(tmp_path, RUN_S)
        if found is not None:
            assert msgspec.json.decode(msgspec.json.encode(found), type=NcclUse) == found
            table_lines(found)
            sentences(found)


def test_a_newer_layout_is_said_to_be_newer(tmp_path: Path) -> None:
    path = late_job(rounds=2)[0].write(tmp_path)
    content = bytearray(path.read_bytes())
    content[8] = 9
    path.write_bytes(bytes(content))
    with pytest.raises(Exception, match="newer than 1"):
        read_nccl(path)
