# SPDX-License-Identifier: Apache-2.0
"""The page of a watched program: one file, no network, no script needed, smaller than a megabyte. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from slowpath.report import format as fmt
from slowpath.report import page as pages
from slowpath.report.shown import PAGE_BYTES
from slowpath.watch.proof import Proof
from slowpath.watch.report import view_cards, view_messages, view_run, view_time
from slowpath.watch.report.view_cards import cards
from slowpath.watch.results import WatchResults

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
    calls, more_calls = view_run.calls(results)
    return {
        "headline": _UNIT.sub("\u00a0", results.verdict[0])
        if results.verdict
        else f"{results.program.program}: nothing was recorded",
        "program": results.program.program,
        "watch_folder": folder,
        "watch_style": pages.style("watch.css"),
        "slowpath": results.slowpath,
        "lines": verdict_lines(results),
        "place": view_run.place(results.program),
        "numbers": view_run.numbers(results),
        "warnings": view_run.warnings(results),
        "findings": found[:MOST_FINDINGS],
        "findings_headline": _headline(results),
        "proofs": view_cards.proofs(proofs),
        "fine": _unsaid(results, [fine.text for fine in results.fine]),
        "unpriced": _unsaid(results, results.unpriced),
        "standing": view_run.standing(results),
        "resources": view_run.resources(results),
        "waits": view_run.waits(results),
        "bars": view_time.rank_bars(results),
        "accounts": view_time.accounts(results),
        "waits_key": view_time.waits_key(),
        "efficiency": view_time.efficiency(results),
        "efficiency_reason": results.efficiency.reason if results.efficiency else None,
        "efficiency_strip": view_time.efficiency_strip(results),
        "phases": [phase.text for phase in results.phases or ()],
        "timeline": view_time.timeline(results),
        "time_key": view_time.time_key(),
        "unkept": any(not stretch.is_kept for stretch in results.slices),
        "sizes": view_messages.sizes(results),
        "sizes_key": view_messages.sizes_key(results),
        "floors": any(message_class.floor_ratio is not None for message_class in results.classes),
        "classes": view_messages.classes_table(results),
        "many": view_messages.left_out(results),
        "more_classes": len(view_messages.with_messages(results)) > view_messages.MOST_CLASSES,
        "pairs": view_messages.pairs(results),
        "allocations": view_messages.allocations(results),
        "allocations_head": view_messages.ALLOCATIONS_HEAD,
        "calls": calls,
        "more_calls": more_calls,
        "coverage": view_run.coverage(results.coverage),
        "notes": results.coverage.notes,
        "facts": view_run.program(results.program),
        "command": view_run.command(results.program),
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
