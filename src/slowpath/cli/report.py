# SPDX-License-Identifier: Apache-2.0
"""slowpath report"""

from __future__ import annotations

from pathlib import Path

import click

EXIT_NOTHING = 4  # no rank left a record


@click.command("report", epilog="Example: slowpath report slowpath-runs/checkup-20260131-120000 --format csv")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "html", "json", "csv"]),
    default="text",
    show_default=True,
    help="What to print on stdout. All files are written in any case. csv prints the contrasts.",
)
def command(run: Path, format: str) -> int:
    """Rebuild the report of a run, a diagnosis or a watch.

    RUN may be unfinished: the report covers what was measured so far. Only derived files are written: results.json,
    report.html, report.txt, cells.csv, contrasts.csv; put-table.csv and .md of runs of the experiment put,
    collectives.csv of coll. Of a diagnosis those of each step are, and its own report.html and report.txt; json prints
    diagnosis.json, csv the contrasts of all steps. Of a watch results.json, report.html, report.txt and five tables
    are; csv prints the classes of messages.
    """
    from slowpath.cli.finish import exit_code_of, show
    from slowpath.core.diagnosis_folder import is_diagnosis
    from slowpath.report.write import rebuild
    from slowpath.run.ownership import measured_by
    from slowpath.watch.folder import is_watch

    if is_watch(run):
        return _watch(run, format)
    if (busy := measured_by(run)) is not None:
        click.echo(f"{busy}; this reports what is there so far", err=True)
    if is_diagnosis(run):
        return _diagnosis(run, format)
    results = rebuild(run)
    show(run, results, format, full=True)
    return exit_code_of(results)


def _watch(folder: Path, format: str) -> int:
    """Rebuild and print the report of a watch, and return the exit code."""
    from slowpath.watch.report.write import PAGE_FILE, TEXT_FILE, rebuild

    results = rebuild(folder)
    name = {"text": TEXT_FILE, "html": PAGE_FILE, "json": "results.json", "csv": "classes.csv"}[format]
    click.echo((folder / name).read_text(encoding="utf-8").rstrip("\n"))
    if format != "text":
        click.echo(f"report: {folder / PAGE_FILE}", err=True)
    return 0 if results.program.recorded_ranks else EXIT_NOTHING


def _diagnosis(folder: Path, format: str) -> int:
    """Rebuild the reports of a diagnosis and of its steps, print the first, and return the exit code."""
    from slowpath.cli.finish import exit_code_of
    from slowpath.diagnose.page.files import contrasts_csv, rebuild
    from slowpath.diagnose.page.text import render

    diagnosis, results = rebuild(folder)
    if format == "csv":
        click.echo(contrasts_csv(folder).rstrip("\n"))
    elif format == "text":
        click.echo(render(diagnosis, str(folder)).rstrip("\n"))
    else:
        name = {"html": "report.html", "json": "diagnosis.json"}[format]
        click.echo((folder / name).read_text(encoding="utf-8").rstrip("\n"))
    click.echo(f"report: {folder / 'report.html'}", err=True)
    return exit_code_of(*results)
