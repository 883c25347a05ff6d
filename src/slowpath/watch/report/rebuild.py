# SPDX-License-Identifier: Apache-2.0
"""From the folder of a watch to its results and to everything that is derived from them."""

from __future__ import annotations

from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.watch.proof import Proof, proof_folders, read_proof
from slowpath.watch.proven import with_proofs
from slowpath.watch.report.write import write_watch
from slowpath.watch.results import WatchResults
from slowpath.watch.whole import concluded_watch


def rebuild(folder: Path) -> WatchResults:
    """Analyse the record, price it by what the folder holds, and write the derived files.

    Raises: RecordError: it is no watch.  EnvironmentFailure: a file can't be written.
    """
    proofs = _proofs(folder)
    results = with_proofs(concluded_watch(folder), [proof for _, proof in proofs], str(folder))
    write_watch(folder, results, proofs)
    return results


def _proofs(folder: Path) -> list[tuple[str, Proof]]:
    """Those that can be read: a damaged one costs the report nothing else."""
    found = []
    for one in proof_folders(folder):
        try:
            found.append((one.name, read_proof(one)))
        except RecordError:
            continue
    return found
