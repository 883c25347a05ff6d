# SPDX-License-Identifier: Apache-2.0
"""The first-use ladder: its rungs in the order of a program's start, the picture, the text and the file."""

from __future__ import annotations

from typing import Any

import msgspec

from slowpath.core.results import Results
from slowpath.report.figure import Rows
from slowpath.report.first_use import first_use_lines, first_use_section
from support.blocks import every
from support.results import a_cell, a_metric, an_estimate, results

MIB = 2**20


def cell(number: int, metric: str, first_s: float, later_s: float | None, **parameters: str) -> Any:
    phases: dict[Any, Any] = {"first": msgspec.structs.replace(an_estimate(), value=first_s, interval=None)}
    if later_s is not None:
        phases["steady"] = msgspec.structs.replace(an_estimate(), value=later_s, interval=None)
    measured = msgspec.structs.replace(a_metric(), phases=phases)
    fields: dict[str, Any] = {"cell": number, "experiment": "first_use", "parameters": parameters}
    return msgspec.structs.replace(a_cell(), metrics={metric: measured}, **fields)


def run() -> Results:
    cells = [
        cell(0, "shared_window_use_s", 9e-3, 8e-3, pattern="shared_window", window_bytes=str(MIB)),
        cell(1, "shared_window_use_s", 9e-2, 8e-2, pattern="shared_window", window_bytes=str(64 * MIB)),
        cell(2, "collective_first_s", 5e-4, 2e-6, pattern="collective", collective="scan", communicator="world"),
        cell(3, "init_s", 4.8e-2, None, pattern="init"),
    ]
    return msgspec.structs.replace(results(), cells=cells)


def test_rungs_stand_in_the_order_of_a_start_and_of_windows_the_longest() -> None:
    lines = first_use_lines(run())
    assert lines[0].startswith("First-use ladder of ")
    assert [line.split("  ")[1] for line in lines[1:]] == ["MPI_Init", "scan, world", "shared window (64 MiB)"]
    assert lines[1].endswith("once a process")
    assert "later 2.00 us" in lines[2]


def test_the_picture_has_a_row_each_and_says_what_is_missing() -> None:
    (figure,) = every(first_use_section(run()), Rows)
    assert [row.label for row in figure.rows] == ["MPI_Init", "scan, world", "shared window (64 MiB)"]
    later = [any(mark.kind == "dot" and mark.style == "later" for mark in row.marks) for row in figure.rows]
    assert later == [False, True, True]
    assert figure.table is not None
    assert figure.table.rows[0][-1] != figure.table.rows[1][-1] == "250x"
