# SPDX-License-Identifier: Apache-2.0
"""The ladder as two figures: what each piece of a full MPI adds, in instructions and in time; where libraries stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table
from slowpath.report.put.designs import piece
from slowpath.report.put.rows import PutRow
from slowpath.report.svg import ladder
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.ladder import Level, Step

Value = Callable[[PutRow], float | None]


def _instructions(row: PutRow) -> float | None:
    return None if row.inside is None else float(row.inside["median"])


def _seconds(row: PutRow) -> float | None:
    return None if row.estimate is None else float(row.estimate["value"])


def ladder_figures(rows: Sequence[PutRow], mpis: Sequence[str]) -> list[Figure]:
    """Both figures; those that no two rungs have a value for are left out."""
    made = []
    for grid, title, value, label, shown in (
        ("grid-put-li", "Instructions in the call, piece by piece", _instructions, "{:g}".format, "{:g}".format),
        ("grid-put-lt", "Time of a put, piece by piece", _seconds, _time_tick, fmt.time),
    ):
        figure = _figure(grid, title, rows, mpis, value, label, shown)
        made += [figure] if figure else []
    return made


def _time_tick(seconds: float) -> str:
    return short_time(seconds) if seconds else "0"


def _figure(
    grid: str,
    title: str,
    rows: Sequence[PutRow],
    mpis: Sequence[str],
    value: Value,
    label: Callable[[float], str],
    shown: Callable[[float], str],
) -> Figure | None:
    rungs = sorted({row.rung for row in rows if row.design.kind == "ladder"})
    known = {(row.rung, row.mpi): found for row in rows if row.design.kind == "ladder"
             if (found := value(row)) is not None}  # fmt: skip
    if len({rung for rung, _ in known}) < 2:
        return None
    levels = [Level(f"{row.words} of {row.mpi}" if row.mpi else row.words, found, mpis.index(row.mpi))
              for row in rows if row.design.kind == "library" and (found := value(row)) is not None]  # fmt: skip
    steps = {rung: _steps(rung, rungs, mpis, known) for rung in rungs}
    scale = ladder.scale_of([step for found in steps.values() for step in found], levels)
    made, numbers = [], []
    for rung in rungs:
        words = f"{rung}: {piece(rung)}"
        texts = [_said(step, rung, shown) for step in steps[rung]]
        distinct = list(dict.fromkeys(texts))
        told = (
            "; ".join(distinct)
            if len(distinct) < 2
            else "; ".join(f"{mpis[step.series]} {said}" for step, said in zip(steps[rung], texts, strict=True))
        )
        track = ladder.track(steps[rung], scale, grid, f"{words}: {told or 'no value'}")
        made.append(Row(words, -1, track, told or f"{fmt.MISSING} no value"))
        numbers += [[words, mpis[step.series], shown(step.after), _added(step, rung, shown)] for step in steps[rung]]
    reach = "; ".join(f"{level.name}: {shown(level.value)}" for level in levels)
    table = Table(["Piece", "In launches of", "With it", "It adds"], numbers)
    where = f"upright lines are the libraries as they are: {reach}" if reach else "no library was measured beside it"
    return Figure(title, where, table, ladder.axis(scale, grid, levels, label, title), made)


def _steps(rung: int, rungs: list[int], mpis: Sequence[str], known: dict[tuple[int, str], float]) -> list[Step]:
    place = rungs.index(rung)
    found = []
    for series, mpi in enumerate(mpis):
        if (rung, mpi) not in known:
            continue
        before = known.get((rungs[place - 1], mpi)) if place else 0.0
        found.append(Step(series, known[rung, mpi] if before is None else before, known[rung, mpi]))
    return found


def _added(step: Step, rung: int, shown: Callable[[float], str]) -> str:
    delta = step.after - step.before
    return ("+" if delta >= 0 else "−") + shown(abs(delta)) if rung else fmt.MISSING + " the first rung"


def _said(step: Step, rung: int, shown: Callable[[float], str]) -> str:
    return f"{shown(step.after)}, {_added(step, rung, shown)}" if rung else shown(step.after)
