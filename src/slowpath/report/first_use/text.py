# SPDX-License-Identifier: Apache-2.0
"""The first-use ladder for a terminal, and as a CSV file with unrounded seconds."""

from __future__ import annotations

import csv
import io

from slowpath.core.clean import csv_value
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.first_use.rungs import Rung, rungs

FILE = "first-use.csv"
_COLUMNS = (
    "mpi", "placement", "use", "metric", "cell", "launches", "first_s", "first_low_s", "first_high_s", "later_s",
    "later_low_s", "later_high_s", "last_number", "last_s",
)  # fmt: skip


def first_use_lines(results: Results) -> list[str]:
    """One line a rung; [] in a run without such cells."""
    lines: list[str] = []
    for (mpi, placement), each in rungs(results).items():
        width = max(len(rung.name) for rung in each)
        lines.append(f"First-use ladder of {mpi}, {placement}: the first time in a launch, and later ones.")
        lines += [f"  {rung.name.ljust(width)}  {_times(rung)}" for rung in each]
    return lines


def _times(rung: Rung) -> str:
    first = fmt.time(rung.first.value, rung.first.interval)
    if rung.later is None:
        return f"{first}, once a process"
    words = f"{first}, later {fmt.time(rung.later.value, rung.later.interval)}"
    return f"{words}, number {rung.last[0]}: {fmt.time(rung.last[1])}" if rung.last else words


def first_use_files(results: Results) -> dict[str, str]:
    """Name -> content."""
    found = rungs(results)
    if not found:
        return {}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for (mpi, placement), each in found.items():
        for rung in each:
            writer.writerow([csv_value(one) for one in (mpi, placement, *_row(rung))])
    return {FILE: out.getvalue()}


def _row(rung: Rung) -> tuple[str | float | None, ...]:
    first, later = rung.first, rung.later
    low, high = first.interval or (None, None)
    later_low, later_high = (later.interval if later else None) or (None, None)
    number, last_s = rung.last or (None, None)
    return (
        rung.name, rung.metric, rung.cell.cell, first.launches, first.value, low, high, later.value if later else None,
        later_low, later_high, number, last_s,
    )  # fmt: skip
