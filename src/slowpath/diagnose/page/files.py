# SPDX-License-Identifier: Apache-2.0
"""What is derived from the folder of a diagnosis: its text, its page and the files of its steps. All of it can be
deleted and made again. The page fetches nothing, and has the cards of a report.
"""

from __future__ import annotations

import contextlib
import csv
import io
from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.analyse.results_file import read_results
from slowpath.core.diagnosis_folder import step_folders
from slowpath.core.errors import RecordError
from slowpath.core.files import inside, write_atomically
from slowpath.core.guard import text
from slowpath.core.results import Results
from slowpath.diagnose.page import view
from slowpath.diagnose.page.text import UNSEEN_LEAD, UNSEEN_TITLE, render, unseen_rows
from slowpath.diagnose.records import Diagnosis, read_diagnosis, survey_step
from slowpath.findings.tally import kinds_words
from slowpath.report import page as pages
from slowpath.report import view_findings
from slowpath.report.profile import profile
from slowpath.report.view_places import places
from slowpath.report.view_run import command_line, environment
from slowpath.report.write import rebuild as rebuild_run


def page(diagnosis: Diagnosis, runs: view.Runs) -> str:
    """The whole page.  Args: runs: results of its steps, those that are at hand; pictures of others are left out."""
    found = view.cards(diagnosis, runs)
    step = survey_step(diagnosis)
    survey = runs.get(step.folder) if step else None
    axis, steps = view.steps(diagnosis)
    return pages.render(
        "diagnosis.html.j2",
        Path(__file__).parent,
        diagnosis=diagnosis,
        headline=view.headline(diagnosis),
        place=view.place(diagnosis, survey),
        numbers=view.numbers(diagnosis),
        findings=found,
        findings_headline=kinds_words(diagnosis.findings),
        findings_groups=view_findings.by_group(found),
        profile=profile(diagnosis.findings, survey),
        beside=None,
        known=(),
        anchor=str,
        tried=view.tried(diagnosis),
        steps=steps,
        steps_axis=axis,
        unseen=unseen_rows(diagnosis.least),
        unseen_title=UNSEEN_TITLE,
        unseen_lead=UNSEEN_LEAD,
        places=places(survey) if survey else [],
        environment=environment(survey.run) if survey else [],
        run_command=command_line(diagnosis.command),
    )


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
        writer.writerows([text(step.name), *row] for row in rows)
    return out.getvalue()
