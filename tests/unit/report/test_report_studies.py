# SPDX-License-Identifier: Apache-2.0
"""Views of studies: collectives, first uses, puts."""

from __future__ import annotations

import csv
import html
import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results, SkippedRow
from slowpath.experiments.put import build_put
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.report.coll import coll_lines, coll_section, panels
from slowpath.report.figure import Plot, Rows, Shown, Table
from slowpath.report.first_use import first_use_lines, first_use_section
from slowpath.report.put import NOT_MEASURED, STUDY, DesignRow, StudyRow, put_section, rows_of, study_rows
from slowpath.report.run_page import missing_note, render_html, skipped_groups
from slowpath.report.studies import VIEWS, answers_of, views_of
from slowpath.report.terminal import render_brief, render_text
from slowpath.report.trace import KINDS
from slowpath.report.write import write_all
from support.blocks import every, titled
from support.change import change
from support.results import a_cell, a_metric, a_skipped_row, an_estimate, results


def test_every_name_that_an_experiment_lists_is_known() -> None:
    assert {name for experiment in EXPERIMENTS for name in experiment.views} == set(VIEWS)
    assert {name for experiment in EXPERIMENTS for name in experiment.timelines.values()} == set(KINDS)


def test_a_run_shows_the_views_of_its_experiments_alone(results: Results, puts: Results, cannon: Results) -> None:
    assert [view.name for document in (results, puts, cannon) for view in views_of(document)] == ["put", "cannon"]


def test_a_study_answers_its_question_within_the_verdict(results: Results, puts: Results, cannon: Results) -> None:
    shown = {name: " ".join(render_brief(run).split()) for name, run in (("put", puts), ("cannon", cannon))}
    assert "MPI_Put of mpich: 650 instructions in the call, 38.83 ns" in shown["put"]
    assert "shmem_p, called, checked: 15 instructions in the call" in shown["put"]
    assert "Take shared_direct from n = 256 on: it is 1.90 [1.80, 2.00] times as fast as" in shown["cannon"]
    assert "exposes less than half of its time from n = 360 on" in shown["cannon"]
    assert all(html.escape(answer) in render_html(cannon) for answer in answers_of(cannon))
    assert "small args" in shown["put"]  # the earlier study's designs, today and then
    assert "256 shared_direct" in shown["cannon"]  # the best style for each n, with both times
    assert all(len(view.table(run)) <= 9 for run in (puts, cannon) for view in views_of(run))
    assert answers_of(results) == []  # of several experiments: a check-up asks what is slow, and no study's question


def test_the_answer_names_the_share_that_is_known(cannon: Results) -> None:
    assert cannon.cannon is not None
    group = cannon.cannon.groups[0]
    change(group, advice=None, advice_reason="ranks share cores")
    for share in group.critical_n.values():
        change(share, n=None, reason="not measured")
    assert answers_of(cannon) == ["No advice: ranks share cores."]


def test_a_long_table_stands_behind_full_where_a_study_answers(
    cannon: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    unasked = replace(cannon, verdict=replace(cannon.verdict, state="nothing asked"))
    assert "speed-up over sendrecv_replace" in render_brief(unasked)
    monkeypatch.setattr("slowpath.report.terminal.SCREEN", 5)
    shown = render_brief(unasked)
    assert "The tables: --full." in shown
    assert len(shown.splitlines()) <= 12
    assert "speed-up over sendrecv_replace" in render_text(unasked)


def test_what_many_cells_lack_is_in_the_verdict(cannon: Results) -> None:
    assert missing_note(cannon) is None
    rows = [a_skipped_row(cell=cell.cell, label=cell.label, reason="no CUDA driver") for cell in cannon.cells]
    many = replace(cannon, skipped=rows[: len(rows) // 2])
    assert missing_note(many) == f"Not measured: {len(rows) // 2} of {len(rows)} cells: no CUDA driver."


# Microseconds by way and length; the split way is not measured at 8 B.
BCAST = {
    "library": {8: 1.0, 1024: 4.0, 65536: 90.0},
    "scatter+allgather": {8: 3.0, 1024: 4.4, 65536: 30.0},
    "split_8": {1024: 8.0, 65536: 45.0},
}


def cells() -> list[CellResult]:
    cells_there = [
        cell(number, "bcast", way, length, time_us)
        for number, (way, length, time_us) in enumerate(
            (way, length, time_us) for way, at in BCAST.items() for length, time_us in at.items()
        )
    ]
    barrier = [cell(8, "barrier", "library", 8, 2.0), cell(9, "barrier", "dissemination", 8, 1.0)]
    return [*cells_there, *barrier, cell(10, "gather", "library", 8, 1.0)]


def cell(number: int, collective: str, way: str, length: int, time_us: float) -> CellResult:
    parameters = {"collective": collective, "way": way, "message_bytes": str(length), "samples": str(30 + number)}
    metrics = {"collective_work_s": a_metric(time_us * 1e-6)}
    return a_cell(number, experiment="coll", parameters={"pattern": "calls", **parameters}, metrics=metrics)


def run() -> Results:
    return results(cells())


def test_a_panel_holds_one_collective_in_all_its_ways() -> None:
    """A collective that was measured in one way alone has none."""
    bcast, barrier = panels(run())
    assert (bcast.collective, bcast.where, list(bcast.times)) == ("bcast", "2 ranks", list(BCAST))
    assert (barrier.collective, barrier.lengths) == ("barrier", [0])
    best = bcast.best(65536)
    assert best is not None
    assert best[0] == "scatter+allgather"
    assert bcast.ratio(65536) == 3.0


def test_a_picture_shows_the_fastest_and_names_the_ways_that_are() -> None:
    """split_8 is never the fastest: a thin line."""
    (figure,) = every(coll_section(run()), Plot)
    named = [series.label for series in figure.series if series.label]
    assert named == ["the library's own", "scatter+allgather"]
    (fastest,) = [series for series in figure.series if series.line == "dashed"]
    assert [point.y for point in fastest.points] == pytest.approx([1e-6, 4e-6, 30e-6])
    assert [words for _, words in figure.key] == ["thin: 1 other way"]


def test_the_table_has_a_row_for_each_length() -> None:
    (table,) = every(coll_section(run()), Table)
    assert [row[2] for row in table.rows] == ["8 B", "1 KiB", "64 KiB", "no message"]
    assert list(table.rows[2][4:]) == ["scatter+allgather", "30.0 us", "3.00×"]


def test_a_terminal_gets_a_line_for_each_collective() -> None:
    lines = coll_lines(run())
    assert lines[0].startswith("Collectives: the library's own time over the fastest alternative")
    assert [line.split() for line in lines[1:]] == [
        ["2", "ranks", "8", "B", "1", "KiB", "64", "KiB"],
        ["bcast", "0.33", "0.91", "3.00"],
        ["2", "ranks"],
        ["barrier", "2.00"],
    ]


MIB = 2**20


def cell_of_report_first_use(number: int, metric: str, first_s: float, later_s: float | None, **parameters: str) -> Any:
    phases: dict[Any, Any] = {"first": msgspec.structs.replace(an_estimate(), value=first_s, interval=None)}
    if later_s is not None:
        phases["steady"] = msgspec.structs.replace(an_estimate(), value=later_s, interval=None)
    measured = msgspec.structs.replace(a_metric(), phases=phases)
    fields: dict[str, Any] = {"cell": number, "experiment": "first_use", "parameters": parameters}
    return msgspec.structs.replace(a_cell(), metrics={metric: measured}, **fields)


def run_of_report_first_use() -> Results:
    cells = [
        cell_of_report_first_use(0, "shared_window_use_s", 9e-3, 8e-3, pattern="shared_window", window_bytes=str(MIB)),
        cell_of_report_first_use(
            1, "shared_window_use_s", 9e-2, 8e-2, pattern="shared_window", window_bytes=str(64 * MIB)
        ),
        cell_of_report_first_use(
            2, "collective_first_s", 5e-4, 2e-6, pattern="collective", collective="scan", communicator="world"
        ),
        cell_of_report_first_use(3, "init_s", 4.8e-2, None, pattern="init"),
    ]
    return msgspec.structs.replace(results(), cells=cells)


def test_rungs_stand_in_the_order_of_a_start_and_of_windows_the_longest() -> None:
    lines = first_use_lines(run_of_report_first_use())
    assert lines[0].startswith("First-use ladder of ")
    assert [line.split("  ")[1] for line in lines[1:]] == ["MPI_Init", "scan, world", "shared window (64 MiB)"]
    assert lines[1].endswith("once a process")
    assert "later 2.00 us" in lines[2]


def test_the_picture_has_a_row_each_and_says_what_is_missing() -> None:
    (figure,) = every(first_use_section(run_of_report_first_use()), Rows)
    assert [row.label for row in figure.rows] == ["MPI_Init", "scan, world", "shared window (64 MiB)"]
    later = [any(mark.kind == "dot" and mark.style == "later" for mark in row.marks) for row in figure.rows]
    assert later == [False, True, True]
    assert figure.table is not None
    assert figure.table.rows[0][-1] != figure.table.rows[1][-1] == "250x"


def rows(document: Results) -> list[DesignRow]:
    assert document.put is not None
    return rows_of(document.put.conditions[0], document)


def row(document: Results, words: str, mpi: str) -> DesignRow:
    matching = [row for row in rows(document) if row.words == words and row.mpi == mpi]
    assert len(matching) == 1
    return matching[0]


def test_history_is_the_study() -> None:
    assert [(number.instructions, number.rate_per_s) for number in STUDY] == [
        (272, 10.16e6), (84, 43.07e6), (58, 53.55e6), (48, 59.38e6)]  # fmt: skip


def test_rows_are_in_words(puts: Results) -> None:
    words = [row.words for row in rows(puts) if row.mpi == "mpich"]
    assert words == ["MPI_Put", "complex, called, checked", "complex, inlined, unchecked", "shmem_p, called, checked",
                     "empty call, 8 arguments", "empty call, 5 arguments", "store"]  # fmt: skip


def costs(document: Results) -> dict[tuple[str, str], list[Shown]]:
    """The cells of the first table of costs, by name and launches."""
    table = next(table for table in every(put_section(document), Table) if table.head[0] == "Who puts" and table.wide)
    rows = [[cell for cell in row if isinstance(cell, Shown)] for row in table.rows]
    return {(row[0].text, row[0].note): row[1:] for row in rows}


def test_table_says_all_of_it(puts: Results) -> None:
    numbers = costs(puts)
    library = numbers["MPI_Put of mpich", ""]
    assert library[0] == Shown("650", "650 to 920 in 16 calls")
    assert library[1].text == "670.0"
    estimate = row(puts, "MPI_Put", "mpich").estimate
    assert estimate is not None
    assert float(library[2].text) == pytest.approx(estimate.value * 1e9, rel=0.01)
    assert float(library[3].text) == pytest.approx(estimate.message_rate_per_s / 1e6, rel=0.01)
    assert library[3].note.startswith("[")
    assert library[5].note == "41 instructions"
    assert numbers["store", "in launches of openmpi"][0].text == "– nothing is called"
    others = titled(
        put_section(puts), Table, "Every other cell: windows, info keys, synchronisations, datatypes, sizes"
    )
    assert [cells[0] for cells in others.rows if "window" in str(cells[0])] == [
        "mpich, window create", "openmpi, window create"]  # fmt: skip


def test_split_keeps_the_sum(puts: Results) -> None:
    for mpi in ("mpich", "openmpi"):
        rows = titled(put_section(puts), Rows, f"MPI_Put of {mpi}: where the instructions go").rows
    assert (rows[0].label, rows[-1].label) == ("part_9", "2 other functions")
    rows = titled(put_section(puts), Rows, "MPI_Put of mpich: where the instructions go").rows
    assert sum(float(row.value.split(",")[0]) for row in rows) == pytest.approx(650)


def test_history_stands_in_counts_and_never_in_rates(puts: Results) -> None:
    section = put_section(puts)
    counts, rates = (titled(section, Rows, title) for title in ("Instructions of a put", "Rate of puts"))
    assert sum(row.label.startswith("History") for row in counts.rows) == 4
    assert not [row for row in rates.rows if "istory" in row.label]
    longest = max(counts.rows, key=lambda row: max(mark.values[1] for mark in row.marks))
    assert longest.label == "MPI_Put of mpich"
    assert [mark.style for mark in counts.rows[-1].marks] == ["history"]
    page = render_html(puts)
    assert "Then: measured on another machine in another decade" in page
    assert 'id="put"' in page


def test_text_has_every_library_and_one_set_of_layers(puts: Results) -> None:
    text = render_text(puts)
    assert "MPI_Put of mpich" in text
    assert "MPI_Put of openmpi" in text
    assert sum(line.lstrip().startswith("complex, called, checked") for line in text.splitlines()) == 1
    assert "another decade" in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.isascii()


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


def test_text_has_one_unit_a_column(puts: Results) -> None:
    text = render_text(puts)
    counted, rate, then, then_rate = shown(text, "complex datatype")
    assert (counted, then, then_rate) == ("60", "272", "10.16")
    assert float(rate) == pytest.approx(250, rel=0.05)
    assert shown(text, "small args") == ["-", "-", "58", "53.55"]
    assert f"small args of mpich: {NOT_MEASURED}." in " ".join(text.split())
    section = text[text.index("The study's four designs") : text.index("Cost of a put")]
    assert not re.search(r"\d (ns|us|M/s|G/s)", section)
    assert max(map(len, text.splitlines())) <= 100


def test_page_shows_then_next_to_today(puts: Results) -> None:
    page = render_html(puts)
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


def test_a_study_stands_first_and_what_else_was_measured_is_folded(cannon: Results) -> None:
    page = render_html(cannon)
    sections = re.findall(r'<section id="([^"]+)"', page)
    assert sections[0] == "cannon"
    for section in sections[sections.index("environment") :]:
        before_title = page.split(f'<section id="{section}"')[1].split("</h2>")[0]
        assert '<details class="folded">' in before_title
