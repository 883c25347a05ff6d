# SPDX-License-Identifier: Apache-2.0
"""The ladder as two figures: what each piece of a full MPI adds, in instructions and in time; where libraries stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowpath.core.put_results import PutResults, PutRung
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Table
from slowpath.report.figure import Row as FigureRow
from slowpath.report.put.rows import Row
from slowpath.report.put.words import piece
from slowpath.report.svg import ladder
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.ladder import Level, Step

Shown = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two figures. of: value and what its piece adds, of a rung.  library: the same value of a library."""

    grid: str
    title: str
    of: Callable[[PutRung], tuple[float | None, float | None]]
    library: Callable[[Row], float | None]
    tick: Shown
    shown: Shown


def _time_tick(seconds: float) -> str:
    return short_time(seconds) if seconds else "0"


_KINDS = (
    _Kind(
        "grid-put-li",
        "Instructions in the call, piece by piece",
        lambda rung: (rung.instructions, rung.instructions_added),
        lambda row: row.inside.median if row.inside else None,
        "{:g}".format,
        "{:g}".format,
    ),
    _Kind(
        "grid-put-lt",
        "Time of a put, piece by piece",
        lambda rung: (rung.time_s, rung.time_added_s),
        lambda row: row.estimate.value if row.estimate else None,
        _time_tick,
        fmt.time,
    ),
)


def ladder_figures(found: PutResults, rows: Sequence[Row], mpis: Sequence[str]) -> list[Figure]:
    """Both figures; those that no two rungs have a value for are left out."""
    return [figure for kind in _KINDS if (figure := _figure(kind, found.ladder, rows, mpis))]


def _figure(kind: _Kind, rungs: Sequence[PutRung], rows: Sequence[Row], mpis: Sequence[str]) -> Figure | None:
    if len({one.rung for one in rungs if kind.of(one)[0] is not None}) < 2:
        return None
    levels = [Level(row.name, value, mpis.index(row.mpi))
              for row in rows if row.kind == "library" and (value := kind.library(row)) is not None]  # fmt: skip
    first = min(one.rung for one in rungs)
    made: list[FigureRow] = []
    numbers: list[list[str]] = []
    by_rung: dict[int, list[PutRung]] = {}
    for one in sorted(rungs, key=lambda one: (one.rung, mpis.index(one.mpi or ""))):
        by_rung.setdefault(one.rung, []).append(one)
    steps = {rung: [step for one in members if (step := _step(kind, one, mpis, first))]
             for rung, members in by_rung.items()}  # fmt: skip
    scale = ladder.scale_of([step for found in steps.values() for step in found], levels)
    for rung, members in by_rung.items():
        words = f"{rung}: {piece(rung)}"
        known = [(one.mpi or "", *texts) for one in members if (texts := _texts(kind, one, first))]
        shown = _joined([(mpi, with_it if rung == first else f"{with_it}, {adds}") for mpi, with_it, adds in known])
        track = ladder.track(steps[rung], scale, kind.grid, f"{words}: {shown or 'no value'}")
        made.append(FigureRow(words, -1, track, shown or f"{fmt.MISSING} no value"))
        numbers += [[words, mpi, with_it, adds] for mpi, with_it, adds in known]
    reach = "; ".join(f"{level.name}: {kind.shown(level.value)}" for level in levels)
    table = Table(["Piece", "In launches of", "With it", "It adds"], numbers)
    where = f"upright lines are the libraries as they are: {reach}" if reach else "no library was measured next to it"
    return Figure(kind.title, where, table, ladder.axis(scale, kind.grid, levels, kind.tick, kind.title), made)


def _joined(texts: Sequence[tuple[str, str]]) -> str:
    """What the launches of each MPI show; once, where it is the same in all."""
    distinct = list(dict.fromkeys(text for _, text in texts))
    return "; ".join(distinct if len(distinct) < 2 else [f"{mpi} {text}" for mpi, text in texts])


def _step(kind: _Kind, one: PutRung, mpis: Sequence[str], first: int) -> Step | None:
    """From the rung below to this one; from 0 for the first rung, of no length where the rung below is missing."""
    value, added = kind.of(one)
    if value is None:
        return None
    before = 0.0 if one.rung == first else value if added is None else value - added
    return Step(mpis.index(one.mpi or ""), before, value)


def _texts(kind: _Kind, one: PutRung, first: int) -> tuple[str, str] | None:
    """The value with this piece, and what the piece adds."""
    value, added = kind.of(one)
    if value is None:
        return None
    if added is None:
        return kind.shown(value), f"{fmt.MISSING} the {'first rung' if one.rung == first else 'rung below is missing'}"
    return kind.shown(value), ("+" if added >= 0 else "−") + kind.shown(abs(added))
