# SPDX-License-Identifier: Apache-2.0
"""A watch from its folder to all that is concluded: attributed, priced by what its folder holds, with its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from slowpath.watch.build import watched
from slowpath.watch.conclude import Kept, concluded
from slowpath.watch.folder import read_watch
from slowpath.watch.kept import kept_of
from slowpath.watch.message_classes import pair_classes
from slowpath.watch.results import WatchResults
from slowpath.watch.sources import read_sources


@dataclass(frozen=True)
class Watched:
    """What prices need. results: without findings.  kept: the order of the calls.  variables: as recorded."""

    results: WatchResults
    kept: Kept
    variables: Mapping[str, str]


def read_watched(folder: Path) -> Watched:
    """Raises: RecordError: it is no watch."""
    found = watched(folder)
    pairs = pair_classes(found.attributed, found.class_keys, found.results.classes)
    return Watched(found.results, kept_of(found.attributed, pairs), read_watch(folder).variables)


def concluded_watch(folder: Path) -> WatchResults:
    """Findings, savings and verdict; nothing is measured or written.  Raises: RecordError: it is no watch."""
    found = read_watched(folder)
    sources, notes = read_sources(folder, found.results.program, found.variables)
    if notes:
        coverage = replace(found.results.coverage, notes=(*found.results.coverage.notes, *notes))
        found = Watched(replace(found.results, coverage=coverage), found.kept, found.variables)
    return concluded(found.results, found.kept, sources, found.variables, str(folder))
