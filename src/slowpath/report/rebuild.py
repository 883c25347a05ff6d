# SPDX-License-Identifier: Apache-2.0
"""Analysis of a run folder and all files derived from it."""

from __future__ import annotations

from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.core.results import Results
from slowpath.report.write import write_all


def rebuild(run: Path) -> Results:
    """Analyse the record and write the derived files into its folder.

    Raises: RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    results = build_results(run)
    write_all(run, results)
    return results
