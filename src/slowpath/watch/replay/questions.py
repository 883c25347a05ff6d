# SPDX-License-Identifier: Apache-2.0
"""What a replay has to measure for a watch, and laws that take its place."""

from __future__ import annotations

from pathlib import Path

from slowpath.watch.analysis import Watched, read_watched
from slowpath.watch.conclude import Asking, asking
from slowpath.watch.sources import law_sources, remember_laws


def questions(watch: Path) -> tuple[Watched, Asking]:
    """The watch, and what is to be priced in it.  Raises: RecordError: it is no watch."""
    found = read_watched(watch)
    return found, asking(found.results, found.kept, found.variables)


def use_laws(watch: Path, laws: Path, keep: bool) -> None:
    """Price a watch by a diagnosis or run from now on.  Args: keep: False: only look whether it can be.

    Raises: UsageError: it is of another machine, MPI or settings.  RecordError: either can't be read.
    """
    found = read_watched(watch)
    law_sources(laws, found.results.program, found.variables)
    if keep:
        remember_laws(watch, laws)
