# SPDX-License-Identifier: Apache-2.0
"""Findings and proofs of a watch as cards: what to do, what it saves, the lines to copy, and what reruns showed."""

from __future__ import annotations

import re
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.figure import FigureTable
from slowpath.report.svg import sides as drawn
from slowpath.report.svg.sides import Kind, SideTimes
from slowpath.report.view_findings import RemedyView, remedy_view
from slowpath.watch.proof import Proof, ProofEffect
from slowpath.watch.report import words
from slowpath.watch.results import CallSite, Price, WatchFinding, WatchResults

STATUS = {
    "priced": ("info", "priced, not tried"),
    "estimated": ("info", "estimated from the program's own calls"),
    "proven": ("faster", "proven on the program itself"),
    "no effect": ("same", "tried on the program: no effect"),
    "undecided": ("undecided", "tried on the program: undecided"),
}
_ID = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class WatchFindingView:
    """One card. factor, factor_words: what it saves.  mark, status: whether it was tried.  prove: the command.

    sites: each place, and who called it.
    """

    finding: WatchFinding
    id: str
    do: str
    factor: str
    interval: str
    factor_words: str
    mark: str
    status: str
    copied: tuple[str, str] | None
    prove: str | None
    reason: str | None
    sites: list[tuple[str, str]]
    prices: FigureTable
    remedies: list[RemedyView]


def cards(results: WatchResults, folder: str) -> list[WatchFindingView]:
    """A card for each finding.  Args: folder: of the watch, for commands."""
    return [_card(number, finding, results, folder) for number, finding in enumerate(results.findings)]


def _card(number: int, finding: WatchFinding, results: WatchResults, folder: str) -> WatchFindingView:
    remedies = [remedy_view(remedy) for remedy in finding.remedies]
    value, interval, of = finding.seconds, finding.interval, "a rank, added up over its messages"
    if finding.saved_s is not None:
        value, of = (
            finding.saved_s,
            f"of the run; {words.seconds(finding.seconds, finding.interval)} a rank over its messages",
        )
        interval = finding.saved_interval or finding.interval
    mark, status = STATUS[finding.status]
    return WatchFindingView(
        finding=finding,
        id=f"finding-{number}-{_ID.sub('-', finding.id)}",
        do=_do(finding),
        factor=fmt.time(value, interval),
        interval=fmt.quantity_interval(value, "s", interval) or "",
        factor_words=of,
        mark=mark,
        status=status,
        copied=remedies[0].lines[0] if remedies and remedies[0].lines else None,
        prove=None if finding.prove is None else f"slowpath prove {shlex.quote(folder)} {finding.prove}",
        reason=None if finding.saved_s is not None else finding.saved_reason,
        sites=[_site(results.sites[place]) for place in finding.sites],
        prices=_prices(finding, results),
        remedies=remedies,
    )


def _do(finding: WatchFinding) -> str:
    if not finding.remedies:
        return f"{finding.title}; no remedy is known"
    first = finding.remedies[0]
    if first.phrase is None:
        return first.text
    return f"{'Use' if finding.status == 'proven' else 'Try'} {first.phrase}"


def _site(site: CallSite) -> tuple[str, str]:
    return words.place(site), " < ".join(site.callers)


def _prices(finding: WatchFinding, results: WatchResults) -> FigureTable:
    classes = {known.id: known for known in results.classes}
    head = ["Messages", "How many", "Buffer", "Place", "Saved on each", "Added up a rank", "From"]
    rows = []
    for price in finding.prices:
        known = classes[price.class_id]
        row = [words.messages(known), words.count(known.count), words.buffer(known)]
        row += [words.place(results.sites[known.site]), words.seconds(price.per_message_s, price.interval)]
        rows.append([*row, _added(price, known.count, results), f"{price.basis}: {price.source}"])
    return FigureTable(head, rows)


def _added(price: Price, count: int, results: WatchResults) -> str:
    ranks = max(1, results.program.recorded_ranks)
    return fmt.time(price.per_message_s * count / ranks)


MOST_PROOFS = 12  # on the page, the latest; each has its proof.json
_SIDES: tuple[tuple[str, Kind, str], ...] = (
    ("as it is", "slow", "as it is"),
    ("control", "fast", "control"),
    ("remedy", "remedy", "with the remedy"),
)
MARKS = {"proven": "faster", "slower": "slower", "no effect": "same"}
WORDS = {"ignored": "the setting was not taken", "running": "cut off"}


@dataclass(frozen=True, slots=True)
class ProofView:
    """One proof. headline: its verdict in words.  facts: name and words."""

    id: str
    remedy: str
    mark: str
    headline: str
    text: str
    facts: list[tuple[str, str]]
    picture: Markup | None


def proofs(found: Sequence[tuple[str, Proof]]) -> list[ProofView]:
    """The latest first.  Args: found: name of the folder, and proof."""
    return [_view(name, proof) for name, proof in list(reversed(found))[:MOST_PROOFS]]


def _view(name: str, proof: Proof) -> ProofView:
    facts = [("why", proof.reason)]
    facts += [("time", _ratio(proof.effect))] if proof.effect else []
    facts += [("control", f"{_ratio(proof.control)} with a variable that nothing reads")] if proof.control else []
    facts.append(("witness", f"{proof.witness.state}: {proof.witness.text}"))
    compared = ", ".join(proof.compared)
    facts.append(("output", f"compared: {compared}" if compared else "not compared; name it with --output"))
    facts.append(("runs", f"{len(proof.runs)} of {fmt.duration(proof.spent_s)} in all, in {name}"))
    picture = drawn.chart(_sides(proof), "wall time of one run", f"Reruns for {proof.remedy}")
    return ProofView(
        f"proof-{name}",
        proof.remedy,
        MARKS.get(proof.verdict, "undecided"),
        _headline(proof),
        proof.text,
        facts,
        picture,
    )


def _headline(proof: Proof) -> str:
    words = WORDS.get(proof.verdict, proof.verdict)
    if proof.verdict == "proven" and proof.saved_s is not None:
        ends = fmt.quantity_interval(proof.saved_s, "s", proof.saved_interval)
        return f"{words}: {fmt.time(proof.saved_s, proof.saved_interval)} {ends or ''} of a run saved"
    return words


def _ratio(effect: ProofEffect) -> str:
    interval = effect.interval
    ends = fmt.ratio_interval(effect.ratio, interval)
    blocks = fmt.plural(effect.blocks, "block")
    return f"{fmt.ratio(effect.ratio, interval)} {ends or 'no interval'} of as it is, {blocks}"


def _sides(proof: Proof) -> list[SideTimes]:
    """A row for each side that has runs which count; the line is their median, which the interval is not about."""
    rows = []
    for side, kind, label in _SIDES:
        values = tuple(run.wall_s for run in proof.runs if run.side == side and run.failed is None and run.wall_s > 0)
        if values:
            rows.append(
                SideTimes(f"{label}, {fmt.plural(len(values), 'run')}", kind, values, statistics.median(values), None)
            )
    return rows
