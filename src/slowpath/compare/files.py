# SPDX-License-Identifier: Apache-2.0
"""The runs below a folder: run folders, and results files that stand alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from slowpath.compare.read import Source, read_source
from slowpath.core.diagnosis_folder import DIAGNOSIS_FILE
from slowpath.core.errors import RecordError
from slowpath.core.limits import MOST_FILES

_RUN = ("run.json", "results.json")


def read_all(folder: Path) -> tuple[list[Source], list[str]]:
    """Every run below `folder`, and one line for each that can't be read.

    Raises: RecordError: no such folder, or nothing in it can be read.
    """
    if not folder.is_dir():
        raise RecordError(
            f"{folder}: {'is not a folder' if folder.exists() else 'does not exist'}; name a folder of runs"
        )
    found: list[Source] = []
    left_out: list[str] = []
    unreadable: list[str] = []
    for path in _candidates(folder, unreadable):
        try:
            found.append(read_source(path))
        except RecordError as error:
            left_out.append(str(error))
        except Exception as error:  # one bad run must not cost the others, whatever is bad in it
            left_out.append(f"{path}: cannot be analysed ({type(error).__name__}: {str(error).partition(chr(10))[0]})")
    left_out += unreadable
    if not found:
        first = f"; the first of {len(left_out)} files: {left_out[0]}" if left_out else ""
        raise RecordError(f"{folder}: holds no run folder and no results file{first}")
    return found, left_out


def _candidates(folder: Path, unreadable: list[str]) -> Iterator[Path]:
    """Run folders are not searched any further; elsewhere every .json file may be results, but for what a diagnosis
    writes next to its steps, which are runs. Folders that can't be listed are named in `unreadable`.
    """

    def note(error: OSError) -> None:
        unreadable.append(f"{error.filename}: cannot be listed: {error.strerror}; check its permissions")

    seen = 0
    for where, folders, files in os.walk(folder, onerror=note):
        folders.sort()
        seen += len(files)
        if seen > MOST_FILES:
            raise RecordError(f"{folder}: holds more than {MOST_FILES} files; name a folder of runs")
        if any(name in files for name in _RUN):
            folders.clear()
            yield Path(where)
        else:
            yield from (
                Path(where) / name for name in sorted(files) if name.endswith(".json") and name != DIAGNOSIS_FILE
            )
