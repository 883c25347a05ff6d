# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as one page that fetches nothing, with the cards of a report. Pure."""

from __future__ import annotations

from pathlib import Path

from slowpath.diagnose.page import unseen, view
from slowpath.diagnose.records import Diagnosis, survey_step
from slowpath.findings.tally import kinds_words
from slowpath.report import page as pages
from slowpath.report import view_findings
from slowpath.report.profile import profile
from slowpath.report.view_places import places
from slowpath.report.view_run import command_line, environment


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
        combined=view.combined(diagnosis.combined),
        steps=steps,
        steps_axis=axis,
        unseen=unseen.rows(diagnosis.least),
        unseen_title=unseen.TITLE,
        unseen_lead=unseen.LEAD,
        places=places(survey) if survey else [],
        environment=environment(survey.run) if survey else [],
        run_command=command_line(diagnosis.command),
    )
