# SPDX-License-Identifier: Apache-2.0
"""What a put costs, as page and text: the right cells, the right empty call, history as history."""

from __future__ import annotations

import pytest

from slowpath.core.results import Results
from slowpath.report.figure import Rows, Shown, Table
from slowpath.report.put import STUDY, DesignRow, put_section, rows_of
from slowpath.report.run_page import render_html
from slowpath.report.text import render_text
from support.blocks import every, titled


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
    one = row(puts, "MPI_Put", "mpich").estimate
    assert one is not None
    assert float(library[2].text) == pytest.approx(one.value * 1e9, rel=0.01)
    assert float(library[3].text) == pytest.approx(one.message_rate_per_s / 1e6, rel=0.01)
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
    assert sum(float(one.value.split(",")[0]) for one in rows) == pytest.approx(650)


def test_history_stands_in_counts_and_never_in_rates(puts: Results) -> None:
    section = put_section(puts)
    counts, rates = (titled(section, Rows, title) for title in ("Instructions of a put", "Rate of puts"))
    assert sum(one.label.startswith("History") for one in counts.rows) == 4
    assert not [one for one in rates.rows if "istory" in one.label]
    longest = max(counts.rows, key=lambda one: max(mark.values[1] for mark in one.marks))
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
