# SPDX-License-Identifier: Apache-2.0
"""Text, CSV, formats and writing."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.csv import cells_csv, contrasts_csv
from slowpath.report.run_page import summary
from slowpath.report.text import render_text
from slowpath.report.write import write_all
from support.results import a_run, an_mpi
from support.results import results as a_document


def test_text_begins_with_the_verdict_and_fits_the_terminal(results: Results) -> None:
    text = render_text(results)
    assert text.startswith(results.verdict.headline)
    assert max(map(len, text.splitlines())) <= 100
    assert text.endswith("\n")
    assert text.isascii()


def test_text_names_every_contrast_skip_and_the_report(results: Results) -> None:
    text = render_text(results)
    for contrast in results.contrasts:
        assert fmt.ratio(contrast.ratio, contrast.interval).replace("×", "x").replace("–", "-") in text
    assert "no GPU driver: libcuda.so.1 was not found" in " ".join(text.split())
    assert "Not compared (1 contrast): no samples of b." in text
    assert text.rstrip().endswith("report.html")


def test_cells_csv_reads_back_exactly(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(cells_csv(results))))
    first = results.cells[0].metrics["half_round_trip_latency_s"].phases["steady"]
    assert float(rows[0]["value"]) == first.value
    assert float(rows[0]["interval_low"]) == (first.interval or (0,))[0]
    assert rows[0]["p999"] == ""
    assert json.loads(rows[0]["parameters"]) == results.cells[0].parameters
    skipped = [row for row in rows if row["status"] == "skipped"]
    assert [row["value"] for row in skipped] == ["", ""]
    assert all(row["reason"] for row in skipped)
    assert {int(row["cell"]) for row in rows} == {cell.cell for cell in results.cells}


def test_contrasts_csv_reads_back_exactly(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(contrasts_csv(results))))
    assert [row["id"] for row in rows] == [contrast.id for contrast in results.contrasts]
    assert float(rows[0]["ratio"]) == results.contrasts[0].ratio
    assert rows[0]["b_phase"] == "first"
    assert rows[0]["interleaved"] == "true"
    assert rows[-1]["ratio"] == ""


def test_write_all_leaves_five_whole_files(tmp_path: Path, results: Results) -> None:
    paths = write_all(tmp_path, results)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    assert len(paths) == 5
    assert msgspec.json.decode((tmp_path / "results.json").read_bytes(), type=Results) == results
    before = (tmp_path / "report.html").read_bytes()
    write_all(tmp_path, results)
    assert (tmp_path / "report.html").read_bytes() == before


@pytest.mark.parametrize(
    ("value", "interval", "shown", "ends"),
    [
        (2.919e-3, [2.81e-3, 3.03e-3], "2.92 ms", "[2.81, 3.03] ms"),
        (1.5e-6, None, "1.50 us", None),
        (0.4542, [0.4532, 0.4552], "454.2 ms", "[453.2, 455.2] ms"),
        (None, None, "–", None),
    ],
)
def test_times_are_rounded_to_their_interval(
    value: float | None, interval: list[float] | None, shown: str, ends: str | None
) -> None:
    assert fmt.time(value, interval) == shown
    assert fmt.quantity_interval(value, "s", interval) == ends


def test_rates_and_lengths() -> None:
    assert fmt.quantity(46.0e9, "B/s") == "46.0 GB/s"
    assert fmt.quantity_interval(46.0e9, "B/s", [45e9, 47e9]) == "[45.0, 47.0] GB/s"
    assert fmt.count_bytes((1 << 30) + 1) == "1 GiB + 1 B"
    assert fmt.duration(3725) == "62 min 5 s"
    assert fmt.plural(1, "launch") == "1 launch"
    assert fmt.plural(3, "launch") == "3 launches"


def test_the_head_names_every_mpi_that_was_measured() -> None:
    mpis = [
        an_mpi(),
        an_mpi("openmpi", name="openmpi", version="5.0.11"),
        an_mpi("intelmpi", name="intelmpi", version=None, unavailable="not found"),
    ]
    head = summary(a_document(run=a_run(mpis=mpis)))
    assert "mpich 5.0.2, openmpi 5.0.11" in head
    assert not any("intelmpi" in part for part in head)
    old = a_run(mpis=[an_mpi(None, version=None)])
    assert "mpich" in summary(a_document(run=replace(old, mpis=[])))
