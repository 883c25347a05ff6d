# SPDX-License-Identifier: Apache-2.0
"""Logs that are cut, mixed, interleaved, in other units or too large: read right or refused in one line."""

from __future__ import annotations

import itertools
import os
import tracemalloc
from pathlib import Path

import pytest

from slowpath.analyse.build import build_results
from slowpath.core.errors import RecordError
from slowpath.plan.campaign import load
from slowpath.record.folder import launch_folder, read_run
from slowpath.record.imports import source as limits
from slowpath.record.imports.choose import import_files
from slowpath.record.imports.tables import PrintedTable, read_printed

OSU = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n"
BW = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"
MBW_MR = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
ROWS = "1  15.80\n2  15.90\n4  16.10\n"
REPRODUCER = "mem_type: host\np2p_size: 8\n[-1] time: 1\nDoing MPI_Send/Recv from rank 0 to rank 1, of 8 bytes\n"


def read(text: str, tmp_path: Path) -> list[PrintedTable]:
    log = tmp_path / "log.txt"
    log.write_text(text)
    return read_printed(launch_folder(import_files([log], tmp_path / "run"), 1))


def refused(text: str | bytes, tmp_path: Path) -> str:
    """What is said of a log, in one line; nothing is written."""
    log = tmp_path / "log.txt"
    log.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RecordError) as error:
        import_files([log], tmp_path / "run")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(f"{log}: ")
    assert not (tmp_path / "run").exists()
    return str(error.value).removeprefix(f"{log}: ")


def times_s(table: PrintedTable) -> dict[int | None, float | None]:
    return {row.message_bytes: row.operation_s for row in table.rows}


@pytest.mark.parametrize("kept", range(1, len("4  16.10\n")))
def test_a_last_row_that_may_be_cut_is_left_out_and_said(kept: int, tmp_path: Path) -> None:
    whole = OSU + ROWS
    table = read(whole[: len(whole) - len("4  16.10\n") + kept], tmp_path)[0]
    notes = " ".join(read_run(tmp_path / "run").notes + [str(n) for n in build_results(tmp_path / "run").notes])
    if kept == len("4  16.10"):  # as many decimals as all rows above: no digit can be missing
        assert times_s(table)[4] == pytest.approx(16.10e-6)
    else:
        assert times_s(table) == {1: pytest.approx(15.80e-6), 2: pytest.approx(15.90e-6)}
        assert "line 5, not a table's: no line end" in notes


def test_a_cut_last_time_of_a_reproducer_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(REPRODUCER + "[0:0] time: 3e-6\n[0:1] time: 1e-6\n[0:2] time: 1.2")  # of 1.25e-06
    results = build_results(import_files([log], tmp_path / "run"))
    assert results.cells[0].metrics["send_barrier_s"].phases["steady"].value == pytest.approx(1e-6)
    assert any("line 7" in note and "no line end" in note for note in results.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OSU + ROWS.replace("15.90", "15.9"), "line 4: damaged: 15.9, with other decimals"),
        (OSU + OSU + "1  1.00\n1  1.10\n", "line 6: a second length 1: two outputs"),
        (OSU + "1  1.00\n2  1.10\n" + BW + "4  1.20\n1  5.00\n", "line 8: a second series, of length 1: two outputs"),
        (REPRODUCER + "[0:0] time: 3e-6\n" + OSU + ROWS, "a reproducer (line 3) and OSU (line 6): two outputs"),
        ("0 1000 0.14 0.00\n1 1000 0.15 6.0\n" + OSU + ROWS, "line 2: damaged: rows without a heading"),
        (REPRODUCER + "[0:0] time: 1\n[-1] time: 1\n", "line 6: a second [-1] time"),
        (REPRODUCER + "[0:0] time: 1\n" + REPRODUCER.splitlines()[-1], "line 6: a second section"),
        (OSU.replace("(us)", "(fortnight)") + ROWS, "line 2: 'Latency (fortnight)' has no known unit"),
        (OSU.replace("Latency (us)", "Jitter (us)") + ROWS, "damaged: Jitter (us)"),
        (OSU.replace("(us)", "") + ROWS, "line 2: 'Latency' has no known unit"),
        (BW.replace("MB/s", "furlong") + ROWS, "'Bandwidth (furlong)' has no known unit"),
        (MBW_MR + "# [ pairs: 1 ] [ window size: varied ]\n", "many window sizes (-V)"),
        ("hello\n", "no output of gpudirect_p2p_overalloc"),
    ],
)  # fmt: skip
def test_what_can_not_be_trusted_is_refused(text: str, said: str, tmp_path: Path) -> None:
    assert said in refused(text, tmp_path)


TIMES_S = {"ns": 1e-9, "us": 1e-6, "usec": 1e-6, "\u00b5s": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
RATES = {"MB/s": 1e6, "MiB/s": 2**20, "GB/s": 1e9, "GiB/s": 2**30, "KB/sec": 1e3, "Mbps": 1e6 / 8, "Gb/s": 1e9 / 8}


@pytest.mark.parametrize(("unit", "second"), TIMES_S.items())
def test_times_are_in_the_unit_of_the_heading(unit: str, second: float, tmp_path: Path) -> None:
    rows = "1  480.00\n2  640.00\n"
    assert times_s(read(OSU.replace("us", unit) + rows, tmp_path)[0])[1] == pytest.approx(480 * second)


@pytest.mark.parametrize(("unit", "bytes_per_s"), RATES.items())
def test_bandwidths_are_in_the_unit_of_the_heading(unit: str, bytes_per_s: float, tmp_path: Path) -> None:
    rows = "1048576  2.00\n2097152  2.50\n"
    assert times_s(read(BW.replace("MB/s", unit) + rows, tmp_path)[0])[2**20] == pytest.approx(2**20 / 2 / bytes_per_s)


def test_a_time_that_whole_nanoseconds_would_change_is_missing(tmp_path: Path) -> None:
    row = read(OSU.replace("us", "ns") + "1  1.30\n2  1.50\n", tmp_path)[0].rows[0]
    assert row.operation_s is None
    assert "below whole nanoseconds" in str(row.reason)


WINDOWS = ("MPI_Win_create", "MPI_Win_allocate", "MPI_Win_create_dynamic")
SYNCHRONISATIONS = (
    "MPI_Win_lock/unlock",
    "MPI_Win_post/start/complete/wait",
    "MPI_Win_fence",
    "MPI_Win_flush",
    "MPI_Win_flush_local",
    "MPI_Win_lock_all/unlock_all",
)
# Titles and columns as OSU 5.3 to 7.4 print them (c/mpi/one-sided, c/util/osu_util_mpi.c).
ONE_SIDED = (
    ("MPI_Put{} Latency", "Latency (us)"),
    ("MPI_Get{} latency", "Latency (us)"),
    ("MPI_Accumulate{} latency", "Latency (us)"),
    ("MPI_Compare_and_swap{} latency", "Latency (us)"),
    ("MPI_Put{} Bandwidth", "Bandwidth (MB/s)"),
    ("MPI_Put{} Bi-directional Bandwidth", "Bandwidth (MB/s)"),
    ("MPI_Put{} Latency", "Latency (us)   P50 Tail Lat(us)   P99 Tail Lat(us)"),
)


@pytest.mark.parametrize(("title", "columns"), ONE_SIDED)
def test_every_heading_of_one_sided_tables_is_read(title: str, columns: str, tmp_path: Path) -> None:
    ways = itertools.product(WINDOWS, SYNCHRONISATIONS, ("", "-CUDA"))
    logs = []
    values = "   2.25" * columns.count("(")
    for number, (window, way, gpu) in enumerate(ways):
        version = ("v5.3", "v7.4")[number // 2 % 2]
        logs.append(tmp_path / f"{number}.txt")
        lines = [
            f"# OSU {title.format(gpu)} Test {version}",
            f"# Window creation: {window}",
            f"# Synchronization: {way}",
        ]
        lines += ["# Datatype: MPI_CHAR."] * (version == "v7.4")
        lines += ["# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)"] * bool(gpu)
        logs[-1].write_text("\n".join([*lines, f"# Size          {columns}", f"8 {values}", f"16 {values}", ""]))
    results = build_results(import_files(logs, tmp_path / "run"))
    assert len(results.cells) == 2 * len(logs)
    assert {cell.status for cell in results.cells} == {"ok"}
    for cell in results.cells:
        engines = "Put" in title and "Lat" in title and "device:host" not in cell.parameters.values()
        engines &= "lock_all" not in cell.group
        assert cell.experiment == ("put" if engines else "printed")
        assert cell.parameters["pattern"] == ("burst" if engines else "operation")
        metric = cell.metrics["time_per_put_s" if engines else "operation_s"].phases["steady"]
        expected = 2.25e-6 if "Latency" in columns else int(cell.parameters["message_bytes"]) / 2.25e6
        assert metric.value == pytest.approx(expected, rel=1e-3)
    if "Put" in title and "Latency (us)" in columns:
        assert {cell.experiment for cell in load(tmp_path / "run" / "campaign.toml").cells} == {"put"}


def test_tables_of_several_datatypes_are_apart(tmp_path: Path) -> None:
    rows = "# Size      Bandwidth (MB/s)\n8 1.00\n16 2.00\n"
    text = f"# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n{rows}# Datatype: MPI_INT.\n{rows}"
    assert [table.variant for table in read(text, tmp_path)] == ["v7.4", "v7.4, MPI_INT"]
    assert build_results(tmp_path / "run").contrasts == []


def test_rows_of_one_log_are_never_two_sides(tmp_path: Path) -> None:
    assert len(read(OSU + ROWS + OSU + ROWS, tmp_path)) == 2
    assert build_results(tmp_path / "run").contrasts == []


def test_a_heading_without_rows_is_said(tmp_path: Path) -> None:
    read(BW + OSU + ROWS, tmp_path)
    assert any("line 1, " in n and "no rows of osu_bw" in n for n in build_results(tmp_path / "run").notes)


def test_an_index_beyond_the_limit_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    said = refused(REPRODUCER + "[0:0] time: 1\n[0:999999999] time: 1\n", tmp_path)
    sparse = REPRODUCER + "[0:99999] time: 1\n[99999:0] time: 1\n"  # 10^10 that lack
    (tmp_path / "sparse").mkdir()
    (tmp_path / "sparse" / "log.txt").write_text(sparse)
    run = import_files([tmp_path / "sparse" / "log.txt"], tmp_path / "sparse" / "run")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "damaged: 999999999" in said
    assert peak < 100e6
    assert len((launch_folder(run, 1) / "events.jsonl").read_bytes()) < 10_000


def test_limits_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINES", 10)
    monkeypatch.setattr(limits, "MAX_LINE_CHARACTERS", 200)
    monkeypatch.setattr(limits, "MAX_ROWS", 5)
    assert "over 10 lines" in refused(OSU + "x\n" * 9, tmp_path)
    assert "line 3: cannot be read: over 200 characters" in refused(OSU + "x" * 201 + "\n", tmp_path)
    assert "over 5 rows of all logs" in refused(OSU + "".join(f"{i} 1.00\n" for i in range(6)), tmp_path)
    monkeypatch.setattr(limits, "MAX_FILES", 2)
    logs = [tmp_path / f"{i}.txt" for i in range(3)]
    with pytest.raises(RecordError, match=r"3 logs: cannot be read: over 2 logs"):
        import_files(logs, tmp_path / "run")
    monkeypatch.setattr("slowpath.record.imports.source.MAX_LOG_BYTES", 100)
    assert "bytes, and the limit is 100" in refused(OSU + "x" * 100, tmp_path)
    monkeypatch.setattr("slowpath.record.imports.source.MAX_LOG_BYTES", 1000)
    monkeypatch.setattr("slowpath.record.imports.source.MAX_TOTAL_BYTES", 150)
    for log in logs[:2]:
        log.write_text(OSU + ROWS)
    with pytest.raises(RecordError, match=r"1.txt: cannot be read: over 0 MiB of all logs"):
        import_files(logs[:2], tmp_path / "run")


def test_a_fifo_and_a_device_are_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(RecordError, match=r"it is a (FIFO|device)"):
            import_files([path], tmp_path / "run")


def test_lines_of_others_are_kept_up_to_a_number(tmp_path: Path) -> None:
    read(OSU + ROWS + "[warn] something\n" * (limits.MAX_NOTES + 7), tmp_path)
    notes = [note for note in build_results(tmp_path / "run").notes if "not a table's" in note]
    assert len(notes) == limits.MAX_NOTES + 1
    assert notes[-1].endswith("this and 6 more lines of others, not listed here")
