# SPDX-License-Identifier: Apache-2.0
"""printed.json of an imported launch: every table as the other benchmark printed it, and what it does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowpath.core.decoding import decoded, require_schema
from slowpath.core.files import json_bytes, read_bytes, write_atomically
from slowpath.core.limits import FILE_BYTES
from slowpath.record.imports.table_plan import Planned

PRINTED_SCHEMA = 1
FILE = "printed.json"


class PrintedRow(msgspec.Struct, frozen=True):
    """One row. columns: name with its unit -> value, as printed; null: the log prints no number there.

    operation_s: mean seconds of one operation; None, and then reason says why. repetitions: None: not printed.
    """

    cell: int
    line: int
    message_bytes: int | None
    operation_s: float | None
    repetitions: int | None
    columns: dict[str, float | None]
    reason: str | None = None
    wrong: str | None = None


class PrintedTable(msgspec.Struct, frozen=True):
    """One table. missing: what it does not tell -> why."""

    program: str
    benchmark: str
    variant: str
    ranks: int | None
    missing: dict[str, str]
    rows: list[PrintedRow]


class Printed(msgspec.Struct, frozen=True):
    """printed.json."""

    schema: int
    tables: list[PrintedTable]


def write_printed(folder: Path, planned: Sequence[Planned]) -> None:
    """Writes printed.json of one launch.  Raises: EnvironmentFailure."""
    tables: dict[int, PrintedTable] = {}
    for cell in planned:
        table, row = cell.table, cell.row
        entry = tables.setdefault(
            id(table),
            PrintedTable(table.program, table.benchmark, table.variant, table.ranks, dict(table.missing), []),
        )
        seconds = None if row.operation_s is None else float(row.operation_s)
        entry.rows.append(
            PrintedRow(cell.cell.cell, row.line, row.message_bytes, seconds, row.repetitions, dict(row.columns),
                       row.reason, row.wrong)
        )  # fmt: skip
    write_atomically(folder / FILE, json_bytes(Printed(PRINTED_SCHEMA, list(tables.values()))))


def read_printed(folder: Path) -> list[PrintedTable]:
    """The tables of one launch's folder; [] where there is no printed.json.

    Raises: RecordError if it is damaged or of another version.
    """
    path = folder / FILE
    if not path.exists():
        return []
    content, advice = read_bytes(path, FILE_BYTES[FILE], within=folder), "import the log again"
    require_schema(content, path, PRINTED_SCHEMA, advice)
    return decoded(content, Printed, path, advice).tables
