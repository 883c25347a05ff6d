# SPDX-License-Identifier: Apache-2.0
"""Logs of tables, line by line: a table begins, its header, its settings, its rows; other lines are notes. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowpath.record.imports.table import Row, Table, TableLog, is_row, lines


@dataclass(frozen=True)
class Grammar:
    """How one benchmark prints its tables.

    begin: (line number, line) -> the table that begins there, else None.  header: (table, line) -> names of the
    columns, else None.  setting: a comment inside a table.  row: (path, line number, header, line), raises RecordError.
    """

    begin: Callable[[int, str], Table | None]
    header: Callable[[Table, str], list[str] | None]
    setting: Callable[[Table, str], None]
    row: Callable[[Path, int, list[str], str], Row]

    def recognises(self, text: str) -> bool:
        """Whether a table begins anywhere in the log."""
        return any(self.begin(line, own) for line, own in lines(text))

    def parse(self, path: Path, content: bytes, text: str) -> TableLog:
        """All tables with rows.  Raises: RecordError for a row that its header doesn't explain."""
        tables: list[Table] = []
        notes: list[tuple[int, str]] = []
        header: list[str] | None = None
        for line, own in lines(text):
            if begun := self.begin(line, own):
                tables.append(begun)
                header = None
            elif tables and (columns := self.header(tables[-1], own)):
                header = columns
            elif own.startswith("#"):
                if tables:
                    self.setting(tables[-1], own)
            elif header and is_row(own):
                tables[-1].rows.append(self.row(path, line, header, own))
            elif own:
                notes.append((line, own))
        return TableLog(path, content, [table for table in tables if table.rows], notes)
