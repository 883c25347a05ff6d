# SPDX-License-Identifier: Apache-2.0
"""What a put costs, as page and text: the right cells, the right empty call, history as history."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from slowpath.core.results import Results
from slowpath.experiments.put.table import build_put
from slowpath.report import render_html, render_text
from slowpath.report.put.rows import DesignRow, rows_of
from slowpath.report.put.study_table import STUDY
from slowpath.report.put.view import Bar, bars_scale, bars_track, put_view
from support.change import change


def rows(document: Results) -> list[DesignRow]:
    assert document.put is not None
    return rows_of(document.put.conditions[0], document)


def row(document: Results, words: str, mpi: str) -> DesignRow:
    found = [one for one in rows(document) if one.words == words and one.mpi == mpi]
    assert len(found) == 1
    return found[0]


def test_history_is_the_study() -> None:
    assert [(one.instructions, one.rate_per_s) for one in STUDY] == [
        (272, 10.16e6), (84, 43.07e6), (58, 53.55e6), (48, 59.38e6)]  # fmt: skip


def test_rows_are_in_words(puts: Results) -> None:
    words = [one.words for one in rows(puts) if one.mpi == "mpich"]
    assert words == ["MPI_Put", "complex, called, checked", "complex, inlined, unchecked", "shmem_p, called, checked",
                     "empty call, 8 arguments", "empty call, 5 arguments", "store"]  # fmt: skip


def test_table_says_all_of_it(puts: Results) -> None:
    view = put_view(puts)
    assert view is not None
    numbers = {cells[0]: cells[1:] for cells in view.rows}
    library = numbers["MPI_Put of mpich", ""]
    assert library[0] == ("650", "650 to 920 in 16 calls")
    assert library[1][0] == "670.0"
    assert (view.head[3], view.head[4]) == ("Time of a put, ns", "Million puts/s")
    one = row(puts, "MPI_Put", "mpich").estimate
    assert one is not None
    assert float(library[2][0]) == pytest.approx(one.value * 1e9, rel=0.01)
    assert float(library[3][0]) == pytest.approx(one.message_rate_per_s / 1e6, rel=0.01)
    assert library[3][1].startswith("[")
    assert library[5][1] == "41 instructions"
    assert numbers["store", "in launches of openmpi"][0][0] == "– nothing is called"
    assert view.others is not None
    assert [cells[0] for cells in view.others.rows if "window" in cells[0]] == [
        "mpich, window create", "openmpi, window create"]  # fmt: skip


def test_split_keeps_the_sum(puts: Results) -> None:
    view = put_view(puts)
    assert view is not None
    assert [figure.title for figure in view.split] == ["MPI_Put of mpich: where the instructions go",
                                                       "MPI_Put of openmpi: where the instructions go"]  # fmt: skip
    rows = view.split[0].rows
    assert (rows[0].label, rows[-1].label) == ("part_9", "2 other functions")
    assert sum(float(one.value.split(",")[0]) for one in rows) == pytest.approx(650)


def test_history_stands_in_counts_and_never_in_rates(puts: Results) -> None:
    view = put_view(puts)
    assert view is not None
    counts, rates = view.figures
    assert sum(one.label.startswith("History") for one in counts.rows) == 4
    assert not [one for one in rates.rows if "istory" in one.label]
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


def test_uncounted_and_unnamed(puts: Results) -> None:
    """An old run of one MPI whose counting was refused."""
    for cell in puts.cells:
        change(cell, mpi=None, instructions=None, instructions_reason="no ptrace here")
    half = puts.cells[: len(puts.cells) // 2]
    view = put_view(replace(puts, cells=half, put=build_put(half, puts.contrasts)))
    assert view is not None
    assert {cells[1][0] for cells in view.rows} == {"– not counted"}
    assert [figure.title for figure in view.figures] == ["Rate of puts"]
    assert view.split == []


def test_runs_without_puts_have_no_section(results: Results) -> None:
    assert put_view(results) is None
    assert 'id="put"' not in render_html(results)


def places(track: str, attribute: str = "width") -> list[float]:
    return [float(x) for x in re.findall(rf'<rect[^>]*\b{attribute}="([\d.]+)%"', track)]


def test_bars_are_logarithmic_and_ordered() -> None:
    rows = [[Bar(0, 10.0, None, 20.0)], [Bar(0, 100.0)], [Bar(None, 1000.0)]]
    scale = bars_scale(rows)
    widths = [places(bars_track(row, scale, "g", "w")) for row in rows]
    whole, ten = widths[0]
    assert whole > ten > 5  # the shortest bar is seen, too
    assert widths[2][0] - widths[1][0] == pytest.approx(widths[1][0] - ten, abs=0.3)
    assert 'class="history"' in bars_track(rows[2], scale, "g", "w")
