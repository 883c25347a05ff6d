# SPDX-License-Identifier: Apache-2.0
"""What the user sees of results: text or files on stdout, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slowpath.core.results import Finding, Results

WRITTEN = {"html": "report.html", "json": "results.json", "csv": "contrasts.csv", "text": "report.txt"}


def show(run: Path, results: Results, format_name: str) -> None:
    """Print the results on stdout in one of WRITTEN's formats, and on stderr where the files are."""
    if format_name == "text":
        from slowpath.report.text import render_text

        click.echo(render_text(results).rstrip("\n"))
    else:
        click.echo((run / WRITTEN[format_name]).read_text(encoding="utf-8").rstrip("\n"))
    click.echo(f"report: {run / WRITTEN['html']}   results: {run / WRITTEN['json']}", err=True)


def write_openmetrics(file: Path, folder: Path, findings: Sequence[Finding], results: Results | None = None) -> None:
    """Values of a run, or of a diagnosis' survey, and its findings.

    Args: results: of the run; None: they are made from the folder.  Raises: EnvironmentFailure.
    """
    from slowpath.compare.export.openmetrics import render_run, write
    from slowpath.compare.read import Source, read_source

    write(file, render_run(Source(folder, results, folder) if results else read_source(folder), findings))


def exit_code_of(*every: Results) -> int:
    """1 if any message arrived with wrong bytes, else 0: a slow path is a result, not a failure.

    Args:   every: results of a run, or of all steps of a diagnosis.
    Raises: RecordError: nothing was measured in any, which is no answer to any question.
    """
    from slowpath.core.errors import RecordError
    from slowpath.core.results import nothing_measured

    if any(cell.wrong_bytes for one in every for cell in one.cells):
        return 1
    reasons = [nothing_measured(one) for one in every]
    if reasons and reasons[0] is not None and None not in reasons:
        raise RecordError(f"{every[0].run.folder}: nothing was measured: {reasons[0]}; see also: slowpath doctor")
    return 0
