# SPDX-License-Identifier: Apache-2.0
"""Watches of one side: a folder that `slowpath watch` wrote, its results.json, or a folder of several of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.files import inside, read_bytes
from slowpath.core.limits import FILE_BYTES
from slowpath.watch.folder import is_watch
from slowpath.watch.results import WatchResults
from slowpath.watch.results_file import RESULTS_FILE, decode_watch_results, read_watch_results

MOST_WATCHES = 1000  # of one side


@dataclass(frozen=True)
class Side:
    """One side of a comparison. watches: results by the name of their folder, at least one."""

    path: Path
    names: tuple[str, ...]
    watches: tuple[WatchResults, ...]


class _Shape(msgspec.Struct):
    """What tells results of a watch from those of a run."""

    coverage: msgspec.Raw = msgspec.Raw()
    program: msgspec.Raw = msgspec.Raw()


def is_watch_source(path: Path) -> bool:
    """Whether a comparison of watches is asked for: a watch, several in one folder, or a watch's results.json."""
    if path.is_dir():
        return is_watch(path) or bool(_below(path))
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        shape = msgspec.json.decode(read_bytes(path, FILE_BYTES[RESULTS_FILE]), type=_Shape)
    except (*DAMAGE, RecordError):
        return False
    return bool(bytes(shape.coverage)) and bool(bytes(shape.program))


def read_side(path: Path) -> Side:
    """As they were concluded; nothing is written.

    Raises: RecordError: no results, damaged, or of another schema; slowpath report WATCH makes them.
    UsageError: more than MOST_WATCHES.
    """
    if path.is_file():
        found = decode_watch_results(read_bytes(path, FILE_BYTES[RESULTS_FILE]), path)
        return Side(path, (path.name,), (found,))
    folders = [path] if is_watch(path) else _below(path)
    if not folders:
        raise RecordError(f"{path}: holds no watch; name a folder that slowpath watch wrote, or one of several of them")
    if len(folders) > MOST_WATCHES:
        raise UsageError(f"{path}: holds {len(folders)} watches, more than the {MOST_WATCHES} that are compared")
    return Side(path, tuple(folder.name for folder in folders), tuple(_read(folder) for folder in folders))


def _read(folder: Path) -> WatchResults:
    if not (folder / RESULTS_FILE).is_file():
        raise RecordError(f"{folder}: has no {RESULTS_FILE} yet; make it: slowpath report {folder}")
    return read_watch_results(folder)


def _below(path: Path) -> list[Path]:
    """Watches in a folder that is none itself, by name."""
    try:
        names = sorted(one.name for one in path.iterdir() if is_watch(one))
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from error
    return [inside(path, name) for name in names]
