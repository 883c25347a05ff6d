# SPDX-License-Identifier: Apache-2.0
"""Tables of nccl-tests (and rccl-tests): one line of settings, the devices, rows of two halves, out of place and in.

`time` is the mean of one operation over `iters` times `agg iters`, in microseconds. `#wrong` counts elements;
N/A: nothing was checked. Older versions print `error`, the largest difference, instead. Read from versions up to 2.19.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from slowpath.record.imports.table import (
    MEAN_ONLY,
    US,
    Row,
    Table,
    TableLog,
    by_header,
    count,
    decimal,
    is_row,
    lines,
    time_s,
)

_SETTINGS = re.compile(
    r"# nThread \d+ nGpus \d+ .*\bwarmup iters: \d+ iters: ([0-9]{1,9})(?!\d)(?: agg iters: ([0-9]{1,9})(?!\d))?"
)
_STARTING = re.compile(r"# Collective test starting: (\S+)")
_DEVICE = re.compile(r"#\s+Rank\s+([0-9]{1,9}) .*")
_COLUMNS = re.compile(r"#\s+size\s+count\s(?:.*\s)?time\s+algbw\b.*")
_HALVES = ("out of place", "in place")
_UNKNOWN = "nccl-tests"
_NO_NAME = "versions before 2.17 do not print which collective was run; the file's name may tell"
_NOT_CHECKED = "N/A"


def recognises(text: str) -> bool:
    """Whether the log holds the header of an nccl-tests table."""
    return any(_COLUMNS.match(own) and "busbw" in own for _, own in lines(text))


class _Reader:
    """The state between the lines of one log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.benchmark = _UNKNOWN
        self.repetitions: int | None = None
        self.ranks = 0
        self.header: list[str] | None = None
        self.halves: list[Table] = []
        self.tables: list[Table] = []
        self.notes: list[tuple[int, str]] = []

    def read(self, line: int, own: str) -> None:
        """One line."""
        if starting := _STARTING.match(own):
            self.benchmark, self.ranks = starting[1].rpartition("/")[2], 0
        elif settings := _SETTINGS.match(own):
            self.repetitions = int(settings[1]) * int(settings[2] or 1)
        elif device := _DEVICE.match(own):
            self.ranks = max(self.ranks, int(device[1]) + 1)
        elif _COLUMNS.match(own):
            self._begin(line, own.removeprefix("#").split())
        elif self.header and is_row(own):
            self._row(line, self.header, own)
        elif own and not own.startswith("#"):
            self.notes.append((line, own))

    def _begin(self, line: int, header: list[str]) -> None:
        """A header; printed by every rank of a job without MPI, so a second one in a row begins nothing new."""
        if self.halves and not self.halves[0].rows:
            return
        self.header = header
        missing = {**MEAN_ONLY, "host_time": "how long the calls took on the host is not printed"}
        if self.benchmark == _UNKNOWN:
            missing["benchmark"] = _NO_NAME
        if self.repetitions is None:
            missing["repetitions"] = "the line of settings is missing; the sample is the mean itself"
        self.halves = [
            Table(line, "nccl-tests", self.benchmark, half, "operation", {"memory": "device"}, self.ranks or None,
                  dict(missing))
            for half in _HALVES
        ]  # fmt: skip
        self.tables += self.halves

    def _row(self, line: int, header: list[str], own: str) -> None:
        words = by_header(self.path, line, header, own)
        first = header.index("time")
        second = header.index("time", first + 1) if header.count("time") > 1 else len(words)
        size = count(self.path, line, words[0])
        for table, begin, end in zip(self.halves, (first, second), (second, len(words)), strict=True):
            if begin < end:
                table.rows.append(self._half(line, size, header[begin:end], words[begin:end]))

    def _half(self, line: int, size: int, names: list[str], words: list[str]) -> Row:
        cells = dict(zip(names, words, strict=True))
        checked = cells.pop("#wrong", None)
        failed = None
        if checked not in (None, _NOT_CHECKED) and decimal(self.path, line, str(checked)) > 0:
            failed = f"{checked} elements arrived wrong"
        values: dict[str, Decimal] = {
            name: decimal(self.path, line, text) for name, text in cells.items() if text != _NOT_CHECKED
        }
        mean, why = time_s(values["time"], US) if "time" in values else (None, "the row has no time")
        columns: dict[str, float | None] = {name: float(values[name]) if name in values else None for name in cells}
        return Row(line, size, mean, self.repetitions, columns, why and f"time {why}", failed)


def parse(path: Path, content: bytes, text: str) -> TableLog:
    """All tables of a log.  Raises: RecordError for a row that its header doesn't explain."""
    reader = _Reader(path)
    for line, own in lines(text):
        reader.read(line, own)
    return TableLog(path, content, [table for table in reader.tables if table.rows], reader.notes)
