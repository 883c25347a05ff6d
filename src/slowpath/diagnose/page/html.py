# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as one page without scripts, that fetches nothing. Pure: diagnosis in, HTML out."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from slowpath.core.results import Finding, Leg, RemedyResult, Snippet
from slowpath.diagnose.limits.variables import limits_of
from slowpath.diagnose.page.forest import forest
from slowpath.diagnose.page.words import leg_words, limit_words
from slowpath.diagnose.records import CombinedOutcome, Diagnosis, DiagnosisStep, Status
from slowpath.report.html import stylesheet

_STYLE = """
main { padding-bottom: 60px; } .leg { display: inline-block; margin-right: 1rem; }
.leg.shown { font-weight: 600; } .leg.missing { color: var(--soft); }
"""


def page(diagnosis: Diagnosis) -> str:
    """The whole page."""
    findings = "".join(_finding(one, diagnosis.status) for one in diagnosis.findings)
    verdict = diagnosis.verdict
    headline = verdict.headline if verdict else f"Diagnosis of {diagnosis.mpi or 'an MPI'}"
    facts = "".join(f"<p>{escape(line)}</p>" for line in ((verdict.place, verdict.count) if verdict else ()) if line)
    steps = "".join(_step(one) for one in diagnosis.steps)
    after = _items(diagnosis.next)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Slowpath diagnosis</title>'
        f'<meta name="viewport" content="width=device-width"><style>{stylesheet()}{_STYLE}</style></head><body><main>'
        f"<h1>{escape(headline)}</h1>{facts}"
        f'<p class="lead">{diagnosis.spent_s:.0f} s of {diagnosis.budget_s:.0f} s, {escape(diagnosis.status)}.</p>'
        f"{forest(diagnosis.findings)}{findings}"
        f"{_combined(diagnosis.combined) if diagnosis.combined else ''}"
        f"<section><h2>Steps</h2><table>{steps}</table></section>"
        + (f"<section><h2>Next steps</h2><ul>{after}</ul></section>" if after else "")
        + "</main></body></html>\n"
    )


def _step(step: DiagnosisStep) -> str:
    wall = "not finished" if step.wall_s is None else f"{step.wall_s:.0f} s"
    link = f'<a href="{escape(step.folder)}/report.html">{escape(step.folder)}</a>'
    return f"<tr><td>{link}</td><td>{wall}</td><td>{escape(step.why)}<br>{escape(step.summary or '')}</td></tr>"


def _finding(finding: Finding, status: Status) -> str:
    legs = "".join(_leg(name, leg, status) for name, leg in finding.legs.named())
    evidence = _items(f"{name}: {line}" for name, leg in finding.legs.named() for line in leg.evidence)
    limits = "".join(f"<p>{escape(limit_words(one))}</p>" for one in limits_of(finding))
    cause = f"<p>Cause: {escape(finding.cause)}</p>" if finding.cause else ""
    remedies = "".join(_remedy(one) for one in finding.remedies if one.verdict != "not tried")
    return (
        f'<section id="{escape(finding.id)}"><h2>{escape(finding.rule)} {escape(finding.title)}</h2>'
        f"<p>{escape(finding.text)}</p>"
        f"<p>{legs}</p>{cause}{limits}<details><summary>Evidence</summary><ul>{evidence}</ul></details>"
        f"{remedies}</section>"
    )


def _leg(name: str, leg: Leg, status: Status) -> str:
    title = escape(leg_words(leg, status))
    return f'<span class="leg {leg.state}" title="{title}">{escape(name)}: {leg.state}</span>'


def _remedy(remedy: RemedyResult) -> str:
    share = f", removes {remedy.removed_ratio.value:.0%}" if remedy.removed_ratio else ""
    head = f"{escape(remedy.name)}: {escape(remedy.verdict)}{share}"
    return f"<h3>{head}</h3><p>{escape(remedy.reason)}</p>{_copied(remedy.snippet)}"


def _combined(outcome: CombinedOutcome) -> str:
    lines = [f"{one.rule} {one.verdict}: {one.text}" for one in outcome.findings]
    lines += [f"side effect: {one.where} {one.verdict}, {one.ratio:.2f}x the time" for one in outcome.side_effects]
    lines += [f"{one.rule}, {one.remedy}: not measured with the others: {one.why}" for one in outcome.left_out]
    lines += [f"nothing to copy for all: {outcome.reason}"] if outcome.reason else []
    copied = _copied(outcome.snippet) if outcome.snippet else ""
    return f"<section><h2>Proven remedies combined</h2><ul>{_items(lines)}</ul>{copied}</section>"


def _items(lines: Iterable[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def _copied(snippet: Snippet) -> str:
    lines = (snippet.shell, snippet.modulefile, snippet.code)
    return "".join(f"<pre>{escape(text)}</pre>" for text in lines if text)
