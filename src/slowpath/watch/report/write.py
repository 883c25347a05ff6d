# SPDX-License-Identifier: Apache-2.0
"""The derived files of a watch: results.json, CSV files, the text and the page.

CSV files are unrounded and in SI units, with an empty field where a value is missing; no field is a formula.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from slowpath.core import guard
from slowpath.core.errors import RecordError
from slowpath.core.files import write_atomically
from slowpath.core.guard import line, text
from slowpath.core.result import Result
from slowpath.report.csv import as_csv
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.proof import Proof, proof_folders, read_proof
from slowpath.watch.report.page import render_watch_html
from slowpath.watch.results import (
    RESULTS_FILE,
    CallCount,
    MessageClass,
    Pair,
    WatchResults,
)
from slowpath.watch.verdict import full_lines, screen_lines, with_proofs

PLACE = ("function", "file", "line", "object", "offset")


def _rows(struct: type[Result], found: Iterable[Result]) -> str:
    """A column for each field of the struct."""
    fields = struct.__struct_fields__
    return as_csv(fields, ([getattr(row, name) for name in fields] for row in found))


def classes_csv(results: WatchResults) -> str:
    """One row for each class of messages, with its place."""
    fields = MessageClass.__struct_fields__
    rows = (
        [*(getattr(row, name) for name in fields), *(getattr(results.sites[row.site], name) for name in PLACE)]
        for row in results.classes
    )
    return as_csv([*fields, *PLACE], rows)


def accounts_csv(results: WatchResults) -> str:
    """One row for each name and rank: the seconds that went to it."""
    ranks = [rank.rank for rank in results.ranks]
    rows = (
        [account.name, rank, value]
        for account in results.accounts
        for rank, value in zip(ranks, account.by_rank, strict=False)
    )
    return as_csv(["name", "rank", "seconds"], rows)


CSV_FILES: dict[str, Callable[[WatchResults], str]] = {
    "classes.csv": classes_csv,
    "accounts.csv": accounts_csv,
    "pairs.csv": lambda results: _rows(Pair, results.pairs),
    "calls.csv": lambda results: _rows(CallCount, results.calls),
}


_PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-", "→": ">", "·": ","})


def render_watch_text(results: WatchResults, folder: str) -> str:
    """The verdict, where the page is, and what a screen has no room for. Ends with a newline.

    Args: folder: of the watch.
    """
    every = [*screen_lines(results.verdict, f"{folder}/report.html"), *(full_lines(results) if results.ranks else ())]
    return text("\n".join(line(words).translate(_PLAIN) for words in every)) + "\n"


TEXT_FILE, PAGE_FILE = "report.txt", "report.html"
FILES = (RESULTS_FILE, *CSV_FILES, TEXT_FILE, PAGE_FILE)


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
    contents |= {name: render(results) for name, render in CSV_FILES.items()}
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
    found = []
    for proof_folder in proof_folders(folder):
        try:
            found.append((proof_folder.name, read_proof(proof_folder)))
        except RecordError:
            continue
    return found
