# SPDX-License-Identifier: Apache-2.0
"""From the folder of a watch to its results and to everything that is derived from them."""

from __future__ import annotations

from pathlib import Path

from slowpath.analyse.watch.whole import concluded_watch
from slowpath.core.watch_results import WatchResults
from slowpath.report.watch.write import write_watch


def rebuild(folder: Path) -> WatchResults:
    """Analyse the record of a watch and write the derived files into its folder.

    Raises: RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    results = concluded_watch(folder)
    write_watch(folder, results)
    return results
