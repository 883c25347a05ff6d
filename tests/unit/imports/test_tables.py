# SPDX-License-Identifier: Apache-2.0
"""Tables of OSU: every printed number arrives, and nothing that was not printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.analyse.build import build_results
from slowpath.core.errors import RecordError
from slowpath.record.blocks import scan
from slowpath.record.folder import launch_folder, read_run
from slowpath.record.imports.choose import import_files
from slowpath.record.imports.tables import MEAN_ONLY, PrintedTable, read_printed
from slowpath.record.plan_files import read_plan

DATA = Path(__file__).parent / "data"
LOGS = sorted(DATA.glob("*.txt"))


def imported(tmp_path: Path, *names: str) -> Path:
    return import_files([DATA / name for name in names], tmp_path / "run")


def table_of(run: Path, launch: int = 1, position: int = 0) -> PrintedTable:
    return read_printed(launch_folder(run, launch))[position]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_each_log_states_what_it_lacks(log: Path, tmp_path: Path) -> None:
    run = import_files([log], tmp_path / "run")
    for table in read_printed(launch_folder(run, 1)):
        assert table.rows
        assert set(MEAN_ONLY) <= set(table.missing)
    notes = " ".join(read_run(run).notes)
    assert all(why in notes for why in MEAN_ONLY.values())
    assert (launch_folder(run, 1) / "stdout").read_bytes() == log.read_bytes()


def test_osu_latency_becomes_ping_pong(tmp_path: Path) -> None:
    results = build_results(imported(tmp_path, "osu-latency.txt"))
    cell = next(c for c in results.cells if c.parameters["message_bytes"] == "8")
    assert cell.parameters == {"pattern": "ping_pong", "message_bytes": "8"}  # what the log states, nothing else
    estimate = cell.metrics["half_round_trip_latency_s"].phases["steady"]
    assert estimate.value == pytest.approx(1.27e-6, rel=1e-9)
    assert estimate.samples == 1
    for missing in ("interval", "p90", "p99", "p999", "within_ratio", "between_ratio", "quantum_ratio"):
        assert getattr(estimate, missing) is None, missing
    assert "first" not in cell.metrics["half_round_trip_latency_s"].phases
    assert (cell.validated_bytes, cell.wrong_bytes) == (None, None) or not cell.validated_bytes


def test_percentiles_that_were_printed_are_kept(tmp_path: Path) -> None:
    row = table_of(imported(tmp_path, "osu-latency-percentiles.txt")).rows[1]
    assert (row.message_bytes, row.operation_s) == (16, pytest.approx(6.76e-6))
    assert row.columns == {
        "Avg Latency(us)": 6.76, "P50 Tail Lat(us)": 1.19, "P90 Tail Lat(us)": 1.46, "P99 Tail Lat(us)": 1.59,
    }  # fmt: skip


def test_bandwidth_comes_back_as_printed(tmp_path: Path) -> None:
    results = build_results(imported(tmp_path, "osu-bw.txt"))
    by_size = {int(c.parameters["message_bytes"]): c for c in results.cells}
    for size, printed in ((4096, 418.18e6), (64, 82.80e6)):
        estimate = by_size[size].metrics["time_per_message_s"].phases["steady"]
        assert estimate.bandwidth_bytes_per_s == pytest.approx(printed, rel=1e-4)
    assert "in_flight" not in by_size[64].parameters  # osu_bw does not print its window
    assert "in_flight" in table_of(tmp_path / "run").missing


def test_message_rate_of_several_pairs(tmp_path: Path) -> None:
    results = build_results(imported(tmp_path, "osu-mbw-mr.txt"))
    cell = next(c for c in results.cells if c.parameters["message_bytes"] == "1")
    assert cell.parameters == {"pattern": "windowed", "pairs": "1", "in_flight": "64", "message_bytes": "1"}
    estimate = cell.metrics["time_per_message_s"].phases["steady"]
    assert estimate.message_rate_per_s == pytest.approx(414514.97, rel=1e-4)


def test_put_latency_states_its_window_and_synchronisation(tmp_path: Path) -> None:
    results = build_results(imported(tmp_path, "osu-put-latency.txt"))
    cell = next(c for c in results.cells if c.parameters["message_bytes"] == "4096")
    assert cell.experiment == "put"
    assert (cell.parameters["window"], cell.parameters["synchronise"]) == ("allocate", "flush_all")
    assert cell.metrics["time_per_put_s"].phases["steady"].value == pytest.approx(0.15e-6)


def test_operations_that_slowpath_does_not_measure_are_analysed_all_the_same(tmp_path: Path) -> None:
    run = imported(tmp_path, "osu-allreduce.txt")
    results = build_results(run)
    cell = next(c for c in results.cells if c.label == "MPI Allreduce Latency, v7.4, 64 B, osu-allreduce")
    assert (cell.status, cell.reproduce) == ("ok", None)
    assert cell.parameters == {"pattern": "operation", "operation": "MPI Allreduce Latency", "message_bytes": "64"}
    estimate = cell.metrics["operation_s"].phases["steady"]
    assert estimate.value == pytest.approx(0.99e-6)
    assert (estimate.batch, estimate.samples, estimate.interval) == (200, 1, None)
    assert results.skipped == []
    index = scan(launch_folder(run, 1) / "samples.blk")
    assert index.flag("suspect").all()
    assert index.flag("imported").all()


def test_of_two_files_nothing_is_decided(tmp_path: Path) -> None:
    slower = tmp_path / "slower.txt"
    slower.write_text((DATA / "osu-latency.txt").read_text().replace("1.27", "99.00"))
    results = build_results(import_files([DATA / "osu-latency.txt", slower], tmp_path / "run"))
    assert len(results.contrasts) == 13
    assert {c.verdict for c in results.contrasts} == {"undecided"}
    assert all(c.interval is None and c.remedy is None and not c.interleaved for c in results.contrasts)
    assert max(c.ratio for c in results.contrasts) == pytest.approx(99 / 1.27, rel=1e-3)
    assert all(any("mean over all repetitions" in text for text in c.suspect) for c in results.contrasts)


def test_a_printed_zero_is_missing(tmp_path: Path) -> None:
    log = tmp_path / "zero.txt"
    log.write_text((DATA / "osu-put-latency.txt").read_text().replace("0.15", "0.00"))
    run = import_files([log], tmp_path / "run")
    row = table_of(run).rows[-1]
    assert row.operation_s is None
    assert row.reason == "Latency (us) printed as 0.00"
    cell = build_results(run).cells[-1]
    assert (cell.status, cell.reason, cell.metrics) == ("skipped", row.reason, {})


def test_a_failed_validation_is_a_failed_row(tmp_path: Path) -> None:
    log = tmp_path / "bad.txt"
    log.write_text((DATA / "osu-latency-validated.txt").read_text().replace("1.58              Pass", "1.58  Fail"))
    run = import_files([log], tmp_path / "run")
    assert [row.wrong for row in table_of(run).rows] == [None, "the benchmark's own validation failed"]
    assert "failed" in {row.status for row in build_results(run).skipped}


def test_labels_of_srun_and_lines_of_others_do_not_disturb(tmp_path: Path) -> None:
    log = tmp_path / "labelled.txt"
    lines = (DATA / "osu-latency.txt").read_text().splitlines()
    log.write_text("\n".join([*(f"0: {line}" for line in lines), "1: [warn] something of the launcher"]))
    run = import_files([log], tmp_path / "run")
    assert len(table_of(run).rows) == 13
    assert any("something of the launcher" in note for note in build_results(run).notes)


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("osu-latency.txt", "8                       1.27", "8  1.27  3.0", "line 8: damaged: 8"),
        ("osu-latency.txt", "1.27", "nan", "damaged: nan"),
        ("osu-latency.txt", "1.27", "-1.27", "damaged: -1.27"),
        ("osu-latency.txt", "\n8  ", "\n8.0  ", "damaged: 8.0"),
    ],
)
def test_a_damaged_row_is_refused_with_its_line(name: str, old: str, new: str, expected: str, tmp_path: Path) -> None:
    log = tmp_path / name
    text = (DATA / name).read_text()
    assert old in text
    log.write_text(text.replace(old, new, 1))
    with pytest.raises(RecordError) as error:
        import_files([log], tmp_path / "run")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_tables_and_reproducers_are_imported_apart(tmp_path: Path) -> None:
    field = Path(__file__).parents[2] / "data" / "field" / "host-bound.txt"
    with pytest.raises(RecordError, match=r"tables of .* can't be combined"):
        import_files([DATA / "osu-bw.txt", field], tmp_path / "run")
    assert read_plan(import_files([field], tmp_path / "run") / "plan.json").cells[0].experiment == "p2p"


def test_output_without_rows_says_so(tmp_path: Path) -> None:
    log = tmp_path / "cut.txt"
    log.write_text("# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n")
    with pytest.raises(RecordError, match="no row of OSU"):
        import_files([log], tmp_path / "run")
