# SPDX-License-Identifier: Apache-2.0
"""Tables of the Intel MPI Benchmarks: `# Benchmarking NAME`, `# #processes = N`, a header, rows.

`t[usec]` of PingPong is half of a round trip. Where t_min, t_max and t_avg are printed, they are over ranks, each a
mean over the repetitions; t_max is taken, as IMB's own bandwidth does. Read from version 2021.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from slowpath.record.imports.scan import Grammar
from slowpath.record.imports.table import (
    MEAN_ONLY,
    US,
    Measure,
    Row,
    Table,
    by_header,
    count,
    decimal,
    time_s,
)

_NAME = re.compile(r"# Benchmarking (\S+)")
_RANKS = re.compile(r"# #processes = ([0-9]{1,9})(?!\d)")
_GROUPS = re.compile(r"# \( ?([0-9]{1,9}) groups? of ([0-9]{1,9}) processes each")
_HEADER = re.compile(r"(?:#bytes\s+)?#repetitions(?:\s+\S+)+")
_MODE = re.compile(r"#\s+MODE: (.+)")
_TIMES = ("t[usec]", "t_max[usec]")
# Patterns of the engine's own; everything else is an operation by itself.
_KINDS: dict[str, Measure] = {"PingPong": "ping_pong"}
_OVER_RANKS = "t_min, t_max and t_avg are over ranks, each a mean over the repetitions; t_max is taken"


def _begin(line: int, own: str) -> Table | None:
    """The table below a heading."""
    found = _NAME.match(own)
    if found is None:
        return None
    name = found[1]
    measure = _KINDS.get(name, "operation")
    parameters = {"pattern": "ping_pong"} if measure == "ping_pong" else {}
    return Table(line, "IMB", f"IMB {name}", "", measure, parameters, None, dict(MEAN_ONLY))


def _header(table: Table, own: str) -> list[str] | None:
    if not _HEADER.fullmatch(own):
        return None
    header = own.split()
    if "t_max[usec]" in header:
        table.missing["ranks"] = _OVER_RANKS
    return header


def _setting(table: Table, own: str) -> None:
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


def _row(path: Path, line: int, header: list[str], own: str) -> Row:
    cells = dict(zip(header, by_header(path, line, header, own), strict=True))
    size = count(path, line, cells.pop("#bytes")) if "#bytes" in cells else None
    repetitions = count(path, line, cells.pop("#repetitions"))
    defects = cells.pop("defects", None)
    values: dict[str, Decimal] = {name: decimal(path, line, text) for name, text in cells.items()}
    columns: dict[str, float | None] = {name: float(value) for name, value in values.items()}
    failed = (
        f"the benchmark found {defects} defects in the data" if defects and decimal(path, line, defects) > 0 else None
    )
    for name in _TIMES:
        if name in values:
            mean, why = time_s(values[name], US)
            return Row(line, size, mean, repetitions or None, columns, why and f"{name} {why}", failed)
    return Row(line, size, None, repetitions or None, columns, "the table has no column of times", failed)


GRAMMAR = Grammar(_begin, _header, _setting, _row)
