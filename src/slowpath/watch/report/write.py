# SPDX-License-Identifier: Apache-2.0
"""The derived files of a watch, each written beside its name and renamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowpath.core import clean
from slowpath.core.files import write_atomically
from slowpath.watch.proof import Proof
from slowpath.watch.report import csv
from slowpath.watch.report.html import render_watch_html
from slowpath.watch.report.text import render_watch_text
from slowpath.watch.results import WatchResults
from slowpath.watch.results_file import RESULTS_FILE

TEXT_FILE, PAGE_FILE = "report.txt", "report.html"
FILES = (RESULTS_FILE, *csv.FILES, TEXT_FILE, PAGE_FILE)


def write_watch(folder: Path, results: WatchResults, proofs: Sequence[tuple[str, Proof]] = ()) -> list[Path]:
    """Write the `FILES` into `folder`; existing ones are replaced.  Args: proofs: as `render_watch_html`.

    Returns: their paths, in that order.  Raises: EnvironmentFailure when one cannot be written.
    """
    document = json.dumps(msgspec.to_builtins(results), ensure_ascii=False, allow_nan=False, indent=1)
    contents = {RESULTS_FILE: clean.text(document) + "\n"}
    contents |= {name: render(results) for name, render in csv.FILES.items()}
    contents |= {TEXT_FILE: render_watch_text(results, str(folder))}
    contents |= {PAGE_FILE: render_watch_html(results, str(folder), proofs)}
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in FILES]
