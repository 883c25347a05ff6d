# SPDX-License-Identifier: Apache-2.0
"""Tables of the OSU Micro-Benchmarks become a run folder: one launch a file, one cell a row, one sample a cell.

A log holds a title `# OSU ... Test v7.4`, settings, `# Size ...`, rows. Latencies are means over all iterations, of
both directions halved in osu_latency; bandwidths are bytes over the mean time. Units are those of the heading: us and
10^6 bytes per second in OSU's own builds. Neither window size (but in osu_mbw_mr) nor iterations are printed. Read
from versions 5.3 to 7.4.

A row's mean is the whole timed loop divided by its repetitions, so the sample is that loop: one batch. Every mean is
flagged as suspect, because a few interrupted repetitions decide it; nothing is made up for what was not printed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from slowpath.core.campaign import Campaign, CellsTable, campaign_toml
from slowpath.core.errors import RecordError, unreadable
from slowpath.core.files import json_bytes, read_versioned, write_atomically
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Launch, Placement, Plan, Side, cell_key
from slowpath.core.units import format_bytes, plural
from slowpath.record.blocks import Block, write_blocks
from slowpath.record.events import CellBegin, CellEnd, Event, LaunchBegin, LaunchEnd, Note
from slowpath.record.folder import LaunchInfo, create_run_folder, launch_folder, write_launch, write_run
from slowpath.record.imports.source import (
    CUT,
    NAME_A_LOG,
    Conditions,
    cannot_write,
    condition_words,
    damaged,
    differences,
    few_notes,
    imported_campaign,
    kept_log,
    not_stated,
    printable,
    question,
    run_info,
    twice,
)
from slowpath.record.plan_files import write_plan

Measure = Literal["ping_pong", "windowed", "put", "operation"]
NS_PER_S = 10**9
LARGEST_BATCH = 2**32 - 1  # schema/block.json: batch is a 32-bit field
_ROUNDING_RATIO = Decimal("0.01")  # most that whole nanoseconds may change a time by
_RANK_PREFIX = re.compile(r"^\d+: ")
_ROW = re.compile(r"[\d.]+(?:\s.*)?")

# What no table of means tells, whoever printed it.
MEAN_ONLY = {
    "samples": "one mean for all repetitions",
    "spread": "no samples",
    "first_message": "not printed",
    "launches": "one",
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
        why = f"{time_ns:.3g} ns, below whole nanoseconds"
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
        raise wrong(path, line, damaged(own))
    return words


def decimal(path: Path, line: int, text: str) -> Decimal:
    """A printed number in its own digits.  Raises: RecordError if it isn't one, or is below zero."""
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise wrong(path, line, damaged(text)) from error
    if not value.is_finite() or not 0 <= value < 10**15:
        raise wrong(path, line, damaged(text))
    return value


def count(path: Path, line: int, text: str) -> int:
    """A printed whole number of bytes or repetitions.  Raises: RecordError."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise wrong(path, line, damaged(text))
    return int(text)


def wrong(path: Path, line: int, problem: str) -> RecordError:
    """The error for one line of a log."""
    return RecordError(f"{path}: line {line}: {problem}")


def time_s(value: Decimal, unit_s: Decimal) -> tuple[Decimal | None, str | None]:
    """Seconds, or None and why: a printed zero is a time below the table's digits, never a time of zero."""
    if value == 0:
        return None, f"printed as {value}"
    return value * unit_s, None


_S = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "\u00b5": Decimal("1e-6"), "\u03bc": Decimal("1e-6"),
      "m": Decimal("1e-3"), "": Decimal(1)}  # fmt: skip
TIMES_S = {f"{prefix}{second}": value for prefix, value in _S.items() for second in ("s", "sec")}
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
             "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}  # fmt: skip
RATES_BYTES_PER_S = {
    **{f"{p}B/{s}": Decimal(n) for p, n in _PREFIXES.items() for s in ("s", "sec")},
    **{f"{p}{bit}": Decimal(n) / 8 for p, n in _PREFIXES.items() for bit in ("bps", "b/s", "bit/s")},
}
_UNIT = re.compile(r"(.+?)\s*[\[(]\s*([^\])]*?)\s*[\])]")


@dataclass(frozen=True)
class Heading:
    """Names of the columns as printed, and where the mean of an operation stands. time: (column, seconds of its unit).
    rate: (column, bytes per second of its unit).  messages: the column of messages per second.
    """

    columns: Sequence[str]
    time: tuple[str, Decimal] | None = None
    rate: tuple[str, Decimal] | None = None
    messages: str | None = None

    def mean(self, values: Mapping[str, Decimal], size: int | None) -> tuple[Decimal | None, str | None]:
        """Mean seconds of one operation, or None and why. Rates are of all pairs together, as messages are."""
        if self.time is not None:
            name, unit_s = self.time
            mean_s, why = time_s(values[name], unit_s)
            return mean_s, why and f"{name} {why}"
        if self.messages is not None and values[self.messages]:  # more digits than short messages' bandwidth has
            return 1 / values[self.messages], None
        if self.rate is not None and size:
            name, unit_bytes_per_s = self.rate
            if values[name] == 0:
                return None, f"{name} printed as {values[name]}"
            return Decimal(size) / (values[name] * unit_bytes_per_s), None
        return None, "no column of times or bandwidths"


def read_heading(path: Path, line: int, columns: Sequence[str], times: Sequence[str], rates: Sequence[str]) -> Heading:
    """Return where the mean stands among `columns`.

    Args: times, rates: columns that can hold it, without their units, the first that is there counts.
    Raises: RecordError: a unit that is unknown or missing.
    """
    named = {name_and_unit(column)[0]: column for column in columns}
    time = next((named[name] for name in times if name in named), None)
    rate = next((named[name] for name in rates if name in named), None)
    messages = named.get("Messages/s")
    if time is not None:
        return Heading(columns, time=(time, _time_unit_s(path, line, time)))
    if rate is not None:
        return Heading(columns, rate=(rate, _rate_unit(path, line, rate)), messages=messages)
    return Heading(columns, messages=messages)


def name_and_unit(column: str) -> tuple[str, str]:
    """`Latency (us)` -> name and unit; the unit is empty where none is printed."""
    match = _UNIT.fullmatch(column)
    if match is not None:
        return match[1], match[2]
    return column, column if column in RATES_BYTES_PER_S else ""


def _time_unit_s(path: Path, line: int, column: str) -> Decimal:
    """Seconds of the unit that is printed.  Raises: RecordError: none, or an unknown one."""
    unit = name_and_unit(column)[1]
    if unit not in TIMES_S:
        raise no_unit(path, line, column, "ns, us, ms or s")
    return TIMES_S[unit]


def no_unit(path: Path, line: int, column: str, known: str) -> RecordError:
    """Return the error for a column whose unit is unknown."""
    return wrong(path, line, f"'{column[:40]}' has no known unit; convert it to {known}")


def _rate_unit(path: Path, line: int, column: str) -> Decimal:
    unit = name_and_unit(column)[1]
    if unit in RATES_BYTES_PER_S:
        return RATES_BYTES_PER_S[unit]
    raise no_unit(path, line, column, "MB/s, MiB/s, GB/s, GiB/s, Mbps or Gbps")


_TITLE = re.compile(r"# (OSU .{1,200}? Test)(?: v(\d[\w.-]*))?")
_SETTING = re.compile(r"# (Window creation|Synchronization|Datatype): (.+?)\.?")
_PAIRS = re.compile(r"# \[ pairs: ([0-9]{1,9}) \] \[ window size: ([0-9]{1,9}|varied) \]")
_BUFFERS = re.compile(r"# (?:Send Buffer|Rank 0 Memory) on (\S+) .*and (?:Receive Buffer|Rank 1 Memory) on (\S+)")
_IN = r"(?: ?\([^()]{0,20}\))?"
_COLUMN = re.compile(
    rf"P\d+(?:\.\d+)? Tail (?:BW|Lat){_IN}|(?:(?:Avg |Min |Max )?(?:Latency|Bandwidth)|Coll\. Init|MPI_Test|MPI_Wait"
    rf"|(?:Pure|Min|Max) Comm\.|Overall|Compute|Overlap){_IN}|[KMGT]i?B/s|[KMGT]i?b(?:ps|/s)|Messages/s|Iterations"
    r"|Validation|Transmit Size"
)
_WINDOWS = {"MPI_Win_allocate": "allocate", "MPI_Win_create": "create", "MPI_Win_create_dynamic": "dynamic"}
_SYNCHRONISATIONS = {
    "MPI_Win_lock/unlock": "lock",
    "MPI_Win_flush": "flush_all",
    "MPI_Win_flush_local": "flush_local",
    "MPI_Win_post/start/complete/wait": "pscw",
    "MPI_Win_fence": "fence",
}
_MEMORY = {"HOST": "host", "DEVICE": "device", "MANAGED": "managed"}
_USUAL_DATATYPE = "MPI_CHAR"
_NO_ITERATIONS = "not printed"
_TIMES = ("Avg Latency", "Latency", "Overall")
_RATES = ("Bandwidth", *(f"{p}{b}" for p in ("K", "M", "G", "Ki", "Mi", "Gi") for b in ("B/s", "bps", "b/s")))
_BOTH_WAYS = "both as one bandwidth"


@dataclass(frozen=True)
class _OsuBenchmark:
    benchmark: str
    measure: Measure
    parameters: tuple[tuple[str, str], ...] = ()


# A title without its memory suffix (-CUDA and the like) -> what the engine calls it. All others: one operation.
_PUT = (("pattern", "burst"), ("design", "mpi"), ("puts", "1"))
_KINDS = {
    "OSU MPI Latency Test": _OsuBenchmark("osu_latency", "ping_pong", (("pattern", "ping_pong"),)),
    "OSU MPI Bandwidth Test": _OsuBenchmark("osu_bw", "windowed", (("pattern", "windowed"),)),
    "OSU MPI Multiple Bandwidth / Message Rate Test": _OsuBenchmark(
        "osu_mbw_mr", "windowed", (("pattern", "windowed"),)
    ),
    "OSU MPI_Put Latency Test": _OsuBenchmark("osu_put_latency", "put", _PUT),
}


def _begin(line: int, own: str) -> LogTable | None:
    """The table below a title."""
    match = _TITLE.match(own)
    if match is None:
        return None
    title, version = match.groups()
    plain = re.sub(r"-(CUDA|ROCM|OPENACC|SYCL|HIP)\b", "", title)
    kind = _KINDS.get(plain) or _OsuBenchmark(plain.removeprefix("OSU ").removesuffix(" Test"), "operation")
    missing = {**MEAN_ONLY, "repetitions": _NO_ITERATIONS}
    if plain != title:
        missing["memory"] = "D D, also of builds without GPU support"
    if "bi-directional" in plain.lower():
        missing["direction"] = _BOTH_WAYS
    variant = f"v{version}" if version else ""
    return LogTable(line, kind.benchmark, variant, kind.measure, dict(kind.parameters), None, missing)


def _header(path: Path, line: int, own: str) -> Heading | None:
    """The heading of the columns; None if this is none."""
    match = re.match(r"#\s*(Size\b|(?=Avg Latency|Latency|Overall|Bandwidth|[KMG]i?B/s))", own)
    if not match:
        return None
    rest = own[match.end() :]
    if left := _COLUMN.sub("", rest).strip():
        if not match[1]:
            return None
        raise wrong(path, line, damaged(left))
    columns = (["Size"] if match[1] else []) + [match[0] for match in _COLUMN.finditer(rest)]
    if len(columns) == len(set(columns)) and len(columns) > bool(match[1]):
        return read_heading(path, line, columns, _TIMES, _RATES)
    raise wrong(path, line, damaged(own))


def _setting(path: Path, line: int, table: LogTable, own: str) -> None:
    if pairs := _PAIRS.match(own):
        if not pairs[2].isdecimal():
            raise wrong(path, line, "many window sizes (-V); measure with one, as -W 64")
        table.parameters |= {"pairs": pairs[1], "in_flight": pairs[2]}
        table.ranks = 2 * int(pairs[1])
    elif buffers := _BUFFERS.match(own):
        kinds = [_MEMORY.get(side, side.lower()) for side in buffers.groups()]
        memory = kinds[0] if kinds[0] == kinds[1] else ":".join(kinds)
        if table.measure == "put":
            if memory == "host":  # the engine's put has no other
                return
            _no_put(table)
        table.parameters["memory"] = memory
    elif setting := _SETTING.fullmatch(own):
        if setting[1] == "Datatype":
            table.datatype = setting[2]
            return
        name, known = {"Window creation": ("window", _WINDOWS)}.get(setting[1], ("synchronise", _SYNCHRONISATIONS))
        if table.measure == "put" and setting[2] not in known:
            _no_put(table)
        table.parameters[name] = known.get(setting[2], setting[2])
        table.variant += f", {setting[2]}"


def _no_put(table: LogTable) -> None:
    """The engine has no such put: an operation, and nothing of its own to compare with."""
    table.measure = "operation"
    for key, _ in _PUT:
        table.parameters.pop(key, None)


def _row(path: Path, line: int, heading: Heading, own: str) -> TableRow:
    cells = dict(zip(heading.columns, by_header(path, line, heading.columns, own), strict=True))
    size = count(path, line, cells.pop("Size")) if "Size" in cells else None
    status = cells.pop("Validation", None)
    values = {name: decimal(path, line, text) for name, text in cells.items()}
    columns: dict[str, float | None] = {name: float(value) for name, value in values.items()}
    repetitions = int(values["Iterations"]) if values.get("Iterations") else None
    failed = "the benchmark's own validation failed" if status not in (None, "Pass") else None
    mean, why = heading.mean(values, size)
    return TableRow(line, size, mean, repetitions, columns, why, failed)


def first_line(text: str) -> int | None:
    """Return where the first table begins; None: there is none."""
    return next((line for line, own in lines(text) if own.startswith("#") and _begin(line, own)), None)


def parse(path: Path, content: bytes) -> TableLog:
    """Return all tables with rows.

    Raises: RecordError for a row that its heading doesn't explain, or that can't be of the same table, and for a log
            without a row.
    """
    reader = _Reader(path)
    text = content.decode("utf-8", errors="replace")
    last = text.count("\n") + 1
    for line, own in lines(text):
        reader.read(line, own, is_cut=line == last)
    log = reader.finish(content)
    if not log.tables:
        raise unreadable(path, "no row of OSU", NAME_A_LOG)
    for table in log.tables:
        _finish(table)
        table.resolve()
    return log


def _finish(table: LogTable) -> None:
    if table.datatype not in ("", _USUAL_DATATYPE):
        table.variant = ", ".join(part for part in (table.variant, table.datatype) if part)
    if all(row.repetitions for row in table.rows):
        table.missing.pop("repetitions", None)
    if table.measure == "windowed" and "in_flight" not in table.parameters:
        table.missing["in_flight"] = "not printed, 64 by default"
    if table.ranks is None and table.measure != "operation":
        table.ranks = 2


_ORPHANS = 2  # lines of numbers one after the other that can't be by chance
NO_ROWS = "no rows of {name}"


@dataclass
class _Reader:
    """The state between the lines of one log."""

    path: Path
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
        if begun := _begin(line, own):
            self._begin(begun)
            self.heading = None
        elif self.tables and (heading := _header(self.path, line, own)):
            if self.tables[-1].rows:
                self._begin(self.tables[-1].again(line))
            self.heading = heading
        elif own.startswith("#"):
            if self.tables:
                if self.tables[-1].rows and own.startswith("# Datatype:"):
                    self._begin(self.tables[-1].again(line))
                _setting(self.path, line, self.tables[-1], own)
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
            raise wrong(self.path, line, damaged("rows without a heading"))
        self.notes.append((line, own))

    def _is_whole(self, own: str) -> bool:
        """Whether a row that nothing follows is whole: a last number with as many decimals as those above it."""
        words = own.split()
        return len(words) == len(self.digits) and self.digits[-1] > 0 and _decimals(words) == self.digits

    def _row(self, line: int, heading: Heading, own: str) -> None:
        row = _row(self.path, line, heading, own)
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
            raise wrong(self.path, line, damaged(f"{word}, with other decimals"))
        self.digits = digits

    def _check_length(self, line: int, length: int | None) -> None:
        """One output has each length once; two programs that wrote into one file, or two runs, have it twice."""
        problem = "a row without a length" if length is None else f"length {length}"
        if length in self.lengths:
            raise wrong(self.path, line, twice(f"a second {problem}"))
        if length is not None and length < self.longest:
            raise wrong(self.path, line, twice(f"a second series, of {problem}"))
        self.lengths.add(length)
        self.longest = max(self.longest, length or 0)


def _decimals(words: Sequence[str]) -> list[int]:
    return [len(word.partition(".")[2]) if "." in word else 0 for word in words]


PLACEMENT = "as logged"
_MINIMUM_EFFECT = 0.03


class _Measured(NamedTuple):
    experiment: str
    metric: str


# Where a row's time goes.
EXPERIMENTS: dict[Measure, _Measured] = {
    "ping_pong": _Measured("p2p", "half_round_trip_latency_s"),
    "windowed": _Measured("p2p", "time_per_message_s"),
    "put": _Measured("put", "time_per_put_s"),
    "operation": _Measured("printed", "operation_s"),  # no experiment of slowpath measures it
}


class Planned(NamedTuple):
    """One row as a cell."""

    cell: Cell
    table: LogTable
    row: TableRow

    @property
    def measured(self) -> bool:
        """Whether the row gives a sample: it has a time, and no wrong data."""
        return not (self.cell.skip or self.row.wrong)


def planned_cells(logs: Sequence[TableLog], labels: Sequence[str]) -> list[list[Planned]]:
    """The cells of each log, numbered over all logs in the order of their rows."""
    numbers = itertools.count()
    return [
        [
            Planned(_cell(next(numbers), table, name, row, label), table, row)
            for table, name in zip(log.tables, _names(log.tables), strict=True)
            for row in table.rows
        ]
        for log, label in zip(logs, labels, strict=True)
    ]


def build_plan(
    logs: Sequence[TableLog],
    labels: Sequence[str],
    cells: Sequence[Sequence[Planned]],
    stated: Mapping[str, Conditions],
) -> Plan:
    """Plan of the imported run; `labels` are distinct, one a log. stated: label -> conditions of its launch."""
    return Plan(
        schema=PLAN_SCHEMA,
        campaign="imported",
        title=f"Imported from {plural(len(logs), 'log')} of other benchmarks",
        ranks=max((table.ranks or 2 for log in logs for table in log.tables), default=2),
        rounds=1,
        seed=0,
        minimum_effect=_MINIMUM_EFFECT,
        environments=[Environment(label, stated=dict(stated.get(label, {}))) for label in labels],
        placements=[Placement(PLACEMENT, "unknown")],
        cells=[planned.cell for group in cells for planned in group],
        contrasts=_between_files(cells, stated),
        launches=[
            Launch(i, 1, label, PLACEMENT, [planned.cell.cell for planned in group], seed=0)
            for i, (label, group) in enumerate(zip(labels, cells, strict=True), start=1)
        ],
    )


def _names(tables: Sequence[LogTable]) -> list[str]:
    """Benchmark and variant of each table; one that occurs again in the file gets a number."""
    names: list[str] = []
    for table in tables:
        name = ", ".join(part for part in (table.benchmark, table.variant) if part)
        plain, again = name, 1
        while name in names:
            again += 1
            name = f"{plain} ({again})"
        names.append(name)
    return names


def _cell(number: int, table: LogTable, name: str, row: TableRow, label: str) -> Cell:
    parameters = dict(table.parameters)
    if row.message_bytes is not None:
        parameters["message_bytes"] = str(row.message_bytes)
    measured = EXPERIMENTS[table.measure]
    if table.measure == "operation":
        parameters = {"pattern": "operation", "operation": table.benchmark, **parameters}
    size = "" if row.message_bytes is None else f"{format_bytes(row.message_bytes)}, "
    key = cell_key(
        measured.experiment, {**parameters, "of": name}, {"log": label}, "unknown", 1, table.ranks or 2, "imported"
    )
    return Cell(
        number,
        key,
        name,
        f"{name}, {size}{label}",
        measured.experiment,
        parameters,
        environment=label,
        placement=PLACEMENT,
        skip=row.reason,
    )


def _between_files(cells: Sequence[Sequence[Planned]], stated: Mapping[str, Conditions]) -> list[Contrast]:
    """Return each row against the same row of the first file that has it."""
    first: dict[tuple[str, int | None], Planned] = {}
    made: list[Contrast] = []
    for group in cells:
        for planned in group:
            if not planned.measured:
                continue
            base = first.setdefault((planned.cell.group, planned.row.message_bytes), planned)
            if base.cell.environment != planned.cell.environment:  # rows of one log are no two sides
                made.append(_contrast(len(made) + 1, base, planned, stated))
    return made


def _contrast(number: int, a: Planned, b: Planned, stated: Mapping[str, Conditions]) -> Contrast:
    measured = EXPERIMENTS[b.table.measure]
    names = a.cell.environment, b.cell.environment
    conditions = [stated.get(name, {}) for name in names]
    differ = [*differences(*conditions), "file"]
    asked = question(f"{names[1]}, {b.cell.group},", names[0], differ, not_stated(*conditions))
    side_a, side_b = (Side(planned.cell.cell, "steady", planned.cell.environment) for planned in (a, b))
    group = f"between files, {b.cell.group}"
    return Contrast(f"files-{number}", group, asked, "environment", measured.metric, side_a, side_b)


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
            id(table), PrintedTable("OSU", table.benchmark, table.variant, table.ranks, dict(table.missing), [])
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
    return read_versioned(path, Printed, PRINTED_SCHEMA).tables if path.exists() else []


_MEASURES = "The same operations, measured here."
_NONE = "Slowpath has no experiment for any of them."


def campaign_of(plan: Plan, logs: Sequence[TableLog], cells: Sequence[Sequence[Planned]]) -> Campaign:
    """One group of cells a table; none of it can be run where there is no group."""
    groups, why = [], [_MEASURES]
    for log, group in zip(logs, cells, strict=True):
        for table in log.tables:
            mine = [member for member in group if member.table is table]
            if lengths := _lengths(table, mine):
                groups.append(_group(mine, lengths))
                why.append(f"{groups[-1].name}: from {printable(log.path.name)}")
    return imported_campaign(plan, "tables", why if groups else [*why, _NONE], groups)


def _lengths(table: LogTable, cells: Sequence[Planned]) -> list[str]:
    """The lengths that the engine takes: put moves 8 bytes and multiples."""
    if table.measure == "operation":
        return []
    every = dict.fromkeys(cell.row.message_bytes for cell in cells if cell.row.message_bytes is not None)
    return [str(size) for size in every if table.measure != "put" or (size and size % 8 == 0)]


def _group(cells: Sequence[Planned], lengths: list[str]) -> CellsTable:
    cell = cells[0].cell
    parameters = {key: value for key, value in cell.parameters.items() if key != "message_bytes"}
    name = printable(f"{cell.group}, {cell.environment}")
    return CellsTable(name, cell.experiment, {**parameters, "message_bytes": lengths})


_NO_CLOCK_NS = 0  # a log says how long things took, never when
_MEAN = "a mean over all repetitions, without a spread"
_CONDITIONS = "Imported from logs, which do not state how they were launched."


def write_tables(
    logs: Sequence[TableLog], labels: Sequence[str], out: Path | None, stated: Mapping[str, Conditions]
) -> Path:
    """Writes the run folder of logs that were read. stated: label -> what the user states of its launch.

    Returns: the folder, `out` or one made under slowpath-runs.  Raises: EnvironmentFailure.
    """
    cells = planned_cells(logs, labels)
    plan = build_plan(logs, labels, cells, stated)
    folder = create_run_folder("imported", out)
    write_plan(folder / "plan.json", plan)
    campaign = campaign_toml(campaign_of(plan, logs, cells))
    write_atomically(folder / "campaign.toml", campaign)
    for number, (log, group) in enumerate(zip(logs, cells, strict=True), start=1):
        _write_launch(folder, number, log, group)
    missing = [
        f"{label}: {text}"
        for log, label in zip(logs, labels, strict=True)
        for text in dict.fromkeys(text for table in log.tables for text in _missing(table))
    ]
    missing += [f"{label}: stated at import: {condition_words(condition)}" for label, condition in stated.items()]
    write_run(folder, run_info(plan, logs, campaign, _CONDITIONS, missing))
    return folder


def _missing(table: LogTable) -> Iterator[str]:
    for column, why in table.missing.items():
        yield f"{table.benchmark}: {column.replace('_', ' ')}: {why}"


def _write_launch(folder: Path, number: int, log: TableLog, group: Sequence[Planned]) -> None:
    launch = launch_folder(folder, number)
    try:
        launch.mkdir()
        write_blocks(launch / "samples.blk", (block for planned in group for block in _blocks(number, planned)))
    except OSError as error:
        raise cannot_write(launch, error) from error
    write_printed(launch, group)
    events = _events(number, log, group)
    write_atomically(launch / "events.jsonl", b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    write_atomically(launch / "stdout", kept_log(log.content))
    write_launch(folder, LaunchInfo(number, 1, group[0].cell.environment, PLACEMENT, ended="ok"))


def _blocks(launch: int, planned: Planned) -> Iterator[Block]:
    """The block of one row; none where it was skipped."""
    sample = planned.table.sample(planned.row) if planned.measured else None
    if sample is not None:
        yield Block(planned.cell.cell, launch, "steady", [sample[0]], batch=sample[1], flags=("imported", "suspect"))


def _events(launch: int, log: TableLog, group: Sequence[Planned]) -> Iterator[Event]:
    ranks = max(planned.table.ranks or 2 for planned in group)
    yield LaunchBegin(_NO_CLOCK_NS, launch, ranks)
    for line, text in log.notes:
        yield Note(_NO_CLOCK_NS, f"line {line}, not a table's: {text}")
    for planned in group:
        status = "failed" if planned.row.wrong else "skipped" if planned.cell.skip else "ok"
        yield CellBegin(_NO_CLOCK_NS, planned.cell.cell)
        if status == "ok":
            yield Note(_NO_CLOCK_NS, f"line {planned.row.line}: {_MEAN}", planned.cell.cell)
        yield CellEnd(
            _NO_CLOCK_NS,
            planned.cell.cell,
            status,
            planned.row.wrong or planned.cell.skip,
            batch=planned.row.repetitions,
        )
    yield LaunchEnd(_NO_CLOCK_NS)
