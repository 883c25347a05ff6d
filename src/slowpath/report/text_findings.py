# SPDX-License-Identifier: Apache-2.0
"""Findings for a terminal: a block each, with what is missing."""

from __future__ import annotations

from slowpath.core.results import Results
from slowpath.report.view_findings import FindingView, LegView, RemedyView, findings

_MARKS = {"shown": "[x]", "missing": "[ ]", "refuted": "[!]"}
MOST_FORECASTS = 3  # in the text
MOST_REMEDIES = 2  # in the text; the page has them all


def finding_lines(results: Results) -> list[str]:
    """Lines, each indented as it is to stand; [] without findings."""
    found = findings(results)
    if not found:
        return []
    own = [one for one in found if one.usual]
    others = [one for one in found if not one.usual]
    lines = ["Slow paths by name, the one that costs most first. More about each: slowpath explain CODE"]
    for one in own:
        lines += _block(one)
    if others:
        lines += ["", "Slow only under a setting that is not yours:"]
    for one in others:
        lines += _block(one)
    return lines


def _block(one: FindingView) -> list[str]:
    lines = ["", f"  {one.rule} {one.status}: {one.title}", f"    {one.text}", f"    Where: {one.where}"]
    lines.append("    " + "  ".join(f"{_MARKS.get(leg.state, '[ ]')} {leg.name}" for leg in one.legs))
    if one.law:
        lines.append(f"    Law: {one.law}")
    lines += [f"    Forecast: {words}" for words in one.forecasts[:MOST_FORECASTS]]
    if one.cause:
        lines.append(f"    Cause: {one.cause}")
    elif one.hypotheses:
        lines.append(f"    It may be: {'; '.join(one.hypotheses)}")
    lines += [line for leg in one.legs for line in _leg(leg)]
    lines += [f"    {words[0].upper()}{words[1:]}" for words in one.rivals]
    lines += [f"    Doubt: {doubt}" for doubt in one.doubts]
    lines += [f"    Counted, {cell.side}: {cell.words}" for cell in one.counted if cell.calls]  # the page has them all
    return lines + [line for remedy in one.remedies[:MOST_REMEDIES] for line in _remedy(remedy)]


def _leg(leg: LegView) -> list[str]:
    """Why a leg is missing or refuted; of an explained or proven one what it rests on."""
    if leg.state != "shown":
        return [f"    Not {leg.name}: {leg.text}"]
    return [] if leg.name == "observed" else [f"    {leg.name.capitalize()}: {line}" for line in leg.evidence[:2]]


def _remedy(remedy: RemedyView) -> list[str]:
    removed = f", removes {remedy.removed}" if remedy.removed else ""
    first = next((text for kind, text in remedy.lines if kind == "shell"), None)
    copied = first or next((text for _, text in remedy.lines), None)
    head = f"    Remedy ({remedy.verdict}{removed}): {remedy.text}"
    watch = [f"      To watch: {'; '.join(remedy.side_effects)}."] if remedy.side_effects else []
    return [head, *(f"      {line}" for line in (copied or "").splitlines()), *watch]
