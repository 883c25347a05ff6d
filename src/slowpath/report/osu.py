# SPDX-License-Identifier: Apache-2.0
"""Plain tables of numbers: in the format of the OSU Micro-Benchmarks, and one row for each cell. Pure.

Programs that read OSU's tables take the first columns of lines without #. A head above each table states what a value
is: a median over launches, where OSU prints a mean over iterations. The value's interval follows OSU's columns, then
the number of launches where rows differ in it; the head has it otherwise. Tables are as wide as a terminal at most.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import UsageError
from slowpath.core.guard import cleaned
from slowpath.core.plan import is_effort
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.experiments.registry import ROLES, experiment_named
from slowpath.report import format as fmt
from slowpath.report.figure import Section, Table

US, MB = 1e-6, 1e6

Numbers = tuple[float | int | None, ...]


class Given(NamedTuple):
    """What a row is made from. ranks: of the cell's launches; None: not known."""

    cell: CellResult
    ranks: int | None


class Values(NamedTuple):
    """A row in the table's units. columns: as in `TableKind.columns`; the first one has the interval.

    launches: that measured it.
    """

    columns: Numbers
    interval: Interval | None
    launches: int


@dataclass(frozen=True)
class TableKind:
    """One kind of table.

    Args:
        name: as in --kind.
        title: what is measured, in a few words.
        columns: names of the columns after the size, those of the benchmark where it has them.
        keys: the same columns as they are named in CSV and JSON, the first one always `value`.
        unit: of the first column.
        means: what the numbers are, for the table's head.
        takes: whether a cell belongs to this kind.
        values: the row of a cell; None: it was not measured.
        needs: what a run must hold, for the line about what is missing.
        own: parameters that the head's first line states, and that the settings leave out.
        by: the parameter that a title names, such as the collective.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    unit: str
    means: str
    takes: Callable[[CellResult], bool]
    values: Callable[[Given], Values | None]
    needs: str
    own: tuple[str, ...] = ()
    by: str | None = None


def _p2p(pattern: str, *, both_ways: bool = False) -> Callable[[CellResult], bool]:
    def takes(cell: CellResult) -> bool:
        if cell.experiment != "p2p" or cell.parameters.get("pattern") != pattern:
            return False
        return (cell.parameters.get("direction") == "both") is both_ways

    return takes


def _several(cell: CellResult) -> bool:
    """More than one pair, or more than one thread a rank."""
    return any(cell.parameters.get(name, "1") != "1" for name in ("pairs", "threads"))


def _scaled(interval: Interval | None, unit: float) -> Interval | None:
    return (interval[0] / unit, interval[1] / unit) if interval is not None else None


def _over(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _latency(given: Given) -> Values | None:
    estimate = given.cell.estimate("half_round_trip_latency_s", "steady")
    if estimate is None:
        return None
    return Values((estimate.value / US,), _scaled(estimate.interval, US), estimate.launches)


def _bandwidth(given: Given) -> Values | None:
    estimate = given.cell.estimate("time_per_message_s", "steady")
    if estimate is None or estimate.bandwidth_bytes_per_s is None:
        return None
    return Values((estimate.bandwidth_bytes_per_s / MB,), _scaled(estimate.bandwidth_interval, MB), estimate.launches)


def _message_rate(given: Given) -> Values | None:
    estimate = given.cell.estimate("time_per_message_s", "steady")
    if estimate is None or estimate.message_rate_per_s is None:
        return None
    megabytes = _over(estimate.bandwidth_bytes_per_s, MB)
    slowest, fastest = (
        estimate.message_rate_per_s * estimate.value / each(estimate.launch_values) for each in (max, min)
    )
    columns = (estimate.message_rate_per_s, slowest, fastest)
    if megabytes is None:  # empty messages: the rate alone has a value
        return Values((0.0, *columns), None, estimate.launches)
    return Values((megabytes, *columns), _scaled(estimate.bandwidth_interval, MB), estimate.launches)


def _collective(given: Given) -> Values | None:
    estimate = given.cell.estimate("collective_own_s", "steady")
    if estimate is None:
        return None
    columns = (
        estimate.value / US,
        estimate.min / US,
        estimate.max / US,
        estimate.samples,
        estimate.p50 / US,
        _over(estimate.p90, US),
        _over(estimate.p99, US),
    )
    return Values(columns, _scaled(estimate.interval, US), estimate.launches)


def _overlap(given: Given) -> Values | None:
    whole, computing, alone = (
        given.cell.estimate(name, "steady") for name in ("overlapped_s", "compute_s", "collective_own_s")
    )
    if whole is None or computing is None or alone is None:
        return None
    hidden = 100 * (1 - (whole.value - computing.value) / alone.value)
    columns = (whole.value / US, computing.value / US, alone.value / US, min(100.0, max(0.0, hidden)))
    return Values(columns, _scaled(whole.interval, US), whole.launches)


_COPIES = {
    "gpu_from_host": "host to device",
    "gpu_to_host": "device to host",
    "gpu_peer_copy": "device to another device",
    "gpu_copy": "within a device",
}


def _copy_of(cell: CellResult) -> str | None:
    return next((floor.name for floor in cell.floors if floor.name in _COPIES and floor.time_s), None)


def _copy(given: Given) -> Values | None:
    name, bytes_ = _copy_of(given.cell), int(given.cell.parameters["message_bytes"])
    floor = next((floor for floor in given.cell.floors if floor.name == name), None)
    if floor is None or floor.time_s is None:
        return None
    ends = (bytes_ / floor.interval[1] / MB, bytes_ / floor.interval[0] / MB) if floor.interval else None
    return Values((bytes_ / floor.time_s / MB, floor.time_s / US), ends, floor.launches)


def copy_words(cell: CellResult) -> str:
    """Return from where to where the bytes of a cell of `copies` go."""
    return _COPIES[_copy_of(cell) or "gpu_copy"]


LATENCY = TableKind(
    name="latency",
    title="half round trip",
    columns=("Latency (us)",),
    keys=("value",),
    unit="us",
    means="Latency: half a round trip, median over launches",
    takes=_p2p("ping_pong"),
    values=_latency,
    needs="p2p cells with pattern=ping_pong",
)
BANDWIDTH = TableKind(
    name="bandwidth",
    title="messages in flight",
    columns=("Bandwidth (MB/s)",),
    keys=("value",),
    unit="MB/s",
    means="Bandwidth: bytes over the median time of a message",
    takes=lambda cell: _p2p("windowed")(cell) and not _several(cell),
    values=_bandwidth,
    needs="p2p cells with pattern=windowed",
    own=("in_flight", "places"),
)
BIDIRECTIONAL = replace(
    BANDWIDTH,
    name="bidirectional",
    title="messages in flight both ways",
    means="Bandwidth: bytes of both directions over the median time",
    takes=_p2p("windowed", both_ways=True),
    needs="p2p cells with pattern=windowed and direction=both",
)
MESSAGE_RATE = TableKind(
    name="message-rate",
    title="messages of all pairs and threads",
    columns=("MB/s", "Messages/s", "Slowest launch", "Fastest launch"),
    keys=("value", "messages_per_s", "slowest_launch_per_s", "fastest_launch_per_s"),
    unit="MB/s",
    means="MB/s, Messages/s: of all pairs and threads over the median time",
    takes=lambda cell: _p2p("windowed")(cell) and _several(cell),
    values=_message_rate,
    needs="p2p cells with pattern=windowed and pairs or threads above 1",
    own=("in_flight", "places", "pairs", "threads"),
)
COLLECTIVE = TableKind(
    name="collective",
    title="on the slowest rank",
    columns=(
        "Latency(us)",
        "Min Latency(us)",
        "Max Latency(us)",
        "Iterations",
        "P50 Tail Lat(us)",
        "P90 Tail Lat(us)",
        "P99 Tail Lat(us)",
    ),
    keys=("value", "min_us", "max_us", "calls", "p50_us", "p90_us", "p99_us"),
    unit="us",
    means="Latency: time of the slowest rank, lower quartile of the calls of a launch, median over launches",
    takes=lambda cell: cell.experiment == "coll" and cell.parameters.get("pattern") == "calls",
    values=_collective,
    needs="coll cells with pattern=calls",
    own=("collective",),
    by="collective",
)
OVERLAP = TableKind(
    name="overlap",
    title="a nonblocking collective while computing",
    columns=("Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)"),
    keys=("value", "compute_us", "communication_us", "overlap_percent"),
    unit="us",
    means="Overlap: the part of Pure Comm. that computing hides, on the slowest rank",
    takes=lambda cell: cell.experiment == "coll" and cell.parameters.get("pattern") == "overlap",
    values=_overlap,
    needs="coll cells with pattern=overlap",
    own=("collective",),
    by="collective",
)
COPIES = TableKind(
    name="copies",
    title="copies of the GPU",
    columns=("Bandwidth (MB/s)", "Time(us)"),
    keys=("value", "time_us"),
    unit="MB/s",
    means="Bandwidth: bytes over the median time of a copy without MPI",
    takes=lambda cell: _copy_of(cell) is not None,
    values=_copy,
    needs="p2p cells with memory=host:device or device:host",
    own=("memory",),
)
KINDS = (LATENCY, BANDWIDTH, BIDIRECTIONAL, MESSAGE_RATE, COLLECTIVE, OVERLAP, COPIES)


def kinds_named(name: str) -> Sequence[TableKind]:
    """Return the kinds that --kind NAME takes."""
    return [kind for kind in KINDS if name in (kind.name, "all")]


def title_of(kind: TableKind, where: Mapping[str, str]) -> str:
    """Return the kind with what its title names, such as `allreduce: time in the call on the slowest rank`."""
    named = where.get(kind.by) if kind.by else None
    return f"{named}, {kind.title}" if named else kind.title


# ---- Tables in OSU's format

_OWN = ("message_bytes", "pattern")
_PLACES = ("mpi", "environment", "placement")
_WIDTH = 79
_PLACE_WORDS = {"one": "into one place", "apart": "each into its own place"}
CAMPAIGN = "numbers"  # whose cells fill these tables


Value = str | int | float | None


@dataclass(frozen=True)
class OsuRow:
    """A row of a table, in the table's units. columns: the first one is the value with the interval.

    `interval` is None where there are too few launches for one.
    """

    size_bytes: int
    columns: Numbers
    interval: Interval | None
    launches: int

    @property
    def value(self) -> float:
        """Return the first column."""
        return self.columns[0] or 0.0


@dataclass(frozen=True)
class OsuTable:
    """A table of cells that differ in message length only. `where` has the other settings by name."""

    kind: TableKind
    where: Mapping[str, str]
    rows: Sequence[OsuRow]


def tables_of(results: Results, kinds: Sequence[TableKind] = KINDS) -> list[OsuTable]:
    """Return all tables of a run.  Raises: UsageError: it has no cells of these kinds."""
    tables = measured_tables(results, kinds)
    if not tables:
        raise UsageError(f"{results.run.folder}: {missing_words(kinds)}")
    return tables


def measured_tables(results: Results, kinds: Sequence[TableKind] = KINDS) -> list[OsuTable]:
    """Return all tables of a run, [] where it has none."""
    ranks = {place.name: len(place.observed) or None for place in results.run.placements}
    given = [Given(cell, ranks.get(cell.placement)) for cell in results.cells]
    return [table for kind in kinds for table in _of_kind(given, kind)]


def missing_kinds(tables: Sequence[OsuTable], kinds: Sequence[TableKind] = KINDS) -> list[TableKind]:
    """Return the kinds of which no table is there."""
    return [kind for kind in kinds if all(table.kind is not kind for table in tables)]


def missing_words(kinds: Sequence[TableKind]) -> str:
    """Return one line about what is not there, and what to run."""
    needs = "; ".join(f"{kind.name}: {kind.needs}" for kind in kinds)
    return f"not measured: {needs}; run: slowpath run {CAMPAIGN}"


def _of_kind(given: Sequence[Given], kind: TableKind) -> list[OsuTable]:
    groups: dict[tuple[tuple[str, str], ...], dict[int, OsuRow]] = {}
    for entry in given:
        row = _row(entry, kind)
        if row is not None:  # the same cell in two groups of a campaign: the first speaks
            groups.setdefault(tuple(_conditions(entry.cell, kind).items()), {}).setdefault(row.size_bytes, row)
    return [OsuTable(kind, dict(where), [rows[size] for size in sorted(rows)]) for where, rows in groups.items()]


def _conditions(cell: CellResult, kind: TableKind) -> dict[str, str]:
    """Return everything that the cells of a table have in common."""
    shared = {k: v for k, v in cell.parameters.items() if k not in _OWN and not is_effort(ROLES, k)}
    if kind is COPIES:
        shared = {"copy": copy_words(cell)}
    return {"mpi": cell.mpi or "", "environment": cell.environment, "placement": cell.placement, **shared}


def _row(given: Given, kind: TableKind) -> OsuRow | None:
    cell = given.cell
    if cell.copy != 1 or not kind.takes(cell):
        return None
    size: str | None = cell.parameters.get("message_bytes")
    values: Values | None = kind.values(given)
    if values is None or size is None:  # an imported cell has what its log states
        return None
    return OsuRow(int(size), values.columns, values.interval, values.launches)


@cleaned
def as_text(results: Results, tables: Sequence[OsuTable]) -> str:
    """Return the tables as text, each with a head that states what its numbers are."""
    apart = {kind: _apart([table for table in tables if table.kind is kind]) for kind in KINDS}
    return "\n\n".join("\n".join(_lines(results, table, apart[table.kind])) for table in tables) + "\n"


def _apart(tables: Sequence[OsuTable]) -> set[str]:
    """Return the settings in which tables of one kind differ."""
    names = dict.fromkeys(name for table in tables for name in table.where)
    return {name for name in names if len({table.where.get(name) for table in tables}) > 1}


def _own_words(table: OsuTable) -> str:
    """Return what the first line says of the table's own parameters: `, 64 in flight, 2 pairs`."""
    where, words = table.where, []
    for name in table.kind.own:
        if name not in where or name == table.kind.by:
            continue
        written = {"in_flight": f"{where[name]} in flight", "places": _PLACE_WORDS.get(where[name], where[name])}
        words.append(written.get(name, f"{name} {where[name]}"))
    return "".join(f", {word}" for word in words)


def _lines(results: Results, table: OsuTable, apart: set[str]) -> list[str]:
    kind, run = table.kind, results.run
    identity = next((mpi for mpi in run.mpis if mpi.mpi == table.where["mpi"]), run.mpi)
    named = ["environment", "placement", *sorted(apart - {*_PLACES, *kind.own})]
    where = ", ".join(f"{name} {table.where[name]}" for name in named if table.where.get(name))
    title = f"{title_of(kind, table.where)}{_own_words(table)}"
    counts = {row.launches for row in table.rows}
    launches = f"launches: {counts.pop()}" if len(counts) == 1 else "Launches: of the MPI job"
    head = [
        f"Slowpath {kind.name} ({title}), in OSU's format; not OSU's program",
        f"Run {run.id}, {identity.name or 'unknown MPI'} {identity.version or ''}".rstrip() + f"; {where}",
        kind.means,
        f"Low, High: 95 % interval; {launches}",
    ]
    wrapped = [textwrap.fill(line, _WIDTH, initial_indent="# ", subsequent_indent="#   ") for line in head]
    names = ["# Size", *kind.columns, f"Low ({kind.unit})", f"High ({kind.unit})", *(["Launches"] if counts else [])]
    rows = [_cells(row)[: len(names)] for row in table.rows]
    return [*wrapped, *_columns(names, rows)]


def _cells(row: OsuRow) -> list[str]:
    low, high = row.interval or (float("nan"), float("nan"))
    return [str(row.size_bytes), *map(_number, (*row.columns, low, high)), str(row.launches)]


def _columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the table; names of several words stand in several lines where they are wider than a terminal."""
    for pieces in ([[name] for name in names], [re.sub(r"(?<=\w)\(", " (", name).split(" ") for name in names]):
        pieces[0] = [names[0]]
        widths = [max(map(len, [*words, *cells])) for words, cells in zip(pieces, zip(*rows, strict=True), strict=True)]
        if sum(widths) + len(widths) <= _WIDTH:
            break
    depth = max(map(len, pieces))
    lines = list(zip(*([""] * (depth - len(words)) + words for words in pieces), strict=True))
    lines = [*(line if line[0] else ("#", *line[1:]) for line in lines), *map(tuple, rows)]
    first, *others = widths
    shown = [
        line[0].ljust(first) + "".join(f" {x:>{n}}" for x, n in zip(line[1:], others, strict=True)) for line in lines
    ]
    return [line.rstrip() for line in shown]


def _number(value: float | int | None) -> str:
    if value is None:
        return "nan"
    if isinstance(value, int):
        return str(value)
    return f"{value:.{3 if abs(value) < 100 else 2 if abs(value) < 10_000 else 0}f}"


def as_records(results: Results, tables: Sequence[OsuTable]) -> list[dict[str, Value]]:
    """Return a flat row for each value. `low` and `high` are None if there is no interval."""
    return [
        {
            "run": results.run.id,
            "kind": table.kind.name,
            **table.where,
            "message_bytes": row.size_bytes,
            **dict(zip(table.kind.keys, row.columns, strict=True)),
            "low": row.interval[0] if row.interval else None,
            "high": row.interval[1] if row.interval else None,
            "unit": table.kind.unit,
            "launches": row.launches,
        }
        for table in tables
        for row in table.rows
    ]


# ---- One row for each cell: what the text of a run ends with that asks no question about slow paths

MOST_ROWS = 60
_LABEL = 28  # characters of a cell's label
CELLS_HEAD = ("cell", "value", "95 % interval", "min", "median", "p99", "launches", "bandwidth")
_CELLS_WIDTHS = (_LABEL, 10, 19, 9, 9, 9, 8)  # below 100 columns, with a blank between two
# Metrics that say what a call costs, before the order in which the experiment lists them.
_FIRST = {"coll": ("collective_own_s",)}


def cell_rows(results: Results, without: Collection[str] = ()) -> dict[str, list[list[str]]]:
    """Return a row of `CELLS_HEAD` for each measured cell, by group and metric.

    Args: without: experiments that have a table of their own.
    """
    groups: dict[str, list[list[str]]] = {}
    for cell in results.cells:
        if cell.experiment in without or cell.copy != 1:
            continue
        if (main := _main_metric(cell)) is not None:
            name, phase, estimate, unit = main
            heading = f"{cell.group}: {fmt.metric_name(name)}{', first' if phase == 'first' else ''}"
            groups.setdefault(heading, []).append(_cell_row(cell, estimate, unit))
    return groups


def cell_lines(results: Results, without: Collection[str] = (), most: int | None = MOST_ROWS) -> list[str]:
    """Return the table of all measured cells for a terminal, [] where there is none.

    Args: without: experiments that have a table of their own.  most: rows at most; None: all.
    """
    groups = cell_rows(results, without)
    if not groups:
        return []
    total = sum(map(len, groups.values()))
    lines, left = [_cell_line(["", *CELLS_HEAD[1:-1]])], total if most is None else most
    for heading, rows in groups.items():
        if left <= 0:
            break
        lines += [heading, *(_cell_line(row[:-1]) for row in rows[:left])]
        left -= len(rows[:left])
    if most is not None:
        more = f"{total - most} more rows, and t" if total > most else "T"
        lines.append(f"{more}ables in OSU's format: slowpath table {results.run.folder or 'RUN'}")
    return lines


def numbers_section(results: Results, folded: bool) -> list[Section]:
    """Return the tables of all measured cells for a page, [] where there is none."""
    tables = []
    for heading, rows in cell_rows(results).items():
        width = len(CELLS_HEAD) - (not any(row[-1] for row in rows))  # without an empty last column
        tables.append(Table(heading, CELLS_HEAD[:width], [row[:width] for row in rows]))
    lead = "The value is the median over launches. Min, median and p99 are over samples."
    return [Section("numbers", "Numbers of all cells", "Numbers", tables, lead, folded)] if tables else []


def _main_metric(cell: CellResult) -> tuple[str, str, MetricEstimate, str] | None:
    """Return name, phase, estimate and unit of the metric that stands for a cell; None: it has none."""
    listed = [metric.name for pattern in experiment_named(cell.experiment).patterns for metric in pattern.metrics]
    if cell.parameters.get("pattern") == "overlap":
        listed = ["overlapped_s", *listed]
    names = dict.fromkeys([*_FIRST.get(cell.experiment, ()), *listed, *cell.metrics])
    for name in names:
        for phase in ("steady", "first"):
            if (estimate := cell.estimate(name, phase)) is not None:
                return name, phase, estimate, cell.metrics[name].unit
    return None


def _cell_row(cell: CellResult, estimate: MetricEstimate, unit: str) -> list[str]:
    interval = fmt.quantity_interval(estimate.value, unit, estimate.interval) or "none"
    quantities = [fmt.quantity(value, unit) for value in (estimate.min, estimate.p50, estimate.p99)]
    bandwidth = estimate.bandwidth_bytes_per_s
    rate = fmt.quantity(bandwidth, "B/s", estimate.bandwidth_interval) if bandwidth else ""
    value = fmt.quantity(estimate.value, unit, estimate.interval)
    return [cell.label, value, interval, *quantities, str(estimate.launches), rate]


def _cell_line(row: list[str]) -> str:
    label, *numbers = row
    shown = (text.rjust(width) for text, width in zip(numbers, _CELLS_WIDTHS[1:], strict=True))
    above = f"  {label}\n  {'':{_LABEL}}" if len(label) > _LABEL else f"  {label:<{_LABEL}}"
    return f"{above}{' '.join(shown)}".rstrip()
