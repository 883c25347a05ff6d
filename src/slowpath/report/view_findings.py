# SPDX-License-Identifier: Apache-2.0
"""Findings as reports show them: three legs as marks, the law in one line, the line to copy. Nothing is judged here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, Leg, RemedyResult, Results, SideEffect
from slowpath.report import format as fmt
from slowpath.report import view_witness

STATUSES = ("observed", "explained", "proven")
_VERDICT = {"shown": "same", "missing": "undecided", "refuted": "slower"}  # whose mark stands for a leg


@dataclass(frozen=True, slots=True)
class LegView:
    """One leg. mark: name of the marker that stands for its state."""

    name: str
    state: str
    mark: str
    text: str
    evidence: list[str]


@dataclass(frozen=True, slots=True)
class RemedyView:
    """One remedy, and what to copy for it. removed: how much of the excess it took away, in words."""

    name: str
    verdict: str
    text: str
    removed: str | None
    lines: list[tuple[str, str]]
    side_effects: list[str]
    reason: str


@dataclass(frozen=True, slots=True)
class FindingView:
    """One finding. contrasts: anchors of those that it rests on.  counted: what was counted next to its times."""

    id: str
    rule: str
    title: str
    status: str
    usual: bool
    text: str
    where: str
    legs: list[LegView]
    law: str | None
    cause: str | None
    hypotheses: list[str]
    remedies: list[RemedyView]
    next: list[str]
    contrasts: list[str]
    doubts: list[str]
    counted: list[view_witness.Counted]


def findings(results: Results) -> list[FindingView]:
    """All findings, in the order of the results: those on the side of users who change nothing stand first there."""
    cells = {cell.cell: cell for cell in results.cells}
    return [_view(one, cells) for one in results.findings]


def _view(one: Finding, cells: Mapping[int, CellResult]) -> FindingView:
    law, legs = one.law, one.legs
    return FindingView(
        one.id.replace(":", "-"),
        one.rule,
        one.title,
        one.status,
        one.affects_default is not False,
        one.text,
        one.where,
        [_leg("observed", legs.observed), _leg("explained", legs.explained), _leg("proven", legs.proven)],
        law.text if law and law.name else None,
        one.cause,
        one.hypotheses,
        [_remedy(remedy) for remedy in one.remedies],
        one.next,
        one.contrasts,
        one.doubts,
        view_witness.of_finding(one, cells),
    )


def _leg(name: str, leg: Leg) -> LegView:
    return LegView(name, leg.state, _VERDICT[leg.state], leg.text, leg.evidence)


def _remedy(remedy: RemedyResult) -> RemedyView:
    snippet = remedy.snippet
    copied = (("shell", snippet.shell), ("code", snippet.code), ("modulefile", snippet.modulefile))
    removed = remedy.removed_ratio
    words = None
    if removed:
        interval = removed.interval
        span = f" [{fmt.percent(interval[0], 0)}, {fmt.percent(interval[1], 0)}]" if interval else ""
        words = f"{fmt.percent(removed.value, 0)}{span} of the excess"
    return RemedyView(
        remedy.name,
        remedy.verdict,
        remedy.text,
        words,
        [(kind, text) for kind, text in copied if text],
        [one if isinstance(one, str) else _side_effect(one) for one in remedy.side_effects],
        remedy.reason,
    )


def _side_effect(one: SideEffect) -> str:
    return f"{one.where}: {one.verdict}, {fmt.ratio(one.ratio, one.interval)} with the remedy"


def headline(found: list[FindingView]) -> str:
    """`2 slow paths by name: 1 proven, 1 observed`; empty without any."""
    if not found:
        return ""
    counts = [(sum(one.status == status for one in found), status) for status in reversed(STATUSES)]
    parts = ", ".join(f"{count} {status}" for count, status in counts if count)
    return f"{fmt.plural(len(found), 'slow path')} by name: {parts}"


def with_micro(text: str) -> str:
    """`µs` for the `us` of plain text."""
    return re.sub(r"(?<=\d) us\b", " µs", text)
