# SPDX-License-Identifier: Apache-2.0
"""The end of a command: results on stdout, the exit code, and the verdict of a watch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

if TYPE_CHECKING:
    from slowpath.core.results import Results

WRITTEN = {"html": "report.html", "json": "results.json", "csv": "contrasts.csv", "text": "report.txt"}


def show(run: Path, results: Results, format_name: str, full: bool = False) -> None:
    """Print the results on stdout in one of WRITTEN's formats, and the paths of the files on stderr.

    Args: full: all of the text in place of the verdict.
    """
    if format_name == "text":
        from slowpath.report.text import render_brief, render_text

        click.echo((render_text if full else render_brief)(results).rstrip("\n"))
    else:
        click.echo((run / WRITTEN[format_name]).read_text(encoding="utf-8").rstrip("\n"))
    click.echo(f"report: {run / WRITTEN['html']}   results: {run / WRITTEN['json']}", err=True)


def exit_code_of(*every: Results) -> int:
    """Return 1 if any message arrived with wrong bytes, else 0: a slow path is a result, not a failure.

    Args:   every: results of a run, or of all steps of a diagnosis.
    Raises: RecordError: none of the results holds a measurement.
    """
    from slowpath.core.errors import RecordError
    from slowpath.core.results import nothing_measured

    if any(cell.wrong_bytes for results in every for cell in results.cells):
        return 1
    reasons = [nothing_measured(results) for results in every]
    if reasons and reasons[0] is not None and None not in reasons:
        raise RecordError(f"{every[0].run.folder}: nothing was measured: {reasons[0]}; see also: slowpath doctor")
    return 0


Much = Literal["brief", "full", "sites"]


def verdict_lines(folder: Path, much: Much = "brief") -> list[str]:
    """Analyse the record, write results.json and the report, and return the verdict's lines.

    Args:   much: what fits a screen, all that is known, or the call sites with most time behind the former.
    Raises: RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    from slowpath.watch.folder import read_watch
    from slowpath.watch.report.write import rebuild
    from slowpath.watch.verdict import brief_of, site_lines

    info = read_watch(folder)
    results, page = rebuild(folder), str(folder / "report.html")
    if much == "full":
        lines = [*results.verdict, f"report: {page}"]
    else:
        lines = brief_of(results, str(folder), page).lines()
        lines += site_lines(results) if much == "sites" else []
    if info.hung:
        lines.append(
            f"stopped, because nothing moved for {info.hang_after_s:g} s: the report covers the time until then"
        )
    elif info.interrupted:
        lines.append("interrupted: the report covers the time until then")
    elif info.signal is not None or info.exit_code:
        code = f"exit code {info.exit_code}"
        how = code if info.signal is None else f"ended by signal {info.signal}"
        lines.append(f"the program failed ({how}): the report covers the time until then")
    return lines
