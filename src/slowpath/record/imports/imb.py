# SPDX-License-Identifier: Apache-2.0
"""Tables of the Intel MPI Benchmarks: `# Benchmarking NAME`, `# #processes = N`, a header, rows.

`t[usec]` of PingPong is half of a round trip. Where t_min, t_max and t_avg are printed, they are over ranks, each a
mean over the repetitions; t_max is taken, as IMB's own bandwidth does. Read from version 2021.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from slowpath.record.imports.heading import Heading, read_heading
from slowpath.record.imports.scan import Grammar
from slowpath.record.imports.table import (
    MEAN_ONLY,
    LogTable,
    Measure,
    TableRow,
    by_header,
    count,
    decimal,
    wrong,
)

_NAME = re.compile(r"# Benchmarking (\S+)")
_RANKS = re.compile(r"# #processes = ([0-9]{1,9})(?!\d)")
_GROUPS = re.compile(r"# \( ?([0-9]{1,9}) groups? of ([0-9]{1,9}) processes each")
_HEADER = re.compile(r"(?:#bytes\s+)?#repetitions(?:\s+\S+)+")
_MODE = re.compile(r"#\s+MODE: (.+)")
_TIMES = ("t", "t_max", "t_ovrl")
_NOT_MEASURED = ("out-of-mem.", "time-out.", "int-overflow")
# Patterns of the engine's own; everything else is an operation by itself.
_KINDS: dict[str, Measure] = {"PingPong": "ping_pong"}
_OVER_RANKS = "t_min, t_max and t_avg are over ranks, each a mean over the repetitions; t_max is taken"


def _begin(line: int, own: str) -> LogTable | None:
    """The table below a heading."""
    found = _NAME.match(own)
    if found is None:
        return None
    name = found[1]
    measure = _KINDS.get(name, "operation")
    parameters = {"pattern": "ping_pong"} if measure == "ping_pong" else {}
    return LogTable(line, "IMB", f"IMB {name}", "", measure, parameters, None, dict(MEAN_ONLY))


def _header(path: Path, line: int, table: LogTable, own: str, unit: str | None) -> Heading | None:
    if own.startswith("Group") and "#repetitions" in own:
        raise wrong(path, line, "a table with a row per group (-multi 1) isn't read; measure with -multi 0")
    if not _HEADER.fullmatch(own):
        return None
    columns = own.split()
    if any(column.startswith("t_max[") for column in columns):
        table.missing["ranks"] = _OVER_RANKS
    return read_heading(path, line, columns, _TIMES, (), unit)


def _setting(_path: Path, _line: int, table: LogTable, own: str) -> None:
    if ranks := _RANKS.match(own):
        table.ranks = int(ranks[1])
        table.variant = f"{ranks[1]} ranks"
    elif groups := _GROUPS.match(own):
        table.ranks = int(groups[1]) * int(groups[2])
        table.variant = f"{groups[1]} groups of {groups[2]} ranks"
        if table.measure == "ping_pong":  # pairs at the same time: not the engine's pattern
            table.measure, table.parameters = "operation", {}
    elif mode := _MODE.match(own):
        table.variant += f", {mode[1].strip().lower()}"


def _row(path: Path, line: int, heading: Heading, own: str) -> TableRow:
    words = own.split()
    if len(words) > 1 and words[1].startswith(_NOT_MEASURED):
        return TableRow(line, count(path, line, words[0]), None, None, {}, f"IMB: {words[1].rstrip(';.')}")
    cells = dict(zip(heading.columns, by_header(path, line, heading.columns, own), strict=True))
    size = count(path, line, cells.pop("#bytes")) if "#bytes" in cells else None
    repetitions = count(path, line, cells.pop("#repetitions"))
    defects = cells.pop("defects", None)
    values: dict[str, Decimal] = {name: decimal(path, line, text) for name, text in cells.items()}
    columns: dict[str, float | None] = {name: float(value) for name, value in values.items()}
    failed = (
        f"the benchmark found {defects} defects in the data" if defects and decimal(path, line, defects) > 0 else None
    )
    mean, why = heading.mean(values, size)
    return TableRow(line, size, mean, repetitions or None, columns, why, failed)


GRAMMAR = Grammar(_begin, _header, _setting, _row, ascending=False)
