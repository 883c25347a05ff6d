# SPDX-License-Identifier: Apache-2.0
"""From the folder of a diagnosis to everything that is derived from it: the files of its steps, and its own."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from slowpath.core.clean import csv_field
from slowpath.core.diagnosis_folder import step_folders
from slowpath.core.results import Results
from slowpath.diagnose.page.files import write_derived
from slowpath.diagnose.records import Diagnosis, read_diagnosis
from slowpath.report.rebuild import rebuild as rebuild_run


def rebuild(folder: Path) -> tuple[Diagnosis, list[Results]]:
    """Write the derived files of each step, and report.txt and report.html of the whole.

    Returns: the diagnosis as its last step left it, and the results of its steps.
    Raises:  RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    diagnosis = read_diagnosis(folder)
    results = [rebuild_run(step) for step in step_folders(folder)]
    write_derived(folder, diagnosis)
    return diagnosis, results


def contrasts_csv(folder: Path) -> str:
    """contrasts.csv of all steps in one table, the step's folder in the first column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for number, step in enumerate(step_folders(folder)):
        head, *rows = csv.reader(io.StringIO((step / "contrasts.csv").read_text(encoding="utf-8"), newline=""))
        if number == 0:
            writer.writerow(["step", *head])
        writer.writerows([csv_field(step.name), *row] for row in rows)
    return out.getvalue()
