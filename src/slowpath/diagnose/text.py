# SPDX-License-Identifier: Apache-2.0
"""A diagnosis in words, for a terminal. Pure: diagnosis in, text out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from slowpath.diagnose.records import Diagnosis
from slowpath.diagnose.said import bracket_words, leg_words

Json = Mapping[str, Any]
_MARK = {"shown": "yes", "missing": "no", "refuted": "refuted"}
_STATUS = {
    "settled": "settled: nothing is left that more measuring would decide",
    "named": "named, and nothing tried; go on with slowpath diagnose --resume",
    "budget": "stopped at the budget",
    "interrupted": "interrupted",
    "running": "not finished",
}


def render(diagnosis: Diagnosis, folder: str, width: int = 100) -> str:
    """The whole text."""
    return "\n".join(_lines(diagnosis, folder, width)) + "\n"


def _lines(diagnosis: Diagnosis, folder: str, width: int) -> Iterator[str]:
    proven = sum(one["status"] == "proven" for one in diagnosis.findings)
    explained = sum(one["status"] == "explained" for one in diagnosis.findings)
    yield f"Diagnosis of {diagnosis.mpi}: {len(diagnosis.findings)} findings, {proven} proven, {explained} explained"
    yield ""
    for finding in diagnosis.findings:
        yield from _finding(finding, diagnosis.status, width)
        yield ""
    if not diagnosis.findings:
        yield from ["No slow path was found by the survey.", ""]
    if diagnosis.together:
        yield from [*_together(diagnosis.together, width), ""]
    yield "What was done"
    for step in diagnosis.steps:
        wall = "not over" if step.wall_s is None else f"{step.wall_s:.0f} s"
        yield from _wrapped(f"{step.folder} ({wall}): {step.why}", width, "  ")
        if step.said:
            yield from _wrapped(f"-> {step.said}", width, "     ")
    yield ""
    yield f"{diagnosis.spent_s:.0f} s of {diagnosis.budget_s:.0f} s; {_STATUS[diagnosis.status]}"
    for line in diagnosis.next[:5]:
        yield from _wrapped(f"next: {line}", width, "  ")
    yield f"folder: {folder}"


def _finding(finding: Json, status: str, width: int) -> Iterator[str]:
    yield from _wrapped(f"{finding['rule']} {finding['title']} [{finding['status']}]", width, "")
    yield from _wrapped(finding["text"], width, "  ")
    if finding.get("where"):
        yield from _wrapped(f"where: {finding['where']}", width, "  ")
    for name, leg in finding["legs"].items():
        yield from _wrapped(f"{name}: {_MARK[leg['state']]}; {leg_words(leg, status)}", width, "  ")
        for line in leg["evidence"][-3:] if leg["state"] != "missing" or name == "proven" else ():
            yield from _wrapped(line, width, "    ")
    for entry in (finding["law"] or {}).get("brackets", ()):
        yield f"  limit: {bracket_words(entry)}"
    if finding["cause"]:
        yield from _wrapped(f"cause: {finding['cause']}", width, "  ")
    for remedy in finding["remedies"]:
        if remedy["verdict"] != "not tried":
            yield from _remedy(remedy, width)


def _remedy(remedy: Json, width: int) -> Iterator[str]:
    removed = remedy["removed_ratio"]
    share = ""
    if removed:
        low, high = removed["interval"]
        share = f", removes {removed['value']:.0%} [{low:.0%}, {high:.0%}]"
    yield from _wrapped(f"remedy: {remedy['name']}: {remedy['verdict']}{share}", width, "  ")
    for effect in remedy["side_effects"]:
        if isinstance(effect, str):
            continue
        change = f"{effect['ratio']:.2f}"
        yield from _wrapped(f"side effect: {effect['where'] or 'a cell'} {effect['verdict']}, {change}", width, "    ")
    for form in ("shell", "code") if remedy["verdict"] == "proven" else ():
        for line in (remedy["snippet"].get(form) or "").splitlines():
            yield f"    {line}"


def _together(outcome: Json, width: int) -> Iterator[str]:
    """All proven remedies at once: what each finding keeps of its own, and one piece to copy."""
    yield "Proven remedies together"
    for one in outcome["findings"]:
        yield from _wrapped(f"{one['rule']} {one['verdict']}: {one['text']}", width, "  ")
    for effect in outcome["side_effects"]:
        text = f"side effect: {effect['where'] or 'a cell'} {effect['verdict']}, {effect['ratio']:.2f}"
        yield from _wrapped(text, width, "    ")
    for one in outcome["listed"]:
        yield from _wrapped(f"{one['rule']}, {one['remedy']}: not measured together: {one['why']}", width, "  ")
    if outcome["reason"]:
        yield from _wrapped(f"nothing to copy for all: {outcome['reason']}", width, "  ")
    for line in ((outcome["snippet"] or {}).get("shell") or "").splitlines():
        yield f"    {line}"


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ") or [""]
