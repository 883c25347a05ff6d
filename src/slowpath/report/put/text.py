# SPDX-License-Identifier: Apache-2.0
"""What a put costs, for a terminal: each library, and the layers and limits beside the first of them."""

from __future__ import annotations

from typing import Any

from slowpath.report import format as fmt
from slowpath.report.put.designs import piece
from slowpath.report.put.history import STUDY, WHAT_IT_IS
from slowpath.report.put.rows import PutRow, conditions
from slowpath.report.put.view import name

Json = Any
HEAD = ("who puts", "instructions", "with loop", "time", "rate", "of empty call")


def put_lines(results: Json) -> list[str]:
    """The table, the ladder and the history, one line each, not wrapped; [] in a run without puts to compare."""
    found = conditions(results)
    if not found:
        return []
    rows = found[0].rows
    first = next((row.mpi for row in rows if row.design.kind == "library"), rows[0].mpi)
    shown = [row for row in rows if row.design.kind == "library" or (row.mpi == first and row.design.kind != "ladder")]
    table = [HEAD, *(_row(row) for row in shown)]
    widths = [max(len(line[place]) for line in table) for place in range(len(HEAD))]
    lines = ["What a put costs: instructions in the call, then with call site and loop; rate over the empty call's."]
    lines += ["  " + "  ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)).rstrip() for line in table]
    if first and len({row.mpi for row in rows}) > 1:
        lines.append(f"  Layers and limits are those of {first}'s launches; the page has them in every library's.")
    lines += _ladder([row for row in rows if row.design.kind == "ladder" and row.mpi == first])
    old = ", ".join(f"{one.design} {one.instructions}" for one in STUDY)
    return [*lines, f"  History, {WHAT_IT_IS}, instructions of a put: {old}."]


def _row(row: PutRow) -> tuple[str, ...]:
    one, of_empty = row.estimate or {}, row.of_empty
    inside = "-" if row.inside is None else f"{row.inside['median']:g}"
    whole = "-" if row.with_loop is None else f"{row.with_loop:.1f}"
    rate = fmt.quantity(one.get("message_rate_per_s"), "1/s", one.get("message_rate_interval"))
    share = "-" if of_empty is None else fmt.ratio(of_empty.ratio, of_empty.interval)
    return name(row), inside, whole, fmt.time(one.get("value"), one.get("interval")), rate, share


def _ladder(rungs: list[PutRow]) -> list[str]:
    known = [(row.rung, row.inside["median"]) for row in rungs if row.inside]
    if len(known) < 2:
        return []
    steps = ", ".join(f"{piece(rung)} {count:g}" for rung, count in known)
    return [f"  The ladder, instructions in the call with each piece: {steps}."]
