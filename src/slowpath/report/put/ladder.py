# SPDX-License-Identifier: Apache-2.0
"""The ladder of puts: the instructions and time that each piece of a full MPI adds, and the split by function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.put_results import PutResults, PutRung, PutSplit
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.put.rows import DesignRow, design_words, piece
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.scale import LinearScale
from slowpath.report.svg.size_curves import STYLES


@dataclass(frozen=True, slots=True)
class LadderLevel:
    """The level of another design: its name and its series' colour."""

    name: str
    value: float
    series: int


@dataclass(frozen=True, slots=True)
class LadderStep:
    """A series in a row: from the level of the row above to its own."""

    series: int
    before: float
    after: float


def ladder_scale(steps: Sequence[LadderStep], levels: Sequence[LadderLevel]) -> LinearScale:
    """Return an axis from 0 to a little beyond the highest value."""
    highest = max([*(step.after for step in steps), *(level.value for level in levels)], default=1.0)
    return LinearScale(0.0, highest * 1.04 or 1.0)


def _level_lines(scale: LinearScale, levels: Sequence[LadderLevel]) -> str:
    return "".join(_level_line(level, scale, 0, marks.TRACK_HEIGHT) for level in levels)


def _level_line(level: LadderLevel, scale: LinearScale, top: int, bottom: int) -> str:
    x = marks.percent(scale(level.value))
    return element("line", x1=x, x2=x, y1=top, y2=bottom, class_=f"level {STYLES[level.series % len(STYLES)]}")


def ladder_axis(
    scale: LinearScale, grid: str, levels: Sequence[LadderLevel], label: Callable[[float], str], title: str
) -> Markup:
    """Return names of the levels over the tick labels, and the lines that the tracks use, under the id `grid`."""
    height = marks.AXIS_HEIGHT + 16 * len(levels)
    lines, labels = marks.linear_ticks(scale, label, height - 7)
    content = marks.defined(grid, lines + _level_lines(scale, levels)) + marks.axis_title(title)
    for place, level in enumerate(levels):
        x, style = scale(level.value), STYLES[level.series % len(STYLES)]
        left = x > 50
        content += text(level.name, marks.percent(x - 1 if left else x + 1), 28 + 16 * place, "end" if left else None,
                        f"curve {style}")  # fmt: skip
        content += _level_line(level, scale, 18 + 16 * place, height)
    content += labels
    names = ", ".join(f"{level.name} at {label(level.value)}" for level in levels) or "no library"
    return picture(content, title, f"Linear, from 0 to {label(scale.high)}. {names}.", height=height, class_="axis")


def ladder_track(steps: Sequence[LadderStep], scale: LinearScale, grid: str, words: str) -> Markup:
    """Return a rung with a thin bar for each series. A rung that makes things faster goes back and is hollow."""
    height = min(12, (marks.TRACK_HEIGHT - 6) // max(1, len(steps)))
    top = (marks.TRACK_HEIGHT - height * len(steps)) // 2
    content = marks.used(grid)
    for place, step in enumerate(steps):
        low, high = sorted((scale(step.before), scale(step.after)))
        style = f"point {STYLES[step.series % len(STYLES)]}" + (" beyond" if step.after < step.before else "")
        y = top + place * height
        content += element("rect", x=marks.percent(low), width=marks.percent(max(high - low, 0.3)), y=y + 1,
                           height=max(3, height - 2), class_=style)  # fmt: skip
    return picture(content, words, "From the rung above to this one.", height=marks.TRACK_HEIGHT, class_="track")


Shown = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class _LadderFigure:
    """A figure of the ladder.

    Args: of: value of a rung and what its piece adds. library: the same value of a library.
    """

    grid: str
    title: str
    of: Callable[[PutRung], tuple[float | None, float | None]]
    library: Callable[[DesignRow], float | None]
    tick: Shown
    shown: Shown


def _time_tick(seconds: float) -> str:
    return short_time(seconds) if seconds else "0"


_KINDS = (
    _LadderFigure(
        "grid-put-li",
        "Instructions in the call, piece by piece",
        lambda rung: (rung.instructions, rung.instructions_added),
        lambda row: row.inside.median if row.inside else None,
        "{:g}".format,
        "{:g}".format,
    ),
    _LadderFigure(
        "grid-put-lt",
        "Time of a put, piece by piece",
        lambda rung: (rung.time_s, rung.time_added_s),
        lambda row: row.estimate.value if row.estimate else None,
        _time_tick,
        fmt.time,
    ),
)


def ladder_figures(found: PutResults, rows: Sequence[DesignRow], mpis: Sequence[str]) -> list[Figure]:
    """Return both figures, without those that have values for fewer than two rungs."""
    return [figure for kind in _KINDS if (figure := _figure(kind, found.ladder, rows, mpis))]


def _figure(
    kind: _LadderFigure, rungs: Sequence[PutRung], rows: Sequence[DesignRow], mpis: Sequence[str]
) -> Figure | None:
    if len({measured_rung.rung for measured_rung in rungs if kind.of(measured_rung)[0] is not None}) < 2:
        return None
    levels = [LadderLevel(row.name, value, mpis.index(row.mpi))
              for row in rows if row.kind == "library" and (value := kind.library(row)) is not None]  # fmt: skip
    first = min(measured_rung.rung for measured_rung in rungs)
    made: list[TrackRow] = []
    numbers: list[list[str]] = []
    by_rung: dict[int, list[PutRung]] = {}
    for measured_rung in sorted(
        rungs, key=lambda measured_rung: (measured_rung.rung, mpis.index(measured_rung.mpi or ""))
    ):
        by_rung.setdefault(measured_rung.rung, []).append(measured_rung)
    steps = {rung: [step for member in members if (step := _step(kind, member, mpis, first))]
             for rung, members in by_rung.items()}  # fmt: skip
    scale = ladder_scale([step for found in steps.values() for step in found], levels)
    for rung, members in by_rung.items():
        words = f"{rung}: {piece(rung)}"
        known = [(member.mpi or "", *texts) for member in members if (texts := _texts(kind, member, first))]
        shown = _joined([(mpi, with_it if rung == first else f"{with_it}, {adds}") for mpi, with_it, adds in known])
        track = ladder_track(steps[rung], scale, kind.grid, f"{words}: {shown or 'no value'}")
        made.append(TrackRow(words, -1, track, shown or f"{fmt.MISSING} no value"))
        numbers += [[words, mpi, with_it, adds] for mpi, with_it, adds in known]
    reach = "; ".join(f"{level.name}: {kind.shown(level.value)}" for level in levels)
    table = FigureTable(["Piece", "In launches of", "With it", "It adds"], numbers)
    where = f"vertical lines are the libraries: {reach}" if reach else "no library was measured"
    return Figure(kind.title, where, table, ladder_axis(scale, kind.grid, levels, kind.tick, kind.title), made)


def _joined(texts: Sequence[tuple[str, str]]) -> str:
    """Return the texts of each MPI's launches, or one text if they agree."""
    distinct = list(dict.fromkeys(text for _, text in texts))
    return "; ".join(distinct if len(distinct) < 2 else [f"{mpi} {text}" for mpi, text in texts])


def _step(kind: _LadderFigure, rung: PutRung, mpis: Sequence[str], first: int) -> LadderStep | None:
    """Return the step from the rung below, from 0 for the first rung, without length if the rung below is missing."""
    value, added = kind.of(rung)
    if value is None:
        return None
    before = 0.0 if rung.rung == first else value if added is None else value - added
    return LadderStep(mpis.index(rung.mpi or ""), before, value)


def _texts(kind: _LadderFigure, rung: PutRung, first: int) -> tuple[str, str] | None:
    """Return the value with this piece, and what the piece adds."""
    value, added = kind.of(rung)
    if value is None:
        return None
    if added is None:
        return kind.shown(value), f"{fmt.MISSING} the {'first rung' if rung.rung == first else 'rung below is missing'}"
    return kind.shown(value), ("+" if added >= 0 else "−") + kind.shown(abs(added))


SHOWN = 8  # functions; the rest is one row, and the table has them all


def split_figures(found: PutResults) -> list[Figure]:
    """Return a figure for each library that was counted."""
    return [_split_figure(f"grid-put-s{place}", split) for place, split in enumerate(found.splits)]


def _split_figure(grid: str, split: PutSplit) -> Figure:
    entries: list[tuple[str, str, float, float | None]] = [
        (part.function, part.library, part.per_call, part.ratio) for part in split.parts[:SHOWN]
    ]
    if rest := split.parts[SHOWN:]:
        shares = sum(part.ratio or 0.0 for part in rest)
        entries.append((fmt.plural(len(rest), "other function"), "", sum(part.per_call for part in rest), shares))
    scale = ladder_scale([LadderStep(0, 0.0, per_call) for _, _, per_call, _ in entries], [])
    rows = []
    for function, library, per_call, ratio in entries:
        shown = f"{per_call:.1f}, {fmt.percent(ratio, 0)}"
        track = ladder_track([LadderStep(0, 0.0, per_call)], scale, grid, f"{function}: {shown}")
        rows.append(TrackRow(function, -1, track, shown, library))
    numbers = [[part.function, part.library, f"{part.per_call:.2f}", fmt.percent(part.ratio)] for part in split.parts]
    words = design_words(split.design)
    name = f"{words} of {split.mpi}" if split.mpi else words
    table = FigureTable(["Function", "Library", "Instructions of a call", "Share"], numbers)
    where = "mean over the counted calls; a function without a name in its library's table is shown by its place"
    axis = ladder_axis(scale, grid, [], "{:g}".format, "Instructions of a call")
    return Figure(f"{name}: where the instructions go", where, table, axis, rows)
