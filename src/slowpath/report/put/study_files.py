# SPDX-License-Identifier: Apache-2.0
"""The earlier study's table as files: put-table.csv, unrounded, and put-table.md."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from slowpath.core.clean import csv_value, markdown
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.put.history import SOURCE, WHAT_IT_IS
from slowpath.report.put.one_unit import MILLION, millions
from slowpath.report.put.study_table import StudyRow, count_words, study_rows

Value = str | float | int | None
_COLUMNS: tuple[tuple[str, Callable[[StudyRow], Value]], ...] = (
    ("variant", lambda row: row.variant),
    ("instructions_per_put", lambda row: row.instructions.median if row.instructions else None),
    ("instructions_min", lambda row: row.instructions.min if row.instructions else None),
    ("instructions_max", lambda row: row.instructions.max if row.instructions else None),
    ("instructions_mean", lambda row: row.instructions.mean if row.instructions else None),
    ("message_rate_million_per_s", lambda row: _million(row.rate_per_s)),
    ("message_rate_low", lambda row: _million(row.rate_interval[0]) if row.rate_interval else None),
    ("message_rate_high", lambda row: _million(row.rate_interval[1]) if row.rate_interval else None),
    ("mpi", lambda row: row.mpi),
    ("measured_as", lambda row: row.measured_as),
    ("reason", lambda row: row.reason),
    ("study_instructions_per_put", lambda row: row.then.instructions if row.then else None),
    ("study_message_rate_million_per_s", lambda row: _million(row.then.rate_per_s) if row.then else None),
)
_HEAD = (
    "design",
    "measured as",
    "instructions per put",
    "million puts/s",
    "then: instructions",
    "then: million puts/s",
)


NAMES = ("put-table.csv", "put-table.md")


def study_files(results: Results) -> dict[str, str]:
    """Return content by file name, {} in a run without puts to compare."""
    rows = study_rows(results)
    return dict(zip(NAMES, (study_csv(rows), study_markdown(rows)), strict=True)) if rows else {}


def study_csv(rows: list[StudyRow]) -> str:
    """Return the table as CSV, with an empty field and a `reason` where a value is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for name, _ in _COLUMNS])
    writer.writerows(["" if (value := of(row)) is None else csv_value(value) for _, of in _COLUMNS] for row in rows)
    return out.getvalue()


def study_markdown(rows: list[StudyRow]) -> str:
    """Return the table as Markdown, with notes on missing values and on the old numbers."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD)), *(_line(_cells(row)) for row in rows)]
    missing = [f"{row.name}{f' ({row.mpi})' if row.mpi else ''}: {row.reason}." for row in rows if row.reason]
    return "\n".join([*lines, "", *map(markdown, missing), f"Then: {WHAT_IT_IS}; {SOURCE}."]) + "\n"


def _cells(row: StudyRow) -> list[str]:
    launches = f", in launches of {row.mpi}" if row.mpi and row.then else ""
    then = [str(row.then.instructions), f"{row.then.rate_per_s / MILLION:g}"] if row.then else [fmt.MISSING] * 2
    today = [count_words(row.instructions), millions(row.rate_per_s, row.rate_interval)]
    return [markdown(cell) for cell in (row.name, f"{row.measured_as}{launches}", *today, *then)]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _million(rate_per_s: float | None) -> float | None:
    return None if rate_per_s is None else rate_per_s / MILLION
