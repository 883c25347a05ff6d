# SPDX-License-Identifier: Apache-2.0
"""First uses of MPI in the order in which a program meets them, as a picture, as lines and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.core.units import format_bytes
from slowpath.report import format as fmt
from slowpath.report.csv import as_csv
from slowpath.report.figure import Axis, Cell, Mark, Quantity, Row, Rows, Section, numbers

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
    "call": (("call_s", "", lambda c: f"{c.parameters['call']} {c.parameters['request']}".removesuffix(" none")),),
    "spawn": (("spawn_s", "spawned processes", lambda _: ""),),
}


def rungs(results: Results) -> dict[tuple[str, str], list[Rung]]:
    """Return the first uses by library and placement, in the order of a program's start, without copies of cells."""
    by_place: dict[tuple[str, str], list[Rung]] = {}
    cells = [cell for cell in results.cells if cell.experiment == EXPERIMENT and cell.copy == 1 and cell.metrics]
    for pattern, metrics in _RUNGS.items():
        mine = [cell for cell in cells if cell.parameters.get("pattern") == pattern]
        for cell in _longest(mine):
            for metric, words, name in metrics:
                if (rung := _rung(cell, metric, words, name(cell))) is not None:
                    by_place.setdefault((cell.mpi or "this MPI", cell.placement), []).append(rung)
    return by_place


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


_HEAD = ["Use", "First", "Later, median", "Last one kept", "First over later"]


def first_use_section(results: Results) -> Section | None:
    """Return the section, or None in a run without measured cells of the experiment first_use."""
    figures = [_figure(mpi, placement, each) for (mpi, placement), each in rungs(results).items()]
    return Section("first_use", "First-use ladder", "First use", figures) if figures else None


def _figure(mpi: str, placement: str, each: Sequence[Rung]) -> Rows:
    rows: list[Row] = []
    table: list[list[Cell]] = []
    for rung in each:
        marks = _marks(rung.first, rung.later)
        marks += [Mark("tick", "", (rung.last[1],))] if rung.last else []
        first = _quantity(rung.first)
        later = _quantity(rung.later) if rung.later else Quantity(None, reason="once a process")
        words = f"first {first.words}, later {later.words if rung.later else later.note}"
        rows.append(Row(rung.name, marks, f"{later.text} → {first.text}" if rung.later else first.text, words=words))
        last = f"{rung.last[0]}: {fmt.time(rung.last[1])}" if rung.last else fmt.MISSING
        ratio = f"{rung.first.value / rung.later.value:.3g}x" if rung.later else fmt.MISSING
        table.append([rung.name, first, later, last, ratio])
    where = f"placement {placement}; hollow: first use in a launch; filled: later uses; tick: the last recorded use"
    axis = Axis("time of a use", least=3.0)
    return Rows(f"First-use ladder, {mpi}", where, axis, rows, numbers(_HEAD, table), head="later → first")


def _marks(first: MetricEstimate, later: MetricEstimate | None) -> list[Mark]:
    """Return the marks of a first use and of later ones, joined."""
    marks = [Mark("join", "", sorted((later.value, first.value)))] if later else []
    for estimate, style in ((later, "later"), (first, "first")):
        if estimate is not None:
            marks += [Mark("line", style, estimate.interval)] if estimate.interval else []
    marks += [Mark("dot", "later", (later.value,))] if later else []
    return [*marks, Mark("dot", "first", (first.value,))]


def _quantity(estimate: MetricEstimate) -> Quantity:
    """Return a time; of an interval that is missing no reason is shown."""
    return Quantity(estimate.value, "s", estimate.interval, None if estimate.interval else "no interval")


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
        lines.append(f"First-use ladder of {mpi}, {placement}:")
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
    by_place = rungs(results)
    if not by_place:
        return {}
    rows = ([mpi, placement, *_row(rung)] for (mpi, placement), each in by_place.items() for rung in each)
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
