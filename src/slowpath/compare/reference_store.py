# SPDX-License-Identifier: Apache-2.0
"""The folder of reference runs: their results.json, one file a run; to share it with a site, copy or mount it."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from slowpath.compare.read import Source, read_source, require_measured
from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.files import create_once, write_atomically

VARIABLE = "SLOWPATH_DATA_DIR"


def references_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """In SLOWPATH_DATA_DIR, else in the user's data folder."""
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser().absolute() / "references"
    import platformdirs

    return Path(platformdirs.user_data_dir("slowpath")) / "references"


def add(run: Source, folder: Path) -> Path:
    """Keep the run's results as a reference; the same run twice is one, another run of the same name gets a number.

    Raises: UsageError: it is imported, not complete or had wrong bytes.  RecordError: nothing was measured.
            EnvironmentFailure: the disk refuses.
    """
    require_measured(run)
    if run.run.imported or run.run.status != "complete":
        problem = "it was imported" if run.run.imported else f"its status is {run.run.status}"
        raise UsageError(f"{run.path}: is no reference: {problem}; add a whole run of slowpath run")
    if any(cell.wrong_bytes for cell in run.results.cells):
        raise UsageError(f"{run.path}: is no reference: messages arrived with wrong bytes")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(f"cannot make {folder}: {error.strerror or error}; name another folder") from error
    content = (json.dumps(msgspec.to_builtins(run.results), ensure_ascii=False) + "\n").encode()
    name = re.sub(r"[^A-Za-z0-9._-]", "_", run.run.id)
    for number in itertools.count(1):
        target = folder / (f"{name}.json" if number == 1 else f"{name}-{number}.json")
        if create_once(target, content):
            return target
        if _holds(target, run):
            write_atomically(target, content)
            return target
    raise AssertionError


def _holds(path: Path, run: Source) -> bool:
    """Whether a reference is this very run. Two nodes may begin runs of one name in the same second."""
    try:
        other = read_source(path)
    except RecordError:
        return True  # damaged: to be replaced
    return _which(other) == _which(run)


def _which(run: Source) -> tuple[object, ...]:
    return run.run.id, run.run.started, run.run.seed, run.run.machine.get("host")


def read_references(folder: Path) -> tuple[list[Source], list[str]]:
    """All of them, and one line for each file that can't be read; none where there is no folder yet."""
    found: list[Source] = []
    left_out: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(require_measured(read_source(path)))
        except RecordError as error:
            left_out.append(str(error))
    return found, left_out
