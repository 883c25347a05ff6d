# SPDX-License-Identifier: Apache-2.0
"""Whose output a log is: the table of formats, and the import that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.record.imports import field, imb, log, nccl, osu
from slowpath.record.imports.conditions import read_conditions
from slowpath.record.imports.limits import check_rows
from slowpath.record.imports.source import labels_of, read_contents
from slowpath.record.imports.table import TableLog
from slowpath.record.imports.tables import write_tables


@dataclass(frozen=True)
class LogFormat:
    """One benchmark's output: where it begins, and how to read it.

    first_line: (text) -> line number.  parse: (file, its bytes, its text, unit that the user states).
    """

    name: str
    first_line: Callable[[str], int | None]
    parse: Callable[[Path, bytes, str, str | None], TableLog]

    def recognises(self, text: str) -> bool:
        """Whether the log holds such output."""
        return self.first_line(text) is not None


FORMATS: tuple[LogFormat, ...] = (
    LogFormat("OSU", osu.GRAMMAR.first_line, osu.parse),
    LogFormat("IMB", imb.GRAMMAR.first_line, imb.GRAMMAR.parse),
    LogFormat("nccl-tests", nccl.first_line, nccl.parse),
)
_REPRODUCER = "a reproducer"


def import_files(
    paths: Sequence[Path | str], out: Path | None = None, conditions: Sequence[str] = (), unit: str | None = None
) -> Path:
    """Reads every log, then writes a run folder: tables of other benchmarks, else output of the two reproducers.

    unit: of the times of tables that don't print it, one of heading.UNITS.
    Returns: the run folder, `out` or one made under slowpath-runs.
    Raises: RecordError if a log can't be read or holds output of several programs, or tables and reproducers are mixed,
            before anything is written; EnvironmentFailure if the folder can't be made; UsageError if a condition can't
            be understood.
    """
    files = [Path(path) for path in paths]
    contents = read_contents(files, "the benchmark's lines")
    chosen = [_format_of(file, content) for file, content in zip(files, contents, strict=True)]
    table = next((file for file, found in zip(files, chosen, strict=True) if found), None)
    if table is None:
        return field.write_logs(files, contents, out, conditions)
    logs: list[TableLog] = []
    rows = 0
    for file, content, found in zip(files, contents, chosen, strict=True):
        if found is None:
            raise RecordError(f"{file}: contains no table, but {table} does; import logs of the reproducers separately")
        logs.append(_parsed(file, content, found, unit))
        rows += sum(len(table.rows) for table in logs[-1].tables)
        check_rows(file, rows)
    labels = labels_of(files)
    return write_tables(logs, labels, out, read_conditions(conditions, files, labels))


def _parsed(file: Path, content: bytes, found: LogFormat, unit: str | None) -> TableLog:
    read = found.parse(file, content, content.decode("utf-8", errors="replace"), unit)
    if not read.tables:
        raise RecordError(f"{file}: is output of {found.name} without a single row; did the benchmark end early?")
    for table in read.tables:
        table.resolve()
    return read


def _format_of(file: Path, content: bytes) -> LogFormat | None:
    """None: no table; a log of a reproducer, or none at all.

    Raises: RecordError for output of several programs: what separates them, no format says.
    """
    text = content.decode("utf-8", errors="replace")
    there = [
        (line, log_format.name, log_format)
        for log_format in FORMATS
        if (line := log_format.first_line(text)) is not None
    ]
    also = log.first_line(text)
    begun = sorted([(line, name) for line, name, _ in there] + ([(also, _REPRODUCER)] if there and also else []))
    if len(begun) > 1:
        which = " and ".join(f"{name} (line {line})" for line, name in begun)
        raise RecordError(f"{file}: contains output of {which}; split it into one file for each")
    return there[0][2] if there else None
