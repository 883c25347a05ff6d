# SPDX-License-Identifier: Apache-2.0
"""Where the instructions of a library's put are spent: its largest functions, on one axis a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table
from slowpath.report.put.rows import PutRow
from slowpath.report.svg import ladder
from slowpath.report.svg.ladder import Step

SHOWN = 8  # functions; the rest is one row, and the table has them all
Json = Any


def split_figures(rows: Sequence[PutRow]) -> list[Figure]:
    """One figure for each library that was counted, of the first condition it was counted in."""
    figures: dict[tuple[str, str], Figure] = {}
    for row in rows:
        shares = (row.calls or {}).get("shares") or []
        if row.design.kind == "library" and shares and (row.words, row.mpi) not in figures:
            figures[row.words, row.mpi] = _figure(f"grid-put-s{len(figures)}", row, shares)
    return list(figures.values())


def _figure(grid: str, row: PutRow, shares: list[Json]) -> Figure:
    total = sum(one["per_call"] for one in shares)
    entries = [(f"{one['function']}", one["library"], one["per_call"]) for one in shares[:SHOWN]]
    if rest := shares[SHOWN:]:
        entries.append((f"{fmt.plural(len(rest), 'other function')}", "", sum(one["per_call"] for one in rest)))
    scale = ladder.scale_of([Step(0, 0.0, per_call) for _, _, per_call in entries], [])
    made = []
    for function, library, per_call in entries:
        said = f"{per_call:.1f}, {fmt.percent(per_call / total if total else None, 0)}"
        track = ladder.track([Step(0, 0.0, per_call)], scale, grid, f"{function}: {said}")
        made.append(Row(function, -1, track, said, library))
    numbers = [[one["function"], one["library"], f"{one['per_call']:.2f}", fmt.percent(one["per_call"] / total)]
               for one in shares if total]  # fmt: skip
    name = f"{row.words} of {row.mpi}" if row.mpi else row.words
    table = Table(["Function", "Library", "Instructions of a call", "Share"], numbers)
    where = "mean over the counted calls; a function without a name in its library's table is shown by its place"
    return Figure(f"{name}: where the instructions go", where, table,
                  ladder.axis(scale, grid, [], "{:g}".format, "Instructions of a call"), made)  # fmt: skip
