# SPDX-License-Identifier: Apache-2.0
"""From the folder of a watch to its results and to everything that is derived from them."""

from __future__ import annotations

from pathlib import Path

from slowpath.analyse.watch.proofs import read_proofs, with_proofs
from slowpath.analyse.watch.whole import concluded_watch
from slowpath.core.watch_results import WatchResults
from slowpath.report.watch.write import write_watch


def rebuild(folder: Path) -> WatchResults:
    """Analyse the record, price it by what the folder holds, and write the derived files.

    Raises: RecordError: it is no watch.  EnvironmentFailure: a file can't be written.
    """
    proofs = read_proofs(folder)
    results = with_proofs(concluded_watch(folder), proofs, str(folder))
    write_watch(folder, results, proofs)
    return results
