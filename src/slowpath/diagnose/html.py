# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as one page without scripts, that fetches nothing. Pure: diagnosis in, HTML out."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from slowpath.diagnose.forest import forest
from slowpath.diagnose.records import Diagnosis, Step
from slowpath.diagnose.said import bracket_words, leg_words
from slowpath.report.html import stylesheet

Json = Mapping[str, Any]
_STYLE = """
main { padding-bottom: 60px; } .leg { display: inline-block; margin-right: 1rem; }
.leg.shown { font-weight: 600; } .leg.missing { color: var(--soft); }
"""


def page(diagnosis: Diagnosis) -> str:
    """The whole page."""
    findings = (
        "".join(_finding(one, diagnosis.status) for one in diagnosis.findings)
        or "<p>No slow path was found by the survey.</p>"
    )
    steps = "".join(_step(one) for one in diagnosis.steps)
    after = "".join(f"<li>{escape(line)}</li>" for line in diagnosis.next)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Slowpath diagnosis</title>'
        f'<meta name="viewport" content="width=device-width"><style>{stylesheet()}{_STYLE}</style></head><body><main>'
        f"<h1>Diagnosis of {escape(diagnosis.mpi or 'an MPI')}</h1>"
        f'<p class="lead">{diagnosis.spent_s:.0f} s of {diagnosis.budget_s:.0f} s, {escape(diagnosis.status)}.</p>'
        f"{forest(diagnosis.findings)}{findings}"
        f"{_together(diagnosis.together) if diagnosis.together else ''}"
        f"<section><h2>What was done</h2><table>{steps}</table></section>"
        + (f"<section><h2>What would be next</h2><ul>{after}</ul></section>" if after else "")
        + "</main></body></html>\n"
    )


def _step(step: Step) -> str:
    wall = "not over" if step.wall_s is None else f"{step.wall_s:.0f} s"
    link = f'<a href="{escape(step.folder)}/report.html">{escape(step.folder)}</a>'
    return f"<tr><td>{link}</td><td>{wall}</td><td>{escape(step.why)}<br>{escape(step.said or '')}</td></tr>"


def _finding(finding: Json, status: str) -> str:
    legs = "".join(_leg(name, leg, status) for name, leg in finding["legs"].items())
    evidence = "".join(
        f"<li>{escape(name)}: {escape(line)}</li>" for name, leg in finding["legs"].items() for line in leg["evidence"]
    )
    limits = "".join(f"<p>{escape(bracket_words(one))}</p>" for one in (finding["law"] or {}).get("brackets", ()))
    cause = f"<p>Cause: {escape(finding['cause'])}</p>" if finding["cause"] else ""
    remedies = "".join(_remedy(one) for one in finding["remedies"] if one["verdict"] != "not tried")
    return (
        f'<section id="{escape(finding["id"])}"><h2>{escape(finding["rule"])} {escape(finding["title"])}</h2>'
        f"<p>{escape(finding['text'])}</p>"
        f"<p>{legs}</p>{cause}{limits}<details><summary>Evidence</summary><ul>{evidence}</ul></details>"
        f"{remedies}</section>"
    )


def _leg(name: str, leg: Json, status: str) -> str:
    title = escape(leg_words(leg, status))
    return f'<span class="leg {leg["state"]}" title="{title}">{escape(name)}: {leg["state"]}</span>'


def _remedy(remedy: Json) -> str:
    removed = remedy["removed_ratio"]
    share = f", removes {removed['value']:.0%}" if removed else ""
    lines = [remedy["snippet"][form] for form in ("shell", "modulefile", "code") if remedy["snippet"].get(form)]
    copied = "".join(f"<pre>{escape(text)}</pre>" for text in lines)
    head = f"{escape(remedy['name'])}: {escape(remedy['verdict'])}{share}"
    return f"<h3>{head}</h3><p>{escape(remedy['reason'])}</p>{copied}"


def _together(outcome: Json) -> str:
    lines = [f"{one['rule']} {one['verdict']}: {one['text']}" for one in outcome["findings"]]
    lines += [f"side effect: {one['where']} {one['verdict']}, {one['ratio']:.2f}" for one in outcome["side_effects"]]
    lines += [f"{one['rule']}, {one['remedy']}: not measured together: {one['why']}" for one in outcome["listed"]]
    lines += [f"nothing to copy for all: {outcome['reason']}"] if outcome["reason"] else []
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    snippet = outcome["snippet"] or {}
    copied = "".join(f"<pre>{escape(snippet[form])}</pre>" for form in ("shell", "modulefile") if snippet.get(form))
    return f"<section><h2>Proven remedies together</h2><ul>{items}</ul>{copied}</section>"
