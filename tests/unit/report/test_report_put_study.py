# SPDX-License-Identifier: Apache-2.0
"""The table of the earlier study: four designs, today next to then, then the libraries; as text, page and files."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowpath.core.results import Results, SkippedRow
from slowpath.experiments.put.table import build_put
from slowpath.report import render_html, render_text, write_all
from slowpath.report.put.one_unit import millions, nanoseconds
from slowpath.report.put.study_files import study_files
from slowpath.report.put.study_table import NOT_MEASURED, StudyRow, study_rows
from support.change import change


def table(document: Results) -> dict[str, StudyRow]:
    return {row.name: row for row in study_rows(document)}


def shown(text: str, name: str) -> list[str]:
    """The numbers of a line of the text's table."""
    [line] = [line for line in text.splitlines() if line.startswith(f"  {name}  ")]
    return re.split(r"\s{2,}", line.strip())[1:]


def as_design(document: Results, old: str, new: str) -> Results:
    """The same document, with all cells of one design under another name."""
    for cell in document.cells:
        if cell.parameters["design"] == old:
            cell.parameters["design"] = new
    return replace(document, put=build_put(document.cells, document.contrasts))


def test_four_designs_then_the_libraries(puts: Results) -> None:
    rows = study_rows(puts)
    assert [row.name for row in rows] == [
        "complex datatype", "simple datatype", "small args", "SHMEM",
        "MPI_Put of mpich", "MPI_Put of openmpi", "OpenSHMEM put"]  # fmt: skip
    assert [row.variant for row in rows[:4]] == ["complex_datatype", "simple_datatype", "small_args", "shmem"]
    assert [row.then is not None for row in rows] == [True] * 4 + [False] * 3
    assert {row.mpi for row in rows[:4]} == {"mpich"}


def test_a_design_is_the_layer_that_does_the_same(puts: Results) -> None:
    row = table(puts)["complex datatype"]
    assert row.measured_as == "complex, called, checked"
    assert row.instructions is not None
    assert row.instructions.median == 60
    assert row.rate_per_s == pytest.approx(1 / 4.0e-9, rel=0.05)
    assert table(puts)["simple datatype"].reason == NOT_MEASURED


def test_shmem_checks_nothing_where_that_was_measured(puts: Results) -> None:
    """OpenSHMEM checks no arguments; with checks it stands in the table only where nothing else was measured."""
    as_shmem = as_design(puts, "shmem_p", "shmem_put")
    assert table(as_shmem)["SHMEM"].measured_as == "shmem_put, called, checked"
    for cell in as_shmem.cells:
        if cell.parameters["design"] == "complex" and cell.parameters.get("call") == "library":
            cell.parameters.update(design="shmem_put", checks="off")
    again = replace(as_shmem, put=build_put(as_shmem.cells, as_shmem.contrasts))
    assert table(again)["SHMEM"].measured_as == "shmem_put, called, unchecked"


def test_text_has_one_unit_a_column(puts: Results) -> None:
    text = render_text(puts)
    counted, rate, then, then_rate = shown(text, "complex datatype")
    assert (counted, then, then_rate) == ("60", "272", "10.16")
    assert float(rate) == pytest.approx(250, rel=0.05)
    assert shown(text, "small args") == ["-", "-", "58", "53.55"]
    assert f"small args of mpich: {NOT_MEASURED}." in " ".join(text.split())
    section = text[text.index("The study's table") : text.index("The ladder")]
    assert not re.search(r"\d (ns|us|M/s|G/s)", section)
    assert max(map(len, text.splitlines())) <= 100


def test_page_shows_then_next_to_today(puts: Results) -> None:
    page = render_html(puts)
    assert "put-table.csv" in page
    row = page[page.index('<th scope="row">complex datatype</th>') :].partition("</tr>")[0]
    assert "<td>60</td>" in row
    assert "<td>272</td><td>10.16</td>" in row


def test_a_real_openshmem_is_a_row_and_a_missing_one_says_why(puts: Results) -> None:
    asked = as_design(puts, "shmem_p", "openshmem_put")
    assert table(asked)["OpenSHMEM put of mpich"].rate_per_s is not None
    lost = [cell for cell in asked.cells if cell.parameters["design"] == "openshmem_put"]
    for cell in lost:
        change(cell, metrics={}, instructions=None, status="failed", reason="no launch measured it")
    skipped = [SkippedRow(cell=cell.cell, label=cell.label, status="skipped", launches=8, log=None, output=None,
                       reason="design=openshmem_put: this MPI brings none") for cell in lost]  # fmt: skip
    missing = replace(asked, put=build_put(asked.cells, asked.contrasts), skipped=skipped)
    row = table(missing)["OpenSHMEM put"]
    assert (row.mpi, row.rate_per_s, row.reason) == ("mpich and openmpi", None, "this MPI brings none")
    assert "OpenSHMEM put of mpich and openmpi: this MPI brings none." in " ".join(render_text(missing).split())


def test_files_hold_every_row(puts: Results, tmp_path: Path) -> None:
    write_all(tmp_path, puts)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "put-table.csv").read_text())))
    assert [row["variant"] for row in rows] == [row.variant for row in study_rows(puts)]
    assert rows[0]["instructions_per_put"] == "60.0"
    assert (rows[0]["study_instructions_per_put"], rows[0]["study_message_rate_million_per_s"]) == ("272", "10.16")
    assert (rows[1]["instructions_per_put"], rows[1]["reason"]) == ("", NOT_MEASURED)
    lines = (tmp_path / "put-table.md").read_text().splitlines()
    assert {line.count("|") for line in lines[: len(rows) + 2]} == {7}
    assert f"simple datatype (mpich): {NOT_MEASURED}." in lines


def test_runs_without_puts_have_no_table(results: Results) -> None:
    assert study_rows(results) == []
    assert study_files(results) == {}


def test_numbers_of_one_unit_round_to_their_interval() -> None:
    assert nanoseconds(3.72e-10) == "0.372"
    assert nanoseconds(1.2e-6, (1.1e-6, 1.3e-6)) == "1200"
    assert millions(2.94e9, (2.93e9, 2.95e9)) == "2940"
    assert millions(None) == nanoseconds(None)
