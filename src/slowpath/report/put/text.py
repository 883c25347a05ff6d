# SPDX-License-Identifier: Apache-2.0
"""What a put costs, for a terminal: each library, and the layers and limits next to the first of them."""

from __future__ import annotations

from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.put.history import STUDY, WHAT_IT_IS
from slowpath.report.put.rows import Row, rows_of
from slowpath.report.put.words import piece

HEAD = ("who puts", "instructions", "with loop", "time", "rate", "of empty call")


def put_lines(results: Results) -> list[str]:
    """The table, the ladder and the history, one line each, not wrapped; [] in a run without puts to compare."""
    if results.put is None or not results.put.conditions:
        return []
    rows = rows_of(results.put.conditions[0], results)
    first = next((row.mpi for row in rows if row.kind == "library"), rows[0].mpi)
    shown = [row for row in rows if row.kind == "library" or (row.mpi == first and row.kind != "ladder")]
    table = [HEAD, *(_row(row) for row in shown)]
    widths = [max(len(line[place]) for line in table) for place in range(len(HEAD))]
    lines = ["What a put costs: instructions in the call, then with call site and loop; rate over the empty call's."]
    lines += ["  " + "  ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)).rstrip() for line in table]
    if first and len({row.mpi for row in rows}) > 1:
        lines.append(f"  Layers and limits are those of {first}'s launches; the page has them in every library's.")
    lines += _ladder([row for row in rows if row.kind == "ladder" and row.mpi == first])
    old = ", ".join(f"{one.design} {one.instructions}" for one in STUDY)
    return [*lines, f"  History, {WHAT_IT_IS}, instructions of a put: {old}."]


def _row(row: Row) -> tuple[str, ...]:
    one, whole, of_empty = row.estimate, row.found.instructions_with_loop, row.found.of_empty
    rate = fmt.quantity(one.message_rate_per_s, "1/s", one.message_rate_interval) if one else fmt.MISSING
    return (
        row.name,
        f"{row.inside.median:g}" if row.inside else "-",
        "-" if whole is None else f"{whole:.1f}",
        fmt.time(one.value, one.interval) if one else fmt.MISSING,
        rate,
        "-" if of_empty is None else fmt.ratio(of_empty.ratio, of_empty.interval),
    )


def _ladder(rungs: list[Row]) -> list[str]:
    known = [(row.found.rung, row.inside.median) for row in rungs if row.inside]
    if len(known) < 2:
        return []
    steps = ", ".join(f"{piece(rung)} {count:g}" for rung, count in known)
    return [f"  The ladder, instructions in the call with each piece: {steps}."]
