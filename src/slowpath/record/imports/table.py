# SPDX-License-Identifier: Apache-2.0
"""What the tables of other benchmarks have in common: rows of means, and what such a table can't tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Literal

from slowpath.core.errors import RecordError

Measure = Literal["ping_pong", "windowed", "put", "operation"]
NS_PER_S = 10**9
LARGEST_BATCH = 2**32 - 1  # schema/block.json: batch is a 32-bit field
_ROUNDING_RATIO = Decimal("0.01")  # most that whole nanoseconds may change a time by
_RANK_PREFIX = re.compile(r"^\d+: ")
_ROW = re.compile(r"[\d.]+(?:\s.*)?")

# What no table of means tells, whoever printed it.
MEAN_ONLY = {
    "samples": "the table holds one mean for all repetitions; the times of single operations were never printed",
    "spread": "a mean without its samples has no spread, no interval and no quantiles; measure with slowpath run",
    "first_message": "first uses of the buffers fall into an unprinted warm-up; the buffers are warm",
    "launches": "one file is one launch; how values differ from launch to launch is not known",
}


@dataclass(frozen=True)
class TableRow:
    """One line of a table: the mean time of one operation, and every column as printed.

    operation_s: None when it can't be reported, and then `reason` says why. repetitions: operations in the mean; None:
    not printed. columns: header -> value in the unit that the header names. wrong: why the row counts as failed.
    """

    line: int
    message_bytes: int | None
    operation_s: Decimal | None
    repetitions: int | None
    columns: Mapping[str, float | None]
    reason: str | None = None
    wrong: str | None = None


@dataclass
class LogTable:
    """One table of a log. `operations`: of the engine's, in one repetition of the benchmark's own operation.

    datatype: as printed; empty where none is.
    """

    line: int
    program: str  # OSU | IMB | nccl-tests
    benchmark: str
    variant: str  # what sets it apart from other tables of the benchmark, in words; may be empty
    measure: Measure
    parameters: dict[str, str]  # of the engine, where the log states them
    ranks: int | None
    missing: dict[str, str] = field(default_factory=lambda: dict(MEAN_ONLY))
    rows: list[TableRow] = field(default_factory=list)
    datatype: str = ""

    def again(self, line: int) -> LogTable:
        """A table below the same title, still without rows."""
        return replace(self, line=line, parameters=dict(self.parameters), missing=dict(self.missing), rows=[])

    @property
    def operations(self) -> int:
        """Return the number by which the engine divides a sample of this pattern (docs/internals/record.md)."""
        if self.measure == "ping_pong":
            return 2
        if self.measure == "windowed":
            return int(self.parameters.get("in_flight", "64")) * int(self.parameters.get("pairs", "1"))
        return 1

    def resolve(self) -> None:
        """Rows whose time the record's whole nanoseconds would change become rows without one, with the reason."""
        self.rows = [self._resolved(row) for row in self.rows]

    def _resolved(self, row: TableRow) -> TableRow:
        sample = self.sample(row)
        if sample is None or row.operation_s is None:
            return row
        exact_ns = row.operation_s * sample[1] * self.operations * NS_PER_S
        if abs(sample[0] - exact_ns) <= _ROUNDING_RATIO * exact_ns:
            return row
        time_ns = float(row.operation_s) * NS_PER_S
        why = f"a time of {time_ns:.3g} ns, which the record's whole nanoseconds don't resolve"
        return replace(row, operation_s=None, reason=why)

    def sample(self, row: TableRow) -> tuple[int, int] | None:
        """(nanoseconds, batch): the whole loop as the one batch that it was; None where the row has no time.

        Where the number of repetitions is not printed, the batch is 1 and the sample a mean.
        """
        if row.operation_s is None:
            return None
        batch = min(row.repetitions or 1, LARGEST_BATCH)
        return max(1, round(row.operation_s * batch * self.operations * NS_PER_S)), batch


@dataclass(frozen=True)
class TableLog:
    """One file: its tables, and the lines that belong to none, (line number, text)."""

    path: Path
    content: bytes
    tables: list[LogTable]
    notes: list[tuple[int, str]]


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines without blanks around them, and without the rank that `srun --label` puts before each."""
    for number, raw in enumerate(text.split("\n"), start=1):
        yield number, _RANK_PREFIX.sub("", raw.strip(), count=1).strip()


def is_row(own: str) -> bool:
    """Whether a line can only be one of a table: its first word is a number."""
    return _ROW.fullmatch(own) is not None


def by_header(path: Path, line: int, header: Sequence[str], own: str) -> list[str]:
    """The words of a row.  Raises: RecordError if they are not as many as the header's."""
    words = own.split()
    if len(words) != len(header):
        raise wrong(path, line, f"has {len(words)} columns where the header has {len(header)}; restore the line")
    return words


def decimal(path: Path, line: int, text: str) -> Decimal:
    """A printed number in its own digits.  Raises: RecordError if it isn't one, or is below zero."""
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise wrong(path, line, f"'{text}' is not a number; restore the line") from error
    if not value.is_finite() or not 0 <= value < 10**15:
        raise wrong(path, line, f"'{text}' is not a number from 0 to 1e15; restore the line")
    return value


def count(path: Path, line: int, text: str) -> int:
    """A printed whole number of bytes or repetitions.  Raises: RecordError."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise wrong(path, line, f"'{text}' is not a whole number; restore the line")
    return int(text)


def wrong(path: Path, line: int, problem: str) -> RecordError:
    """The error for one line of a log."""
    return RecordError(f"{path}: line {line}: {problem}")


def time_s(value: Decimal, unit_s: Decimal) -> tuple[Decimal | None, str | None]:
    """Seconds, or None and why: a printed zero is a time below the table's digits, never a time of zero."""
    if value == 0:
        return None, f"is printed as {value}, below the digits of the table"
    return value * unit_s, None
