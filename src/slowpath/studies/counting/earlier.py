# SPDX-License-Identifier: Apache-2.0
"""Counts that were kept: the JSON of `slowpath count`, from a file or from the folder of --out."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE, why
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.files import read_bytes
from slowpath.studies.counting.model import ProcessCount

KEPT = "counts.json"  # in the folder of --out
SCHEMA = 1


class Document(msgspec.Struct, frozen=True):
    """What one `slowpath count --json` printed, as far as a comparison needs it."""

    schema: int
    function: str
    processes: list[ProcessCount]


def read_earlier(path: Path, function: str) -> list[ProcessCount]:
    """The processes of an earlier count. Several lines are the processes that each showed itself.

    Raises: UsageError: it counted another function.  RecordError: it can't be read or holds no counted call.
    """
    file = path / KEPT if path.is_dir() else path
    if not file.exists():
        raise RecordError(f"--compare {file}: is missing, so it can't be read; name what slowpath count --json printed")
    try:
        lines = [line for line in read_bytes(file).splitlines() if line.strip()]
        documents = [msgspec.json.decode(line, type=Document) for line in lines]
    except RecordError as error:
        raise RecordError(f"--compare {error}") from error
    except DAMAGE as error:
        raise RecordError(f"--compare {file}: not what slowpath count --json prints: {why(error)}") from error
    newer = [document.schema for document in documents if document.schema != SCHEMA]
    if newer:
        raise RecordError(f"--compare {file}: schema {newer[0]}, and this slowpath reads schema {SCHEMA}")
    other = [document.function for document in documents if document.function != function]
    if other:
        raise UsageError(f"--compare {file}: it counted {other[0]}, and --call says {function}")
    found = [process for document in documents for process in document.processes]
    if not any(process.counted for process in found):
        raise RecordError(f"--compare {file}: contains no counted call of {function}")
    return found
