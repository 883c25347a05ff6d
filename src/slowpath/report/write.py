# SPDX-License-Identifier: Apache-2.0
"""The analysis of a run folder, and its derived files, each written atomically."""

from __future__ import annotations

from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.core import guard
from slowpath.core.files import json_bytes, write_atomically
from slowpath.core.results import Results
from slowpath.report import csv, terminal
from slowpath.report.run_page import render_html
from slowpath.report.studies import views_of

FILES = ("results.json", "cells.csv", "contrasts.csv", "report.txt", "report.html")


def write_all(folder: Path, results: Results) -> list[Path]:
    """Write the five `FILES` and those of the experiments (`View.files`) into `folder`, replacing existing ones.

    Returns: their paths in that order.
    Raises: EnvironmentFailure: a file can't be written.
    """
    contents = (
        guard.text(json_bytes(results).decode()),
        csv.cells_csv(results),
        csv.contrasts_csv(results),
        terminal.render_text(results),
        render_html(results),
    )
    named = dict(zip(FILES, contents, strict=True))
    for view in views_of(results):
        named |= view.files(results)
    for name, content in named.items():
        write_atomically(folder / name, content)
    return [folder / name for name in named]


def rebuild(run: Path) -> Results:
    """Analyse the record and write the derived files into its folder.

    Raises: RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    results = build_results(run)
    write_all(run, results)
    return results
