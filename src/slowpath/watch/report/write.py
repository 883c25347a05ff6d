# SPDX-License-Identifier: Apache-2.0
"""The derived files of a watch: results.json, classes.csv, the text and the page.

The CSV file is unrounded and in SI units, with an empty field where a value is missing; no field is a formula.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowpath.core import guard
from slowpath.core.errors import RecordError
from slowpath.core.files import write_atomically
from slowpath.core.guard import line, text
from slowpath.report.csv import as_csv
from slowpath.report.format import PLAIN
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.proof import Proof, proof_folders, read_proof
from slowpath.watch.report.page import render_watch_html
from slowpath.watch.results import (
    RESULTS_FILE,
    MessageClass,
    WatchResults,
)
from slowpath.watch.verdict import full_lines, screen_lines, with_proofs

PLACE = ("function", "file", "line", "object", "offset")


def classes_csv(results: WatchResults) -> str:
    """One row for each class of messages, with its place."""
    fields = MessageClass.__struct_fields__
    rows = (
        [*(getattr(row, name) for name in fields), *(getattr(results.sites[row.site], name) for name in PLACE)]
        for row in results.classes
    )
    return as_csv([*fields, *PLACE], rows)


def render_watch_text(results: WatchResults, folder: str) -> str:
    """The verdict, where the page is, and what a screen has no room for. Ends with a newline.

    Args: folder: of the watch.
    """
    every = [*screen_lines(results.verdict, f"{folder}/report.html"), *(full_lines(results) if results.ranks else ())]
    return text("\n".join(line(words).translate(PLAIN) for words in every)) + "\n"


CSV_FILE, TEXT_FILE, PAGE_FILE = "classes.csv", "report.txt", "report.html"
FILES = (RESULTS_FILE, CSV_FILE, TEXT_FILE, PAGE_FILE)


def write_watch(
    folder: Path,
    results: WatchResults,
    proofs: Sequence[tuple[str, Proof]] = (),
) -> list[Path]:
    """Write the `FILES` into `folder`; existing ones are replaced.  Args: proofs: as `render_watch_html`.

    Returns: their paths, in that order.  Raises: EnvironmentFailure when one cannot be written.
    """
    document = json.dumps(msgspec.to_builtins(results), ensure_ascii=False, allow_nan=False, indent=1)
    contents = {RESULTS_FILE: guard.text(document) + "\n"}
    contents[CSV_FILE] = classes_csv(results)
    contents |= {TEXT_FILE: render_watch_text(results, str(folder))}
    contents |= {PAGE_FILE: render_watch_html(results, str(folder), proofs)}
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in FILES]


def rebuild(folder: Path) -> WatchResults:
    """Analyse the record, price it by what the folder holds, and write the derived files.

    Raises: RecordError: it is no watch.  EnvironmentFailure: a file can't be written.
    """
    proofs = _proofs(folder)
    results = with_proofs(concluded_watch(folder), [proof for _, proof in proofs], str(folder))
    write_watch(folder, results, proofs)
    return results


def _proofs(folder: Path) -> list[tuple[str, Proof]]:
    """Those that can be read: a damaged one costs the report nothing else."""
    proofs = []
    for proof_folder in proof_folders(folder):
        try:
            proofs.append((proof_folder.name, read_proof(proof_folder)))
        except RecordError:
            continue
    return proofs
