# SPDX-License-Identifier: Apache-2.0
"""What all imports share: log files in, what each condition is called, run.json and the head of campaign.toml out."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable
from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.files import read_bytes
from slowpath.core.guard import clean_text, clean_words, line
from slowpath.core.plan import Plan
from slowpath.core.version import __version__
from slowpath.record.folder import RUN_SCHEMA, RunInfo
from slowpath.record.imports.limits import MAX_LOG_BYTES, MAX_TOTAL_BYTES, check_files, check_lines


class Imported(Protocol):
    """A log that was read."""

    @property
    def path(self) -> Path: ...

    @property
    def content(self) -> bytes: ...


def read_contents(files: Sequence[Path], down_to: str) -> list[bytes]:
    """The bytes of each log, within the limits of an import. down_to: what a log that is too long is cut down to.

    Raises: RecordError: no file, one that is unreadable or is none, one twice, or more than a limit allows.
    """
    if not files:
        raise RecordError("no log to import; name at least one file")
    check_files(files)
    refuse_twice(files)
    contents: list[bytes] = []
    for file in files:
        contents.append(_content(file, down_to))
        if sum(map(len, contents)) > MAX_TOTAL_BYTES:
            raise RecordError(
                f"{file}: brings the logs to over {MAX_TOTAL_BYTES // 2**20} MiB together; import fewer at a time"
            )
    return contents


def _content(path: Path, down_to: str) -> bytes:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordError(f"{path}: cannot be read: {reason}; name a log file") from error
    if stat.S_ISDIR(status.st_mode):
        raise RecordError(f"{path}: cannot be read: Is a directory; name a log file")
    if not stat.S_ISREG(status.st_mode):
        raise RecordError(f"{path}: is no regular file; write the log into one and name that")
    if status.st_size > MAX_LOG_BYTES:
        raise RecordError(f"{path}: is larger than {MAX_LOG_BYTES // 2**20} MiB; cut it down to {down_to}")
    content = read_bytes(path, MAX_LOG_BYTES)
    check_lines(path, content)
    return content


def refuse_twice(files: Sequence[Path]) -> None:
    """Check that each log is named once.  Raises: RecordError: one is named more than once."""
    seen: set[str] = set()
    for file in files:
        real = os.path.realpath(file)
        if real in seen:
            raise RecordError(f"{file}: is named twice; name each log once")
        seen.add(real)


def labels_of(files: Sequence[Path]) -> list[str]:
    """Stems; one that occurs again gets a number."""
    labels: list[str] = []
    for file in files:
        stem = line(file.stem)
        label, again = stem, 1
        while label in labels:
            again += 1
            label = f"{stem} ({again})"
        labels.append(label)
    return labels


def run_info(plan: Plan, logs: Sequence[Imported], campaign: str, conditions: str, notes: Sequence[str]) -> RunInfo:
    """run.json of an imported run, whose id is made of the logs' contents."""
    content = hashlib.sha256(b"".join(hashlib.sha256(log.content).digest() for log in logs)).hexdigest()
    imported = datetime.now().astimezone().isoformat(timespec="seconds")
    return RunInfo(
        schema=RUN_SCHEMA,
        id=f"imported-{content[:12]}",
        campaign=plan.campaign,
        title=plan.title,
        campaign_sha256=hashlib.sha256(campaign.encode()).hexdigest(),
        slowpath=__version__,
        status="complete",
        ranks=plan.ranks,
        imported=True,
        command=clean_words(["slowpath", "import", *(str(log.path) for log in logs)]),
        notes=[conditions, f"Imported at {imported}; when the logs were measured is not known.", *notes],
    )


def kept_log(content: bytes) -> bytes:
    """A log as it is kept: without what has a credential's shape, and without values that a secret name is given."""
    return clean_text(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def imported_campaign(
    plan: Plan,
    what: str,
    why: Sequence[str],
    cells: Sequence[CellsTable],
    environments: Sequence[EnvironmentTable] = (EnvironmentTable("default"),),
    placements: Sequence[PlacementTable] = (PlacementTable("bound"),),
) -> Campaign:
    """The campaign of imported logs.

    Args: what: was imported.  why: further lines of the comment above the file.
    """
    made = f"Made from imported {what}; the logs themselves are kept in launches/*/stdout."
    return Campaign(
        name="imported",
        title=plan.title,
        ranks=[plan.ranks],
        rounds=8,
        cells=cells,
        environments=environments,
        placements=placements,
        why="\n".join([made, *why]),
    )


def printable(text: str) -> str:
    """A name for a campaign, out of whatever a file is called."""
    return "".join(c if c.isprintable() else "?" for c in text)[:80]


def cannot_write(folder: Path, error: OSError) -> EnvironmentFailure:
    """The error for a launch's folder that can't be written."""
    reason = error.strerror or str(error)
    return EnvironmentFailure(f"cannot write {folder}: {reason}; free space or name another place")
