# SPDX-License-Identifier: Apache-2.0
"""Logs of tables, line by line: a table begins, its heading, its settings, its rows; other lines are notes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.record.imports.heading import Heading
from slowpath.record.imports.limits import CUT, few_notes
from slowpath.record.imports.table import LogTable, TableLog, TableRow, by_header, is_row, lines, wrong

_ORPHANS = 2  # lines of numbers one after the other that can't be by chance
NO_ROWS = "the heading of {name} has no rows; did that benchmark end early?"


@dataclass(frozen=True)
class Grammar:
    """How one benchmark prints its tables.

    begin: (line number, line) -> the table that begins there, else None.  header: (path, line number, table, line,
    stated unit) -> heading, else None.  setting: a comment inside a table.  again: a table like the last one, below a
    second heading.  row: (path, line number, heading, line), raises RecordError.  ascending: lengths only grow; else
    each stands once.  divides: how a comment begins that several tables below one title are apart by.
    """

    begin: Callable[[int, str], LogTable | None]
    header: Callable[[Path, int, LogTable, str, str | None], Heading | None]
    setting: Callable[[Path, int, LogTable, str], None]
    row: Callable[[Path, int, Heading, str], TableRow]
    ascending: bool
    divides: tuple[str, ...] = ()

    def first_line(self, text: str) -> int | None:
        """Return where the first table begins; None: there is none."""
        return next((line for line, own in lines(text) if own.startswith("#") and self.begin(line, own)), None)

    def recognises(self, text: str) -> bool:
        """Whether a table begins anywhere in the log."""
        return self.first_line(text) is not None

    def parse(self, path: Path, content: bytes, text: str, unit: str | None = None) -> TableLog:
        """Return all tables with rows. unit: of times, where no heading says it.

        Raises: RecordError for a row that its heading doesn't explain, or that can't be of the same table.
        """
        reader = _Reader(self, path, unit)
        last = text.count("\n") + 1
        for line, own in lines(text):
            reader.read(line, own, is_cut=line == last)
        return reader.finish(content)


@dataclass
class _Reader:
    """The state between the lines of one log."""

    grammar: Grammar
    path: Path
    unit: str | None
    tables: list[LogTable] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    heading: Heading | None = None
    digits: list[int] = field(default_factory=list)  # decimals of each column of the table
    lengths: set[int | None] = field(default_factory=set)
    longest: int = 0
    orphans: int = 0

    def read(self, line: int, own: str, *, is_cut: bool) -> None:
        """One line. is_cut: it is the last one, and no line end follows it."""
        if own.startswith("#") or not is_row(own):
            self._words(line, own)
        elif self.heading is None:
            self._orphan(line, own)
        elif is_cut and not self._is_whole(own):
            self.notes.append((line, CUT.format(text=own)))
        else:
            self._row(line, self.heading, own)

    def finish(self, content: bytes) -> TableLog:
        """Return all that was read; a heading without rows is a note."""
        empty = [(table.line, NO_ROWS.format(name=table.benchmark)) for table in self.tables if not table.rows]
        kept = [table for table in self.tables if table.rows]
        return TableLog(self.path, content, kept, few_notes(sorted([*self.notes, *empty])))

    def _words(self, line: int, own: str) -> None:
        self.orphans = 0
        if begun := self.grammar.begin(line, own):
            self._begin(begun)
            self.heading = None
        elif self.tables and (heading := self.grammar.header(self.path, line, self.tables[-1], own, self.unit)):
            if self.tables[-1].rows:
                self._begin(self.tables[-1].again(line))
            self.heading = heading
        elif own.startswith("#"):
            if self.tables:
                if self.tables[-1].rows and own.startswith(self.grammar.divides):
                    self._begin(self.tables[-1].again(line))
                self.grammar.setting(self.path, line, self.tables[-1], own)
        elif own:
            self.notes.append((line, own))

    def _begin(self, table: LogTable) -> None:
        self.tables.append(table)
        self.digits, self.lengths, self.longest = [], set(), 0

    def _orphan(self, line: int, own: str) -> None:
        """Numbers that no heading explains: a few are somebody's line, several are rows of a table that is damaged."""
        words = own.split()
        self.orphans = self.orphans + 1 if len(words) > 1 and all(is_row(word) for word in words) else 0
        if self.orphans >= _ORPHANS:
            raise wrong(self.path, line, "rows of numbers without a heading; restore the heading, or delete the rows")
        self.notes.append((line, own))

    def _is_whole(self, own: str) -> bool:
        """Whether a row that nothing follows is whole: a last number with as many decimals as those above it."""
        words = own.split()
        return len(words) == len(self.digits) and self.digits[-1] > 0 and _decimals(words) == self.digits

    def _row(self, line: int, heading: Heading, own: str) -> None:
        row = self.grammar.row(self.path, line, heading, own)
        if row.operation_s is not None or row.columns:
            self._check_digits(line, heading.columns, own)
        self._check_length(line, row.message_bytes)
        self.tables[-1].rows.append(row)

    def _check_digits(self, line: int, columns: Sequence[str], own: str) -> None:
        """A benchmark prints each column with as many decimals in every row; fewer are a number that was cut off."""
        words = by_header(self.path, line, columns, own)
        digits = _decimals(words)
        if self.digits and digits != self.digits:
            word = next(w for w, a, b in zip(words, digits, self.digits, strict=True) if a != b)
            raise wrong(
                self.path, line, f"'{word}' has other decimals than the rows above; was it cut off? restore the line"
            )
        self.digits = digits

    def _check_length(self, line: int, length: int | None) -> None:
        """One output has each length once; two programs that wrote into one file, or two runs, have it twice."""
        what = "a row without a length" if length is None else f"length {length}"
        if length in self.lengths:
            raise wrong(
                self.path, line, f"{what} for the second time in one table: two outputs in one file; split them"
            )
        if self.grammar.ascending and length is not None and length < self.longest:
            raise wrong(self.path, line, f"{what} after a longer one: two outputs in one file, interleaved; split them")
        self.lengths.add(length)
        self.longest = max(self.longest, length or 0)


def _decimals(words: Sequence[str]) -> list[int]:
    return [len(word.partition(".")[2]) if "." in word else 0 for word in words]
