# SPDX-License-Identifier: Apache-2.0
"""Tables of nccl-tests (and rccl-tests): one line of settings, the devices, rows of two halves, out of place and in.

`time` is the mean of one operation over `iters` times `agg iters`, in the unit of the line below the heading; `cputime`
(-C) is what the calls took on the host and is refused. `#wrong` counts elements;
N/A: nothing was checked. Older versions print `error`, the largest difference, instead. Read from versions up to 2.19.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from slowpath.record.imports.heading import stated_unit_s
from slowpath.record.imports.limits import CUT, few_notes
from slowpath.record.imports.scan import NO_ROWS
from slowpath.record.imports.table import (
    MEAN_ONLY,
    LogTable,
    TableLog,
    TableRow,
    by_header,
    count,
    decimal,
    is_row,
    lines,
    time_s,
    wrong,
)

_SETTINGS = re.compile(
    r"# nThread \d+ nGpus \d+ .*\bwarmup iters: \d+ iters: ([0-9]{1,9})(?!\d)(?: agg iters: ([0-9]{1,9})(?!\d))?"
)
_STARTING = re.compile(r"# Collective test starting: (\S+)")
_DEVICE = re.compile(r"#\s+Rank\s+([0-9]{1,9}) .*")
_COLUMNS = re.compile(r"#\s+size\s+count\s(?:.*\s)?(?:cpu)?time\s+algbw\b.*")
_UNITS = re.compile(r"#\s+\(\S+\)(?:\s+\(\S+\)){2,}\s*")
_KEY = ("type", "redop", "root")  # what a run goes through, besides the lengths
_HALVES = ("out of place", "in place")
_UNKNOWN = "nccl-tests"
_NO_NAME = "versions before 2.17 do not print which collective was run; the file's name may tell"
_NOT_CHECKED = "N/A"


def first_line(text: str) -> int | None:
    """Return where the heading of the first nccl-tests table stands; None: there is none."""
    return next((line for line, own in lines(text) if _COLUMNS.match(own) and "busbw" in own), None)


def recognises(text: str) -> bool:
    """Whether the log holds the heading of an nccl-tests table."""
    return first_line(text) is not None


class _NcclReader:
    """The state between the lines of one log."""

    def __init__(self, path: Path, unit: str | None) -> None:
        self.path = path
        self.unit = unit
        self.benchmark = _UNKNOWN
        self.repetitions: int | None = None
        self.ranks = 0
        self.line = 0  # of the heading
        self.header: list[str] | None = None
        self.unit_s: Decimal | None = None
        self.halves: dict[tuple[str, ...], tuple[LogTable, LogTable]] = {}  # here, by type, redop and root
        self.tables: list[LogTable] = []
        self.notes: list[tuple[int, str]] = []

    def read(self, line: int, own: str, *, is_cut: bool) -> None:
        """One line. is_cut: it is the last one, and no line end follows it."""
        if starting := _STARTING.match(own):
            self.benchmark, self.ranks = starting[1].rpartition("/")[2], 0
        elif settings := _SETTINGS.match(own):
            self.repetitions = int(settings[1]) * int(settings[2] or 1)
        elif device := _DEVICE.match(own):
            self.ranks = max(self.ranks, int(device[1]) + 1)
        elif _COLUMNS.match(own):
            self._begin(line, own.removeprefix("#").split())
        elif self.header and not self.halves and _UNITS.fullmatch(own):
            self._units(line, own.removeprefix("#").split())
        elif is_row(own) and not is_cut and self.header:
            self._row(line, self.header, own)
        elif own and not own.startswith("#"):
            self.notes.append((line, CUT.format(text=own) if is_cut and is_row(own) else own))

    def _begin(self, line: int, header: list[str]) -> None:
        """A heading; printed by every rank of a job without MPI, so a second one in a row begins nothing new."""
        if "cputime" in header:
            raise wrong(self.path, line, "'cputime' is the time of the calls on the host; measure without -C 1")
        if self.header and not self.halves:
            return
        self.line, self.header, self.unit_s, self.halves = line, header, None, {}

    def _units(self, line: int, units: list[str]) -> None:
        """The line below a heading: the unit of each column that has one, size, count and time first."""
        if units[0] != "(B)":
            raise wrong(self.path, line, f"sizes are in '{units[0]}'; convert them to bytes, and write (B)")
        times = [unit.strip("()") for unit in units[2::3]] if len(units) in (5, 8) else [units[2].strip("()")]
        if len(set(times)) > 1:
            raise wrong(self.path, line, f"times are in {' and '.join(times)}; convert them to one unit")
        self.unit_s = stated_unit_s(self.path, line, "time", times[0], self.unit)

    def _halves(self, header: list[str], words: list[str]) -> tuple[LogTable, LogTable]:
        """The tables of a row: out of place and in place; others where its type, operation or root is another."""
        key = tuple(words[header.index(name)] for name in _KEY if name in header)
        if key not in self.halves:
            if self.unit_s is None:
                self.unit_s = stated_unit_s(self.path, self.line, "time", "", self.unit)
            missing = {**MEAN_ONLY, "host_time": "how long the calls took on the host is not printed"}
            if self.benchmark == _UNKNOWN:
                missing["benchmark"] = _NO_NAME
            if self.repetitions is None:
                missing["repetitions"] = "the line of settings is missing; the sample is the mean itself"
            made = [
                LogTable(self.line, "nccl-tests", self.benchmark, half, "operation", {"memory": "device"},
                      self.ranks or None, dict(missing), datatype=" ".join(key))
                for half in _HALVES
            ]  # fmt: skip
            self.halves[key] = made[0], made[1]
            self.tables += made
        return self.halves[key]

    def _row(self, line: int, header: list[str], own: str) -> None:
        words = by_header(self.path, line, header, own)
        first = header.index("time")
        second = header.index("time", first + 1) if header.count("time") > 1 else len(words)
        size = count(self.path, line, words[0])
        tables = self._halves(header, words)
        if (last := tables[0].rows[-1].message_bytes if tables[0].rows else None) is not None and size <= last:
            if size == 0:  # lengths below one element for each rank, which are all rounded down to it
                self.notes.append((line, f"0 bytes once more, left out: {own}"))
                return
            two = "two outputs in one file, or several cycles (-N); split them"
            raise wrong(self.path, line, f"length {size} after {last}: {two}")
        for table, begin, end in zip(tables, (first, second), (second, len(words)), strict=True):
            if begin < end:
                table.rows.append(self._half(line, size, header[begin:end], words[begin:end]))

    def _half(self, line: int, size: int, names: list[str], words: list[str]) -> TableRow:
        cells = dict(zip(names, words, strict=True))
        checked = cells.pop("#wrong", None)
        failed = None
        if checked not in (None, _NOT_CHECKED) and decimal(self.path, line, str(checked)) > 0:
            failed = f"{checked} elements arrived wrong"
        values: dict[str, Decimal] = {
            name: decimal(self.path, line, text) for name, text in cells.items() if text != _NOT_CHECKED
        }
        unit_s = self.unit_s or Decimal(0)  # known since the table began
        mean, why = time_s(values["time"], unit_s) if "time" in values else (None, "the row has no time")
        columns: dict[str, float | None] = {name: float(values[name]) if name in values else None for name in cells}
        return TableRow(line, size, mean, self.repetitions, columns, why and f"time {why}", failed)

    def finish(self, content: bytes) -> TableLog:
        """Return all that was read. What tables of one heading are apart by is part of their name."""
        if self.header and not self.halves:
            self.notes.append((self.line, NO_ROWS.format(name=self.benchmark)))
        kinds: dict[int, set[str]] = {}
        for table in self.tables:
            kinds.setdefault(table.line, set()).add(table.datatype)
        for table in self.tables:
            if len(kinds[table.line]) > 1:
                table.variant += f", {table.datatype}"
        kept = [table for table in self.tables if table.rows]
        return TableLog(self.path, content, kept, few_notes(sorted(self.notes)))


def parse(path: Path, content: bytes, text: str, unit: str | None = None) -> TableLog:
    """Return all tables of a log.  Raises: RecordError for a row that its heading doesn't explain."""
    reader = _NcclReader(path, unit)
    last = text.count("\n") + 1
    for line, own in lines(text):
        reader.read(line, own, is_cut=line == last)
    return reader.finish(content)
