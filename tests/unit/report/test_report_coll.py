# SPDX-License-Identifier: Apache-2.0
"""Collectives in a report: pictures with their envelope, the table for a terminal, the CSV file."""

from __future__ import annotations

import pytest

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results
from slowpath.report.coll import coll_lines, coll_section, panels
from slowpath.report.figure import Plot, Table
from support.blocks import every
from support.results import a_cell, a_metric, results

# Microseconds by way and length; the split way is not measured at 8 B.
BCAST = {
    "library": {8: 1.0, 1024: 4.0, 65536: 90.0},
    "scatter+allgather": {8: 3.0, 1024: 4.4, 65536: 30.0},
    "split_8": {1024: 8.0, 65536: 45.0},
}


def cells() -> list[CellResult]:
    found = [
        cell(number, "bcast", way, length, time_us)
        for number, (way, length, time_us) in enumerate(
            (way, length, time_us) for way, at in BCAST.items() for length, time_us in at.items()
        )
    ]
    barrier = [cell(8, "barrier", "library", 8, 2.0), cell(9, "barrier", "dissemination", 8, 1.0)]
    return [*found, *barrier, cell(10, "gather", "library", 8, 1.0)]


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
