# SPDX-License-Identifier: Apache-2.0
"""Where the instructions of a library's put are spent: its largest functions, on one axis a library."""

from __future__ import annotations

from slowpath.core.put_results import PutResults, PutSplit
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table
from slowpath.report.put.words import design_words
from slowpath.report.svg import ladder
from slowpath.report.svg.ladder import Step

SHOWN = 8  # functions; the rest is one row, and the table has them all


def split_figures(found: PutResults) -> list[Figure]:
    """One figure for each library that was counted."""
    return [_figure(f"grid-put-s{place}", one) for place, one in enumerate(found.splits)]


def _figure(grid: str, split: PutSplit) -> Figure:
    entries: list[tuple[str, str, float, float | None]] = [
        (one.function, one.library, one.per_call, one.ratio) for one in split.parts[:SHOWN]
    ]
    if rest := split.parts[SHOWN:]:
        shares = sum(one.ratio or 0.0 for one in rest)
        entries.append((fmt.plural(len(rest), "other function"), "", sum(one.per_call for one in rest), shares))
    scale = ladder.scale_of([Step(0, 0.0, per_call) for _, _, per_call, _ in entries], [])
    rows = []
    for function, library, per_call, ratio in entries:
        shown = f"{per_call:.1f}, {fmt.percent(ratio, 0)}"
        track = ladder.track([Step(0, 0.0, per_call)], scale, grid, f"{function}: {shown}")
        rows.append(Row(function, -1, track, shown, library))
    numbers = [[one.function, one.library, f"{one.per_call:.2f}", fmt.percent(one.ratio)] for one in split.parts]
    words = design_words(split.design)
    name = f"{words} of {split.mpi}" if split.mpi else words
    table = Table(["Function", "Library", "Instructions of a call", "Share"], numbers)
    where = "mean over the counted calls; a function without a name in its library's table is shown by its place"
    axis = ladder.axis(scale, grid, [], "{:g}".format, "Instructions of a call")
    return Figure(f"{name}: where the instructions go", where, table, axis, rows)
