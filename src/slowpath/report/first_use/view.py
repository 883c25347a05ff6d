# SPDX-License-Identifier: Apache-2.0
"""First uses of MPI in the order in which a program meets them, as a picture, as lines and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.core.units import format_bytes
from slowpath.report import format as fmt
from slowpath.report.csv import as_csv
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.svg import first_vs_later, marks
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.scale import LogScale

EXPERIMENT = "first_use"
Name = Callable[[CellResult], str]


@dataclass(frozen=True)
class Rung:
    """A first use.

    Args: first: time of the first use. later: time of later uses, or None if it happens once per process. last: number
          and median over launches of the last use, or None if uses were not kept separately.
    """

    name: str
    cell: CellResult
    metric: str
    first: MetricEstimate
    later: MetricEstimate | None
    last: tuple[int, float] | None


def _of(name: str) -> Callable[[CellResult], str]:
    return lambda cell: cell.parameters.get(name, "")


def _window(cell: CellResult) -> str:
    words = [format_bytes(int(cell.parameters["window_bytes"]))]
    if cell.parameters.get("memory") == "program":
        words.append("without MPI")
    if (info := cell.parameters.get("window_info", "none")) != "none":
        words.append(info)
    return ", ".join(words)


# Pattern -> metric -> words. Of windows the longest alone.
_RUNGS: dict[str, tuple[tuple[str, str, Name], ...]] = {
    "init": (
        ("library_load_s", "libraries mapped (processor time)", lambda _: ""),
        ("constructors_s", "constructors of libraries", lambda _: ""),
        ("init_s", "MPI_Init", lambda _: ""),
        ("first_duplicate_s", "first MPI_Comm_dup", lambda _: ""),
        ("first_split_s", "first MPI_Comm_split_type", lambda _: ""),
    ),
    "peer": (
        ("peer_s", "one peer", _of("order")),
        ("peers_s", "round over all peers", _of("order")),
    ),
    "communicator": (("communicator_s", "communicator", _of("made_by")),),
    "collective": (
        ("collective_first_s", "", lambda c: f"{c.parameters['collective']}, {c.parameters['communicator']}"),
    ),
    "window": (("window_use_s", "window", _window),),
    "shared_window": (("shared_window_use_s", "shared window", _window),),
    "persistent": (
        ("persistent_init_s", "persistent init", _of("persistent")),
        ("persistent_start_s", "persistent start", _of("persistent")),
    ),
    "partitioned": (
        ("partitioned_init_s", "partitioned init", lambda _: ""),
        ("partitioned_start_s", "partitioned start", lambda _: ""),
    ),
    "spawn": (("spawn_s", "spawned processes", lambda _: ""),),
}


def rungs(results: Results) -> dict[tuple[str, str], list[Rung]]:
    """Return the first uses by library and placement, in the order of a program's start, without copies of cells."""
    found: dict[tuple[str, str], list[Rung]] = {}
    cells = [cell for cell in results.cells if cell.experiment == EXPERIMENT and cell.copy == 1 and cell.metrics]
    for pattern, metrics in _RUNGS.items():
        mine = [cell for cell in cells if cell.parameters.get("pattern") == pattern]
        for cell in _longest(mine):
            for metric, words, name in metrics:
                if (rung := _rung(cell, metric, words, name(cell))) is not None:
                    found.setdefault((cell.mpi or "this MPI", cell.placement), []).append(rung)
    return found


def _longest(cells: Sequence[CellResult]) -> list[CellResult]:
    """Return, of cells that differ in the window's length, those with the longest."""
    groups: dict[tuple[object, ...], CellResult] = {}
    for cell in cells:
        rest = tuple(sorted((k, v) for k, v in cell.parameters.items() if k != "window_bytes"))
        key = (cell.mpi, cell.placement, cell.environment, rest)
        best = groups.get(key)
        if best is None or _length(cell) > _length(best):
            groups[key] = cell
    return list(groups.values())


def _length(cell: CellResult) -> int:
    return int(cell.parameters.get("window_bytes", "0"))


def _rung(cell: CellResult, metric: str, words: str, name: str) -> Rung | None:
    first = cell.estimate(metric, "first")
    if first is None:
        return None
    label = f"{words} ({name})" if words and name else words or name
    uses = cell.metrics[metric].by_repetition
    last = None
    if uses is not None:
        values = sorted(row[-1] for row in uses.launch_values)
        last = (uses.repetitions[-1], values[len(values) // 2])
    return Rung(label, cell, metric, first, cell.estimate(metric, "steady"), last)


HEAD = ["Use", "First", "Interval", "Later, median", "Interval", "Last one kept", "First over later"]


@dataclass(frozen=True, slots=True)
class FirstUseView:
    """The section of the page."""

    figures: list[Figure]


def first_use_view(results: Results) -> FirstUseView | None:
    """Return the section, or None in a run without measured cells of the experiment first_use."""
    found = rungs(results)
    figures = [_figure(place, where, each) for place, (where, each) in enumerate(found.items())]
    return FirstUseView(figures) if figures else None


def _figure(place: int, where: tuple[str, str], each: Sequence[Rung]) -> Figure:
    grid = f"grid-first-use{place}"
    estimates = [estimate for rung in each for estimate in (rung.first, rung.later) if estimate is not None]
    scale = first_vs_later.scale_of(estimates)
    return Figure(
        f"First-use ladder, {where[0]}",
        f"placement {where[1]}; hollow: first use in a launch; filled: later uses; tick: the last recorded use",
        FigureTable(HEAD, [_numbers(rung) for rung in each]),
        axis=first_vs_later.axis(scale, grid, "time of one use"),
        rows=[TrackRow(rung.name, rung.cell.cell, _track(rung, scale, grid), _value(rung)) for rung in each],
    )


def _track(rung: Rung, scale: LogScale, grid: str) -> Markup:
    content = marks.used(grid)
    first, later = rung.first, rung.later
    if later is not None:
        content += marks.bar(scale(later.value), scale(first.value), "join")
    for estimate, kind in ((later, "steady"), (first, "first")):
        if estimate is not None and estimate.interval:
            content += marks.bar(scale(estimate.interval[0]), scale(estimate.interval[1]), f"interval {kind}")
    if later is not None:
        content += marks.dot(scale(later.value), "dot steady", 4.5)
    if rung.last is not None:
        x = marks.percent(scale(rung.last[1]))
        content += element("line", x1=x, x2=x, y1=6, y2=24, class_="centre")
    content += element("circle", cx=marks.percent(scale(first.value)), cy=marks.MIDDLE, r=5, class_="dot first")
    words = f"First {fmt.time(first.value, first.interval)}, later {_later(rung)}"
    return picture(content, words, "Hollow: first. Filled: later.", height=marks.TRACK_HEIGHT, class_="track")


def _later(rung: Rung) -> str:
    return fmt.time(rung.later.value, rung.later.interval) if rung.later else "once a process"


def _value(rung: Rung) -> str:
    first = fmt.time(rung.first.value, rung.first.interval)
    return f"{fmt.time(rung.later.value, rung.later.interval)} → {first}" if rung.later else first


def _numbers(rung: Rung) -> list[str]:
    first, later = rung.first, rung.later
    return [
        rung.name,
        fmt.time(first.value, first.interval),
        fmt.quantity_interval(first.value, "s", first.interval) or "no interval",
        fmt.time(later.value, later.interval) if later else fmt.MISSING,
        (fmt.quantity_interval(later.value, "s", later.interval) or "no interval") if later else "once a process",
        f"{rung.last[0]}: {fmt.time(rung.last[1])}" if rung.last else fmt.MISSING,
        f"{first.value / later.value:.3g}x" if later else fmt.MISSING,
    ]


FILE = "first-use.csv"
_COLUMNS = (
    "mpi", "placement", "use", "metric", "cell", "launches", "first_s", "first_low_s", "first_high_s", "later_s",
    "later_low_s", "later_high_s", "last_number", "last_s",
)  # fmt: skip


def first_use_lines(results: Results) -> list[str]:
    """Return a line for each first use, [] in a run without such cells."""
    lines: list[str] = []
    for (mpi, placement), each in rungs(results).items():
        width = max(len(rung.name) for rung in each)
        lines.append(f"First-use ladder of {mpi}, {placement}: the first use in a launch, and later uses.")
        lines += [f"  {rung.name.ljust(width)}  {_times(rung)}" for rung in each]
    return lines


def _times(rung: Rung) -> str:
    first = fmt.time(rung.first.value, rung.first.interval)
    if rung.later is None:
        return f"{first}, once a process"
    words = f"{first}, later {fmt.time(rung.later.value, rung.later.interval)}"
    return f"{words}, number {rung.last[0]}: {fmt.time(rung.last[1])}" if rung.last else words


def first_use_files(results: Results) -> dict[str, str]:
    """Return content by file name."""
    found = rungs(results)
    if not found:
        return {}
    rows = ([mpi, placement, *_row(rung)] for (mpi, placement), each in found.items() for rung in each)
    return {FILE: as_csv(_COLUMNS, rows)}


def _row(rung: Rung) -> tuple[str | float | None, ...]:
    first, later = rung.first, rung.later
    low, high = first.interval or (None, None)
    later_low, later_high = (later.interval if later else None) or (None, None)
    number, last_s = rung.last or (None, None)
    return (
        rung.name, rung.metric, rung.cell.cell, first.launches, first.value, low, high, later.value if later else None,
        later_low, later_high, number, last_s,
    )  # fmt: skip
