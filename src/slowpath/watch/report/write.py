# SPDX-License-Identifier: Apache-2.0
"""The derived files of a watch: results.json, CSV files, the text and the page.

CSV files are unrounded and in SI units, with an empty field where a value is missing; no field is a formula.

The page of a watched program: one file, no network, no script needed, smaller than a megabyte. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from slowpath.core import guard
from slowpath.core.errors import RecordError
from slowpath.core.files import write_atomically
from slowpath.core.guard import line, text
from slowpath.core.result import Result
from slowpath.report import format as fmt
from slowpath.report import page as pages
from slowpath.report.csv import Value, as_csv
from slowpath.report.shown import PAGE_BYTES
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.proof import Proof, proof_folders, read_proof
from slowpath.watch.report import pictures, tables
from slowpath.watch.report.tables import cards
from slowpath.watch.results import (
    RESULTS_FILE,
    CallCount,
    CallSite,
    MessageClass,
    Pair,
    RankTime,
    Wait,
    WatchResults,
)
from slowpath.watch.verdict import with_proofs

PLACE = ("function", "file", "line", "object", "offset")


def _rows(struct: type[Result], found: Iterable[Result], more: Callable[[Result], Sequence[Value]] | None = None,
          names: Sequence[str] = ()) -> str:  # fmt: skip
    """A column for each field of the struct, and `names` for what `more` gives."""
    fields = struct.__struct_fields__
    rows = ([*(getattr(row, name) for name in fields), *(more(row) if more else ())] for row in found)
    return as_csv([*fields, *names], rows)


def _place(results: WatchResults) -> Callable[[Result], Sequence[Value]]:
    """The columns of the place that a row names; empty ones where it names none."""

    def found(row: Result) -> Sequence[Value]:
        number: int | None = row.site if isinstance(row, MessageClass | Wait) else None
        site: CallSite | None = None if number is None else results.sites[number]
        return [None if site is None else getattr(site, name) for name in PLACE]

    return found


def classes_csv(results: WatchResults) -> str:
    """One row for each class of messages, with its place."""
    return _rows(MessageClass, results.classes, _place(results), PLACE)


def waits_csv(results: WatchResults) -> str:
    """One row for each wait, with its place."""
    return _rows(Wait, results.waits, _place(results), PLACE)


def ranks_csv(results: WatchResults) -> str:
    """One row for each rank: where its time went."""
    return _rows(RankTime, results.ranks)


def pairs_csv(results: WatchResults) -> str:
    """One row for each pair of ranks that exchanged messages."""
    return _rows(Pair, results.pairs)


def calls_csv(results: WatchResults) -> str:
    """One row for each MPI call."""
    return _rows(CallCount, results.calls)


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
    "ranks.csv": ranks_csv,
    "accounts.csv": accounts_csv,
    "pairs.csv": pairs_csv,
    "calls.csv": calls_csv,
    "waits.csv": waits_csv,
}


_PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-", "→": ">", "·": ","})


def render_watch_text(results: WatchResults, folder: str) -> str:
    """The verdict, and where the page is. Ends with a newline.  Args: folder: of the watch."""
    lines = [line(words).translate(_PLAIN) for words in results.verdict] or [
        f"{line(results.program.program)}: no verdict"
    ]
    return text("\n".join([*lines, f"report: {line(folder)}/report.html"])) + "\n"


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


_UNIT = re.compile(r"(?<=\d) (?=s\b|ms\b|%)")  # a number and its unit stay on one line
_COLUMNS = re.compile(r"\s{2,}")
MOST_FINDINGS = 40  # cards; results.json has all
LONGEST_NAME = 14  # characters of what stands before a colon
FEWER_RANKS = (64, 32, 16, 8)  # of the picture ranks x time, until the page is small enough


def render_watch_html(
    results: WatchResults,
    folder: str = "WATCH",
    proofs: Sequence[tuple[str, Proof]] = (),
) -> str:
    """The whole page.

    Args: folder: of the watch, as commands to copy name it.  proofs: name of the folder of each, and proof.
    """
    document = ""
    for most in FEWER_RANKS:
        shown = _shown(_fewer(results, most), folder, proofs)
        document = pages.render("watch.html.j2", Path(__file__).parent, **shown)
        if len(document.encode()) <= PAGE_BYTES:
            break
    return document


def _fewer(results: WatchResults, most: int) -> WatchResults:
    """With the slices of `most` ranks: those that wait least and most of all that have some."""
    ranks = sorted({stretch.rank for stretch in results.slices})
    if len(ranks) <= most:
        return results
    waits = {known.rank: known.waiting_s for known in results.ranks}
    order = sorted(ranks, key=lambda rank: waits.get(rank, 0.0))
    kept = tuple(sorted((*order[: most // 2], *order[-(most - most // 2) :])))
    return replace(
        results, slices=tuple(stretch for stretch in results.slices if stretch.rank in kept), shown_ranks=kept
    )


def verdict_lines(results: WatchResults) -> list[tuple[str, str]]:
    """The lines behind the headline: what stands in their first column, or before a colon, and the rest."""
    return [_columns(line.strip()) for line in results.verdict[1:]]


def _columns(line: str) -> tuple[str, str]:
    first, *rest = _COLUMNS.split(line)
    if rest:
        return first, " · ".join(rest)
    name, colon, after = line.partition(": ")
    return (name, after) if colon and len(name) <= LONGEST_NAME else ("", line)


def _shown(results: WatchResults, folder: str, proofs: Sequence[tuple[str, Proof]]) -> dict[str, Any]:
    found = cards(results, folder)
    calls, more_calls = tables.calls(results)
    return {
        "headline": _UNIT.sub("\u00a0", results.verdict[0])
        if results.verdict
        else f"{results.program.program}: nothing was recorded",
        "program": results.program.program,
        "watch_folder": folder,
        "watch_style": pages.style("watch.css"),
        "slowpath": results.slowpath,
        "lines": verdict_lines(results),
        "place": tables.place(results.program),
        "numbers": tables.numbers(results),
        "warnings": tables.warnings(results),
        "findings": found[:MOST_FINDINGS],
        "findings_headline": _headline(results),
        "proofs": tables.proofs(proofs),
        "fine": _unsaid(results, [fine.text for fine in results.fine]),
        "unpriced": _unsaid(results, results.unpriced),
        "standing": tables.standing(results),
        "resources": tables.resources(results),
        "waits": tables.waits(results),
        "bars": pictures.rank_bars(results),
        "accounts": pictures.accounts(results),
        "waits_key": pictures.waits_key(),
        "efficiency": pictures.efficiency(results),
        "efficiency_reason": results.efficiency.reason if results.efficiency else None,
        "efficiency_strip": pictures.efficiency_strip(results),
        "phases": [phase.text for phase in results.phases or ()],
        "timeline": pictures.timeline(results),
        "time_key": pictures.time_key(),
        "unkept": any(not stretch.is_kept for stretch in results.slices),
        "sizes": pictures.sizes(results),
        "sizes_key": pictures.sizes_key(results),
        "floors": any(message_class.floor_ratio is not None for message_class in results.classes),
        "classes": pictures.classes_table(results),
        "many": pictures.left_out(results),
        "more_classes": len(pictures.with_messages(results)) > pictures.MOST_CLASSES,
        "pairs": pictures.pairs(results),
        "allocations": pictures.allocations(results),
        "allocations_head": pictures.ALLOCATIONS_HEAD,
        "calls": calls,
        "more_calls": more_calls,
        "coverage": tables.coverage(results.coverage),
        "notes": results.coverage.notes,
        "facts": tables.program(results.program),
        "command": tables.command(results.program),
    }


def _unsaid(results: WatchResults, lines: Sequence[str]) -> list[str]:
    """Those that the verdict does not hold."""
    said = "\n".join(results.verdict)
    return [line for line in lines if line not in said]


def _headline(results: WatchResults) -> str:
    """`2 slow paths, 1 proven`, and how many of them the page shows."""
    found = results.findings
    proven = sum(finding.status == "proven" for finding in found)
    shown = f"; the {MOST_FINDINGS} that save most (all are in results.json)" if len(found) > MOST_FINDINGS else ""
    return fmt.plural(len(found), "slow path") + (f", {proven} proven" if proven else "") + shown
