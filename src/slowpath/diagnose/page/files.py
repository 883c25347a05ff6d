# SPDX-License-Identifier: Apache-2.0
"""What is derived from diagnosis.json: the text and the page. Both can be deleted and made again."""

from __future__ import annotations

import contextlib
from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.analyse.results_file import read_results
from slowpath.core.errors import RecordError
from slowpath.core.files import inside, write_atomically
from slowpath.core.results import Results
from slowpath.diagnose.page.html import page
from slowpath.diagnose.page.text import render
from slowpath.diagnose.records import Diagnosis


def write_derived(folder: Path, diagnosis: Diagnosis) -> None:
    """report.txt and report.html.  Raises: EnvironmentFailure when the disk refuses."""
    write_atomically(folder / "report.txt", render(diagnosis, str(folder)))
    write_atomically(folder / "report.html", page(diagnosis, _runs(folder, diagnosis)))


def _runs(folder: Path, diagnosis: Diagnosis) -> dict[str, Results]:
    """Results of the steps that pictures are drawn from, where they can be read."""
    shown = {finding.run for finding in diagnosis.findings}
    wanted = [step for step in diagnosis.steps if step.number == 1 or step.task.kind == "trial" or step.folder in shown]
    found = {one.folder: _results(inside(folder, one.folder)) for one in wanted}
    return {name: results for name, results in found.items() if results is not None}


def _results(folder: Path) -> Results | None:
    """As the step has written them, else analysed anew; None where its record is damaged or missing."""
    with contextlib.suppress(RecordError):
        return read_results(folder / "results.json")
    try:
        return build_results(folder)
    except RecordError:
        return None
