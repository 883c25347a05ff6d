# SPDX-License-Identifier: Apache-2.0
"""Whose output a log is: the table of formats, and the import that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.record.imports import field, imb, nccl, osu
from slowpath.record.imports.conditions import read_conditions
from slowpath.record.imports.source import labels_of, read_content, refuse_twice
from slowpath.record.imports.table import TableLog
from slowpath.record.imports.tables import write_tables

MAX_ROWS = 100_000  # of one log; a table has tens


@dataclass(frozen=True)
class Format:
    """One benchmark's output: how to tell it, and how to read it."""

    name: str
    recognises: Callable[[str], bool]
    parse: Callable[[Path, bytes, str], TableLog]


FORMATS: tuple[Format, ...] = (
    Format("OSU", osu.GRAMMAR.recognises, osu.parse),
    Format("IMB", imb.GRAMMAR.recognises, imb.GRAMMAR.parse),
    Format("nccl-tests", nccl.recognises, nccl.parse),
)


def import_files(paths: Sequence[Path | str], out: Path | None = None, conditions: Sequence[str] = ()) -> Path:
    """Reads every log, then writes a run folder: tables of other benchmarks, else output of the two reproducers.

    Returns: the run folder, `out` or one made under slowpath-runs.
    Raises: RecordError if a log can't be read, or tables and reproducers are mixed, before anything is written;
            EnvironmentFailure if the folder can't be made; UsageError if a condition can't be understood.
    """
    files = [Path(path) for path in paths]
    contents = [(file, read_content(file, "the tables")) for file in files]
    chosen = [(file, content, _format_of(content)) for file, content in contents]
    tables = [entry for entry in chosen if entry[2]]
    if not tables:
        return field.import_logs(files, out, conditions)
    if len(tables) < len(chosen):
        other = next(file for file, _, found in chosen if found is None)
        raise RecordError(f"{other}: holds no table, but {tables[0][0]} does; import logs of the reproducers apart")
    refuse_twice(files)
    logs = [_parsed(file, content, found) for file, content, found in tables if found]
    labels = labels_of(files)
    return write_tables(logs, labels, out, read_conditions(conditions, files, labels))


def _parsed(file: Path, content: bytes, found: Format) -> TableLog:
    log = found.parse(file, content, content.decode("utf-8", errors="replace"))
    rows = sum(len(table.rows) for table in log.tables)
    if not rows:
        raise RecordError(f"{file}: is output of {found.name} without a single row; did the benchmark end early?")
    if rows > MAX_ROWS:
        raise RecordError(f"{file}: holds {rows} rows, over {MAX_ROWS}; split the log")
    return log


def _format_of(content: bytes) -> Format | None:
    text = content.decode("utf-8", errors="replace")
    return next((one for one in FORMATS if one.recognises(text)), None)
