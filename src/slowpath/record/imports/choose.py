# SPDX-License-Identifier: Apache-2.0
"""Whose output a log is, and the import that fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowpath.core.errors import RecordError, exclude
from slowpath.record.imports import reproducers, tables
from slowpath.record.imports.source import check_rows, labels_of, read_conditions, read_contents, twice


def import_files(paths: Sequence[Path | str], out: Path | None = None, conditions: Sequence[str] = ()) -> Path:
    """Reads every log, then writes a run folder: tables of OSU's benchmarks, else output of the two reproducers.

    Returns: the run folder, `out` or one made under slowpath-runs.
    Raises: RecordError if a log can't be read or holds output of several programs, or tables and reproducers are mixed,
            before anything is written; EnvironmentFailure if the folder can't be made; UsageError if a condition can't
            be understood.
    """
    files = [Path(path) for path in paths]
    contents = read_contents(files)
    are_tables = [_is_table(file, content) for file, content in zip(files, contents, strict=True)]
    if not any(are_tables):
        return reproducers.write_logs(files, contents, out, conditions)
    if not all(are_tables):
        file, table = files[are_tables.index(False)], files[are_tables.index(True)]
        raise RecordError(str(exclude(f"a reproducer's {file}", f"tables of {table}")))
    logs: list[tables.TableLog] = []
    rows = 0
    for file, content in zip(files, contents, strict=True):
        logs.append(tables.parse(file, content))
        rows += sum(len(table.rows) for table in logs[-1].tables)
        check_rows(file, rows)
    labels = labels_of(files)
    return tables.write_tables(logs, labels, out, read_conditions(conditions, files, labels))


def _is_table(file: Path, content: bytes) -> bool:
    """Whether a log holds tables; else it is a reproducer's, or none at all.

    Raises: RecordError for output of both: what separates them, no format says.
    """
    text = content.decode("utf-8", errors="replace")
    table, reproducer = tables.first_line(text), reproducers.first_line(text)
    if table and reproducer:
        begun = sorted([(table, "OSU"), (reproducer, "a reproducer")])
        which = " and ".join(f"{name} (line {line})" for line, name in begun)
        raise RecordError(f"{file}: {twice(which)}")
    return table is not None
