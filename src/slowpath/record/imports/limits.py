# SPDX-License-Identifier: Apache-2.0
"""How much of foreign logs is taken. Each limit is refused with one line, before what it is about takes memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from slowpath.core.errors import RecordError

MAX_FILES = 1_000
MAX_LOG_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20  # all logs of one import together
MAX_LINES = 1_000_000  # of one log
MAX_LINE_CHARACTERS = 10_000
MAX_ROWS = 100_000  # rows or times of all logs together; a table has tens
MAX_NOTES = 1_000  # lines of others that are kept of one log; the rest is in its copy in the run folder
CUT = "the last line has no line end, so its last number may be cut off; left out: {text}"


def check_files(files: Iterable[Path]) -> None:
    """Check the number of files.  Raises: RecordError: more files than are taken."""
    number = sum(1 for _ in files)
    if number > MAX_FILES:
        raise RecordError(f"{number} logs, more than the {MAX_FILES} of one import; import them in several runs")


def check_lines(path: Path, content: bytes) -> None:
    """Raises: RecordError: more lines, or a longer one, than a benchmark prints. Looks at the bytes alone."""
    lines = content.count(b"\n") + 1
    if lines > MAX_LINES:
        raise RecordError(f"{path}: has {lines} lines, over {MAX_LINES}; keep only the benchmark's own lines")
    begin, number = 0, 1
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end < 0 else end
        if end - begin > MAX_LINE_CHARACTERS:
            raise RecordError(
                f"{path}: line {number}: has {end - begin} characters, over {MAX_LINE_CHARACTERS}; delete the line"
            )
        begin, number = end + 1, number + 1


def check_rows(path: Path, rows: int) -> None:
    """rows: so far, of all logs.  Raises: RecordError."""
    if rows > MAX_ROWS:
        raise RecordError(f"{path}: brings the import to {rows} rows, over {MAX_ROWS}; import fewer logs, or parts")


def few_notes(notes: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first notes, (line number, text), and one that counts the others."""
    if len(notes) <= MAX_NOTES:
        return notes
    rest = len(notes) - MAX_NOTES
    return [*notes[:MAX_NOTES], (notes[MAX_NOTES][0], f"this and {rest - 1} more lines of others, not listed here")]
