# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth by message size in the format of the OSU Micro-Benchmarks. Pure.

Programs that read OSU's tables take the first two columns of lines without #. A head above each table states what a
value is: a median over launches, where OSU prints a mean over iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.clean import cleaned, one_line
from slowpath.core.engine_description import is_effort
from slowpath.core.errors import UsageError
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.experiments.registry import ROLES

US, MB = 1e-6, 1e6
_OWN = ("message_bytes", "pattern")


Value = str | int | float | None


@dataclass(frozen=True)
class TableKind:
    """A table that OSU prints.

    Args: column: name of the second column. means: what a value is. pattern, metric: of the cells.
    """

    name: str
    pattern: str
    metric: str
    title: str
    column: str
    unit: str
    means: str


LATENCY = TableKind(
    "latency",
    "ping_pong",
    "half_round_trip_latency_s",
    "half round trip",
    "Latency (us)",
    "us",
    "Latency: half a round trip, median over launches of the median over samples (osu_latency prints a mean)",
)
BANDWIDTH = TableKind(
    "bandwidth",
    "windowed",
    "time_per_message_s",
    "messages in flight",
    "Bandwidth (MB/s)",
    "MB/s",
    "Bandwidth: bytes over the median time of a message, 10^6 bytes per second (osu_bw divides by a mean)",
)
KINDS = (LATENCY, BANDWIDTH)


@dataclass(frozen=True)
class OsuRow:
    """A row of a table. `value` and `interval` are in the table's unit; None: too few launches for an interval."""

    size_bytes: int
    value: float
    interval: Interval | None
    launches: int


@dataclass(frozen=True)
class OsuTable:
    """A table of cells that differ in message length only. `where` has the other settings by name."""

    kind: TableKind
    where: Mapping[str, str]
    rows: Sequence[OsuRow]


def tables_of(results: Results, kinds: Sequence[TableKind] = KINDS) -> list[OsuTable]:
    """Return all tables of a run.  Raises: UsageError: it has no cells of these kinds."""
    found = [table for kind in kinds for table in _of_kind(one_line(results.cells), kind)]
    if not found:
        wanted = " or ".join(f"pattern={kind.pattern}" for kind in kinds)
        raise UsageError(f"{results.run.folder}: has no measured cell with {wanted}; slowpath run checkup has both")
    return found


def _of_kind(cells: Sequence[CellResult], kind: TableKind) -> list[OsuTable]:
    groups: dict[tuple[tuple[str, str], ...], dict[int, OsuRow]] = {}
    for cell in cells:
        row = _row(cell, kind)
        if row is not None:  # the same cell in two groups of a campaign: the first speaks
            groups.setdefault(tuple(_conditions(cell).items()), {}).setdefault(row.size_bytes, row)
    return [OsuTable(kind, dict(where), [rows[size] for size in sorted(rows)]) for where, rows in groups.items()]


def _conditions(cell: CellResult) -> dict[str, str]:
    """Return everything that the cells of a table have in common."""
    shared = {k: v for k, v in cell.parameters.items() if k not in _OWN and not is_effort(ROLES, k)}
    return {"mpi": cell.mpi or "", "environment": cell.environment, "placement": cell.placement, **shared}


def _row(cell: CellResult, kind: TableKind) -> OsuRow | None:
    if cell.experiment != "p2p" or cell.parameters.get("pattern") != kind.pattern or cell.copy != 1:
        return None
    found, size = cell.estimate(kind.metric, "steady"), cell.parameters.get("message_bytes")
    value, interval = _value(found, kind) if found is not None else (None, None)
    if found is None or value is None or size is None:  # an imported cell has what its log states
        return None
    return OsuRow(int(size), value, interval, found.launches)


def _value(found: MetricEstimate, kind: TableKind) -> tuple[float | None, Interval | None]:
    if kind is LATENCY:
        return found.value / US, _scaled(found.interval, US)
    rate = found.bandwidth_bytes_per_s
    return (rate / MB if rate is not None else None), _scaled(found.bandwidth_interval, MB)


def _scaled(interval: Interval | None, unit: float) -> Interval | None:
    return (interval[0] / unit, interval[1] / unit) if interval is not None else None


@cleaned
def as_text(results: Results, tables: Sequence[OsuTable]) -> str:
    """Return the tables as text, each with a head that states what its numbers are."""
    apart = {kind: _apart([table for table in tables if table.kind is kind]) for kind in KINDS}
    return "\n\n".join("\n".join(_lines(results, table, apart[table.kind])) for table in tables) + "\n"


def _apart(tables: Sequence[OsuTable]) -> set[str]:
    """Return the settings in which tables of one kind differ."""
    names = dict.fromkeys(name for table in tables for name in table.where)
    return {name for name in names if len({table.where.get(name) for table in tables}) > 1}


def _lines(results: Results, table: OsuTable, apart: set[str]) -> list[str]:
    kind, run = table.kind, results.run
    identity = next((mpi for mpi in run.mpis if mpi.mpi == table.where["mpi"]), run.mpi)
    named = ["environment", "placement", *sorted(apart - {"mpi", "environment", "placement", "in_flight"})]
    where = ", ".join(f"{name} {table.where[name]}" for name in named if table.where.get(name))
    in_flight = f", {table.where['in_flight']} in flight" if kind is BANDWIDTH and "in_flight" in table.where else ""
    head = [
        f"# Slowpath {kind.name} ({kind.title}{in_flight}), in the format of OSU's tables; not OSU's program",
        f"# Run {run.id}, {identity.name or 'unknown MPI'} {identity.version or ''}".rstrip() + f"; {where}",
        f"# {kind.means}",
        "# Low, High: ends of its 95 % interval (nan: too few launches for one); Launches: of the MPI job",
    ]
    column = f"{kind.column:>18}{f'Low ({kind.unit})':>18}{f'High ({kind.unit})':>18}{'Launches':>12}"
    return [*head, f"{'# Size':<16}{column}", *(_line(row) for row in table.rows)]


def _line(row: OsuRow) -> str:
    low, high = row.interval or (float("nan"), float("nan"))
    return f"{row.size_bytes:<16}{_number(row.value):>18}{_number(low):>18}{_number(high):>18}{row.launches:>12}"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 100 else f"{value:.3f}"


def as_records(results: Results, tables: Sequence[OsuTable]) -> list[dict[str, Value]]:
    """Return a flat row for each value. `low` and `high` are None if there is no interval."""
    return [
        {
            "run": results.run.id,
            "kind": table.kind.name,
            **table.where,
            "message_bytes": row.size_bytes,
            "value": row.value,
            "low": row.interval[0] if row.interval else None,
            "high": row.interval[1] if row.interval else None,
            "unit": table.kind.unit,
            "launches": row.launches,
        }
        for table in tables
        for row in table.rows
    ]
