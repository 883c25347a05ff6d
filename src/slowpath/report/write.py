# SPDX-License-Identifier: Apache-2.0
"""The derived files of a run folder, each written atomically."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from slowpath.core import clean
from slowpath.core.files import write_atomically
from slowpath.core.results import Results
from slowpath.report import csv, html, samples, text
from slowpath.report.studies import views_of

FILES = ("results.json", "cells.csv", "contrasts.csv", "report.txt", "report.html")


def write_all(folder: Path, results: Results) -> list[Path]:
    """Write the five `FILES` and those of the experiments (`View.files`) into `folder`, replacing existing ones.

    Returns: their paths in that order.
    Raises: EnvironmentFailure: a file can't be written.
    """
    contents = (
        clean.text(json.dumps(msgspec.to_builtins(results), ensure_ascii=False, allow_nan=False, indent=1)) + "\n",
        csv.cells_csv(results),
        csv.contrasts_csv(results),
        text.render_text(results),
        html.render_html(results, samples.read_series(folder)),
    )
    named = dict(zip(FILES, contents, strict=True))
    for view in views_of(results):
        named |= view.files(results)
    for name, content in named.items():
        write_atomically(folder / name, content)
    return [folder / name for name in named]
