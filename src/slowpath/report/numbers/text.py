# SPDX-License-Identifier: Apache-2.0
"""Tables of a run in the format of the OSU Micro-Benchmarks. Pure.

Programs that read OSU's tables take the first columns of lines without #. A head above each table states what a value
is: a median over launches, where OSU prints a mean over iterations. The value's interval follows OSU's columns, then
the number of launches where rows differ in it; the head has it otherwise. Tables are as wide as a terminal at most.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.errors import UsageError
from slowpath.core.guard import cleaned
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.core.roles import is_effort
from slowpath.experiments.registry import ROLES
from slowpath.report.numbers.kinds import COPIES, KINDS, Given, Numbers, TableKind, Values, copy_words, title_of

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
    found = measured_tables(results, kinds)
    if not found:
        raise UsageError(f"{results.run.folder}: {missing_words(kinds)}")
    return found


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
    return f"not measured: {needs}. To measure: slowpath run {CAMPAIGN}"


def _of_kind(given: Sequence[Given], kind: TableKind) -> list[OsuTable]:
    groups: dict[tuple[tuple[str, str], ...], dict[int, OsuRow]] = {}
    for one in given:
        row = _row(one, kind)
        if row is not None:  # the same cell in two groups of a campaign: the first speaks
            groups.setdefault(tuple(_conditions(one.cell, kind).items()), {}).setdefault(row.size_bytes, row)
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
    found: Values | None = kind.values(given)
    if found is None or size is None:  # an imported cell has what its log states
        return None
    return OsuRow(int(size), found.columns, found.interval, found.launches)


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
        f"Low, High: ends of its 95 % interval (nan: too few launches); {launches}",
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
