# SPDX-License-Identifier: Apache-2.0
"""Findings as reports show them: three legs as marks, the law in one line, the line to copy. Nothing is judged here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from slowpath.report import format as fmt
from slowpath.report import view_witness

Json = Any
LEGS = ("observed", "explained", "proven")
_VERDICT = {"shown": "same", "missing": "undecided", "refuted": "slower"}  # whose mark stands for a leg
_SHELLS = ("shell", "code", "modulefile")


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
    """One finding. contrasts: anchors of those that it rests on.  counted: what was counted beside its times."""

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


def findings(results: Json) -> list[FindingView]:
    """All findings, in the order of the results: those on the side of users who change nothing stand first there."""
    cells = {cell["cell"]: cell for cell in results["cells"]}
    return [_view(one, cells) for one in results.get("findings") or []]


def _view(one: Json, cells: dict[int, Json]) -> FindingView:
    law = one.get("law")
    return FindingView(
        one["id"].replace(":", "-"),
        one["rule"],
        one["title"],
        one["status"],
        one.get("usual") is not False,
        one["text"],
        one["where"],
        [_leg(name, one["legs"][name]) for name in LEGS],
        law["text"] if law and law["name"] else None,
        one.get("cause"),
        list(one.get("hypotheses") or ()),
        [_remedy(remedy) for remedy in one.get("remedies") or ()],
        list(one.get("next") or ()),
        list(one.get("contrasts") or ()),
        list(one.get("doubts") or ()),
        view_witness.of_finding(one, cells),
    )


def _leg(name: str, leg: Json) -> LegView:
    return LegView(name, leg["state"], _VERDICT.get(leg["state"], "undecided"), leg["text"], list(leg["evidence"]))


def _remedy(remedy: Json) -> RemedyView:
    snippet = remedy.get("snippet") or {}
    removed = remedy.get("removed_ratio")
    words = None
    if removed and removed.get("value") is not None:
        interval = removed.get("interval")
        span = f" [{fmt.percent(interval[0], 0)}, {fmt.percent(interval[1], 0)}]" if interval else ""
        words = f"{fmt.percent(removed['value'], 0)}{span} of the excess"
    return RemedyView(
        remedy["name"],
        remedy["verdict"],
        remedy["text"],
        words,
        [(kind, snippet[kind]) for kind in _SHELLS if snippet.get(kind)],
        list(remedy.get("side_effects") or ()),
        remedy.get("reason") or "",
    )


def headline(found: list[FindingView]) -> str:
    """`2 findings: 1 proven, 1 observed`; empty without any."""
    if not found:
        return ""
    counts = [(sum(one.status == status for one in found), status) for status in reversed(LEGS)]
    parts = ", ".join(f"{count} {status}" for count, status in counts if count)
    return f"{fmt.plural(len(found), 'finding')}: {parts}"


def with_micro(text: str) -> str:
    """`µs` for the `us` of plain text."""
    return re.sub(r"(?<=\d) us\b", " µs", text)
