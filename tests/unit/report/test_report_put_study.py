# SPDX-License-Identifier: Apache-2.0
"""The table of the earlier study: four designs, today next to then, then the libraries; as text, page and files."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results, SkippedRow
from slowpath.experiments.put import build_put
from slowpath.report.put import NOT_MEASURED, StudyRow, study_rows
from slowpath.report.run_page import render_html, skipped_groups
from slowpath.report.text import render_text
from slowpath.report.write import write_all
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
    assert table(as_shmem)["SHMEM, checked"].measured_as == "shmem_put, called, checked"
    for cell in as_shmem.cells:
        if cell.parameters["design"] == "complex" and cell.parameters.get("call") == "library":
            cell.parameters.update(design="shmem_put", checks="off")
    again = replace(as_shmem, put=build_put(as_shmem.cells, as_shmem.contrasts))
    assert table(again)["SHMEM, unchecked"].measured_as == "shmem_put, called, unchecked"
    assert [row.variant for row in study_rows(again)][3] == "shmem"


def test_derived_datatypes_stand_next_to_the_predefined_one(puts: Results) -> None:
    def also(target: str, cells: list[CellResult]) -> list[CellResult]:
        made = []
        for cell in cells:
            parameters = {**cell.parameters, "datatype": "vector", "target_datatype": target}
            made.append(replace(cell, cell=cell.cell + 1000 * (1 + (target != "same")), parameters=parameters))
        return made

    twins = [
        cell
        for cell in puts.cells
        if cell.parameters["design"] in ("mpi", "complex")
        and cell.parameters["window"] == "allocate"
        and cell.parameters["call"] == "library"
    ]
    cells = [*puts.cells, *also("same", twins), *also("indexed", twins)]
    rows = study_rows(replace(puts, cells=cells, put=build_put(cells, puts.contrasts)))
    names = [row.name for row in rows]
    assert names[:4] == [
        "complex datatype", "complex datatype, vector", "complex datatype, vector to indexed", "simple datatype"
    ]  # fmt: skip
    assert {"MPI_Put of mpich, vector", "MPI_Put of openmpi, vector to indexed"} <= set(names)
    assert rows[2].measured_as == "complex, called, checked, vector to indexed"
    assert rows[1].then is None


def test_text_has_one_unit_a_column(puts: Results) -> None:
    text = render_text(puts)
    counted, rate, then, then_rate = shown(text, "complex datatype")
    assert (counted, then, then_rate) == ("60", "272", "10.16")
    assert float(rate) == pytest.approx(250, rel=0.05)
    assert shown(text, "small args") == ["-", "-", "58", "53.55"]
    assert f"small args of mpich: {NOT_MEASURED}." in " ".join(text.split())
    section = text[text.index("The study's table") : text.index("Cost of a put")]
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


def test_cells_skipped_for_one_reason_are_one_line(puts: Results) -> None:
    """The engine names the cell's own design before the reason."""
    rows = [SkippedRow(cell=number, label=f"design {name}", status="skipped", launches=8, log=None, output=None,
                       reason=f"design={name}: this MPI brings none")
            for number, name in enumerate(("openshmem_p", "openshmem_put"))]  # fmt: skip
    [group] = skipped_groups(replace(puts, skipped=rows))
    assert (group.label, group.reason) == (
        "2 cells: design openshmem_p; design openshmem_put", "this MPI brings none"
    )  # fmt: skip
    [alone] = skipped_groups(replace(puts, skipped=rows[:1]))
    assert alone.reason == "design=openshmem_p: this MPI brings none"


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
