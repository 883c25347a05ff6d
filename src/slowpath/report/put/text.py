# SPDX-License-Identifier: Apache-2.0
"""The cost of a put for a terminal: the study's table, then all designs with the first library's launches."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.put.rows import DesignRow, rows_of
from slowpath.report.put.study_table import (
    MILLION,
    NAMES,
    WHAT_IT_IS,
    StudyRow,
    count_words,
    millions,
    nanoseconds,
    study_rows,
)

STUDY_HEAD = ("design", "instructions", "M puts/s", "then: instructions", "M puts/s")
HEAD = ("who puts", "instructions", "with loop", "ns a put", "M puts/s", "of empty call")


def put_lines(results: Results) -> list[str]:
    """Return the tables as lines, not wrapped, or [] in a run without puts to compare."""
    if results.put is None or not results.put.conditions:
        return []
    rows = rows_of(results.put.conditions[0], results)
    first = next((row.mpi for row in rows if row.kind == "library"), rows[0].mpi)
    shown = [row for row in rows if row.kind == "library" or row.mpi == first]
    lines = _study(study_rows(results))
    lines.append(
        "Cost of a put: instructions in the call, then with call site and loop; rate over that of the empty call."
    )
    lines += _table([HEAD, *(_row(row) for row in shown)])
    if first and len({row.mpi for row in rows}) > 1:
        lines.append(f"  Layers and limits are those of {first}'s launches; the page has them in every library's.")
    lines += busy_lines(results)
    lines.append(
        "  In a program of yours: slowpath count --call MPI_Put --skip 20 --campaign RUN -- mpiexec -n 2 ./app"
    )
    return lines


def put_answers(results: Results) -> list[str]:
    """Return what a put costs in each library, and the leanest layer next to it; [] without puts to compare."""
    if results.put is None or not results.put.conditions:
        return []
    rows = rows_of(results.put.conditions[0], results)
    found = [_cost(row) for row in rows if row.kind == "library"]
    called = [row for row in rows if row.kind == "layer" and row.inside]
    leanest = min(called, key=lambda row: row.inside.median if row.inside else 0.0, default=None)
    return [*found, *([_cost(leanest)] if leanest else [])]


def _cost(row: DesignRow) -> str:
    """`MPI_Put of mpich 5.0.2: 586 instructions in the call, 41.7 ns [41.3, 42.0].`"""
    inside, estimate = row.inside, row.estimate
    count = f"{inside.median:g} instructions in the call" if inside else "instructions not counted"
    if estimate is None:
        return f"{row.name}: {count}, time not measured."
    ends = fmt.quantity_interval(estimate.value, "s", estimate.interval)
    return f"{row.name}: {count}, {fmt.time(estimate.value, estimate.interval)}{f' {ends}' if ends else ''}."


def busy_lines(results: Results) -> list[str]:
    """Return what a target that computes between its calls of MPI does to a put, one line for each pair of cells."""
    found = []
    for contrast in results.contrasts:
        if contrast.axis != "target_busy_s" or contrast.ratio is None or contrast.a.phase != "steady":
            continue
        cell, busy = results.cell(contrast.a.cell), results.cell(contrast.b.cell)
        window = cell.parameters.get("window", "allocate")
        shown = fmt.ratio(contrast.ratio, contrast.interval)
        ends = fmt.ratio_interval(contrast.ratio, contrast.interval)
        time = fmt.time(float(busy.parameters["target_busy_s"]))
        whose = f" of {cell.mpi}" if cell.mpi else ""
        found.append(
            f"  Target busy for {time} between its calls of MPI, window {window}{whose}: "
            f"a put takes {shown} times as long {ends or contrast.reason} ({contrast.verdict})."
        )
    return found


def _study(rows: Sequence[StudyRow]) -> list[str]:
    """Return the earlier study's four designs, today and then, and the libraries of this run."""
    if not rows:
        return []
    today = f" in launches of {rows[0].mpi}" if rows[0].mpi else ""
    lines = [f"The study's table: its four designs of a put{today}, and the libraries as they are."]
    lines += _table([STUDY_HEAD, *(_study_row(row) for row in rows if row.rate_per_s is not None or row.then)])
    lines += [f"  {row.name}{f' of {row.mpi}' if row.mpi else ''}: {row.reason}." for row in rows if row.reason]
    layers = "; ".join(row.measured_as for row in rows if row.then)
    lines += [f"  The four, as layers: {layers}.", f"  As files: {' and '.join(NAMES)}."]
    return [*lines, f"  Then: {WHAT_IT_IS}; the order compares, not the rates."]


def _study_row(row: StudyRow) -> tuple[str, ...]:
    then = (str(row.then.instructions), f"{row.then.rate_per_s / MILLION:.2f}") if row.then else ("", "")
    return row.name, _dash(count_words(row.instructions)), _dash(millions(row.rate_per_s, row.rate_interval)), *then


def _table(table: Sequence[Sequence[str]]) -> list[str]:
    """Return a table with its first column aligned left and numbers aligned right."""
    widths = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
    padded = [[line[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))]
              for line in table]  # fmt: skip
    return ["  " + "  ".join(line).rstrip() for line in padded]


def _dash(shown: str) -> str:
    return "-" if shown == fmt.MISSING else shown


def _row(row: DesignRow) -> tuple[str, ...]:
    estimate, whole, of_empty = row.estimate, row.found.instructions_with_loop, row.found.of_empty
    return (
        row.name,
        f"{row.inside.median:g}" if row.inside else "-",
        "-" if whole is None else f"{whole:.1f}",
        nanoseconds(estimate.value, estimate.interval) if estimate else "-",
        millions(estimate.message_rate_per_s, estimate.message_rate_interval) if estimate else "-",
        "-" if of_empty is None else fmt.ratio(of_empty.ratio, of_empty.interval),
    )
