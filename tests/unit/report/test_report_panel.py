# SPDX-License-Identifier: Apache-2.0
"""The panel: what lies outside first, one axis for all rows, and a table that fits a terminal."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.core.finding_results import PanelRow
from slowpath.core.results import Results
from slowpath.report.figure import Fold, Rows
from slowpath.report.panel import MOST_ROWS, WIDTH, panel_lines, panel_section
from slowpath.report.run_page import render_html
from slowpath.report.terminal import render_panel

ROW = PanelRow(
    name="MPI_Send, short", cells=32, outside=0, ratio=1.01, worst_ratio=1.2, low_ratio=0.9, high_ratio=1.1,
    limit_ratio=1.37, value_s=0.38e-6, source="this kind of machine", runs=18,
)  # fmt: skip
SLOW = replace(ROW, name="MPI_Recv, short", outside=12, ratio=3.2, worst_ratio=9.0, value_s=7.1e-6)
LONG_NAME = "MPI_Pack + Isend + Irecv + Unpack + Waitall, long, first use"
MANY = [SLOW, *(replace(ROW, name=f"kind {number}") for number in range(60))]


def test_a_row_has_the_healthy_range_the_limit_and_this_machine() -> None:
    (section,) = panel_section([SLOW, ROW], {})
    assert section.title == "1 of 2 kinds of calls is slower than in healthy runs"
    assert "18 healthy runs of this kind of machine" in section.lead
    figure = section.blocks[0]
    assert isinstance(figure, Rows)
    slow, usual = figure.rows
    assert [(mark.kind, tuple(mark.values)) for mark in slow.marks] == [
        ("band", (0.9, 1.1)),
        ("tick", (1.37,)),
        ("line", (3.2, 9.0)),
        ("dot", (3.2,)),
    ]
    assert (slow.value, slow.badge, slow.note) == ("7.10 us, 3.20x", "slower", "12 of 32 cells")
    assert (usual.value, usual.badge, usual.marks[-1].kind) == ("380 ns, 1.01x", "", "dot")


def test_beyond_the_limit_with_a_wide_interval_is_undecided() -> None:
    noisy = replace(ROW, name="MPI_Comm_dup", ratio=9.17, worst_ratio=9.17)
    (section,) = panel_section([noisy, ROW], {})
    figure = section.blocks[0]
    assert isinstance(figure, Rows)
    assert section.title == "None of 2 kinds of calls is slower than in healthy runs, 1 undecided"
    assert figure.rows[0].badge == figure.rows[0].marks[-1].style == "undecided"
    assert [words for _, words in figure.key] == ["healthy runs", "this machine", "undecided"]


def test_what_is_inside_is_folded_from_forty_rows_on_and_has_the_same_axis() -> None:
    (section,) = panel_section(MANY, {"MPI_Scan, long": 4})
    figure, fold, _, unknown = section.blocks
    assert isinstance(figure, Rows)
    assert isinstance(fold, Fold)
    assert isinstance(unknown, Fold)
    (rest,) = fold.blocks
    assert isinstance(rest, Rows)
    assert (len(figure.rows), len(rest.rows)) == (MOST_ROWS, len(MANY) - MOST_ROWS)
    assert rest.x.ends == figure.x.ends == (0.5, 9.0)
    (every,) = panel_section([SLOW] * 50, {})
    assert isinstance(every.blocks[0], Rows)
    assert len(every.blocks[0].rows) == 50


def test_nothing_compared_is_no_section() -> None:
    assert panel_section([], {"MPI_Scan, long": 4}) == []
    assert panel_lines([], {}) == ["No kind of call was compared with healthy runs."]


def test_the_table_fits_a_terminal() -> None:
    other = replace(SLOW, name=LONG_NAME, ratio=112.4, value_s=24e-3, high_ratio=12.3, source="other machines")
    lines = panel_lines([other, ROW], dict.fromkeys((LONG_NAME, "MPI_Scan, long", "MPI_Scan, short"), 4))
    assert max(map(len, lines)) <= WIDTH
    assert all(line.isascii() for line in lines)
    assert lines[0] == "1 of 2 kinds of calls is slower than in healthy runs."
    assert any("112x  0.90 to 12.3x  1.37x  12 of 32" in line for line in lines)
    assert lines[-1] == "3 kinds of calls without a reference: see the page."


def test_page_and_text_of_a_run_have_its_panel(results: Results) -> None:
    compared = replace(results, panel=[SLOW, ROW])
    assert 'id="panel"' not in render_html(results)
    assert render_html(compared).index('id="panel"') < render_html(compared).index('id="contrasts"')
    assert "None of 1 kind of call is slower than in healthy runs." in render_panel(replace(results, panel=[ROW]))
