# SPDX-License-Identifier: Apache-2.0
"""From a run folder to what the user sees: results, report files, and text on stdout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slowpath.core.results import Results

WRITTEN = {"html": "report.html", "json": "results.json", "csv": "contrasts.csv", "text": "report.txt"}


def rebuild(run: Path) -> Results:
    """Analyse the record and write everything that is derived from it."""
    from slowpath.analyse.build import build_results
    from slowpath.report import write_all

    results = build_results(run)
    write_all(run, results)
    return results


def show(run: Path, results: Results, form: str) -> None:
    """Print the results on stdout in one of WRITTEN's forms, and on stderr where the files are."""
    if form == "text":
        from slowpath.report.text import render_text

        click.echo(render_text(results).rstrip("\n"))
    else:
        click.echo((run / WRITTEN[form]).read_text().rstrip("\n"))
    click.echo(f"report: {run / WRITTEN['html']}   results: {run / WRITTEN['json']}", err=True)


def exit_code_of(results: Results) -> int:
    """1 if any message arrived with wrong bytes, else 0: a slow path is a result, not a failure."""
    return int(any(cell.wrong_bytes for cell in results.cells))
