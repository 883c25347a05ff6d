# SPDX-License-Identifier: Apache-2.0
"""A diagnosis in words, for a terminal. Pure: diagnosis in, text out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from slowpath.core.guard import cleaned
from slowpath.core.results import Brief, Finding, RemedyResult, SideEffect, Verdict
from slowpath.core.units import format_ratio, format_time, more_words, share_words
from slowpath.diagnose.limits.variables import limits_of
from slowpath.diagnose.page.words import leg_words, limit_words
from slowpath.diagnose.program import program_line, program_words
from slowpath.diagnose.records import AlternativesOutcome, Diagnosis, Status
from slowpath.findings.finding import LeastSeen
from slowpath.report.cards import rival_lines
from slowpath.report.format import plural

_MARK = {"shown": "yes", "missing": "no", "refuted": "refuted"}
_STATUS: Mapping[Status, str] = {
    "settled": "settled: more measuring would decide nothing",
    "named": "named, but nothing tried; continue with slowpath diagnose --resume",
    "budget": "stopped at the budget",
    "interrupted": "interrupted",
    "running": "not finished",
}


@cleaned
def render_brief(diagnosis: Diagnosis, folder: str, width: int = 100) -> str:
    """What is wrong and what to do, on one screen; `render` has all of it."""
    none = f"Diagnosis of {diagnosis.mpi}"
    verdict = diagnosis.verdict or Verdict(headline=none, lines=[], state="not measured", answer=none)
    open_ways = []
    if diagnosis.status in ("budget", "interrupted", "named") and diagnosis.next:
        steps = plural(len(diagnosis.next), "step")
        open_ways.append(f"{steps} not made; continue with: slowpath diagnose --resume {folder} --budget 5m.")
    if diagnosis.launches_left_out:
        open_ways.append(left_out_words(diagnosis))
    if diagnosis.program is not None:
        open_ways.insert(0, f"Only what {program_words(diagnosis.program)} does was asked about.")
    brief = Brief.of(verdict, f"{folder}/report.html", open_ways)
    return "\n".join(brief.lines(width)) + "\n"


@cleaned
def render(diagnosis: Diagnosis, folder: str, width: int = 100) -> str:
    """The whole text."""
    return "\n".join(_lines(diagnosis, folder, width)) + "\n"


def left_out_words(diagnosis: Diagnosis) -> str:
    """What a survey can't say whose budget was over, or whose launches took so long that they were ended."""
    launches = plural(diagnosis.launches_left_out, "launch")
    return f"The survey ended {launches} short, so some cells were not measured: allow a longer --budget."


def _scope(diagnosis: Diagnosis, width: int) -> Iterator[str]:
    """What alone was looked into."""
    if diagnosis.program is not None:
        yield from _wrapped(program_line(diagnosis.program), width, "")
    if diagnosis.only:
        yield from _wrapped(f"asked for: {', '.join(diagnosis.only)}", width, "")


def _lines(diagnosis: Diagnosis, folder: str, width: int) -> Iterator[str]:
    verdict = diagnosis.verdict
    if verdict is not None:
        for line in (verdict.answer, *verdict.actions, verdict.still_open, verdict.place, verdict.count):
            yield from _wrapped(line, width, "") if line else ()
    else:
        yield f"Diagnosis of {diagnosis.mpi}"
    yield from _scope(diagnosis, width)
    yield ""
    for finding in diagnosis.findings:
        yield from _finding(finding, diagnosis.status, width)
        yield ""
    if diagnosis.alternatives:
        yield from [*_alternatives(diagnosis.alternatives, width), ""]
    yield from _own_settings(diagnosis, width)
    yield from _paths(diagnosis, width)
    yield "Steps"
    for step in diagnosis.steps:
        wall = "not finished" if step.wall_s is None else f"{step.wall_s:.0f} s"
        yield from _wrapped(f"{step.folder} ({wall}): {step.why}", width, "  ")
        if step.summary:
            yield from _wrapped(f"-> {step.summary}", width, "     ")
    for left in diagnosis.not_tried:
        yield from _wrapped(f"not tried: {left.remedy} against {left.rule}: {left.why}", width, "  ")
    if (unseen := unseen_paragraph(diagnosis.least)) is not None:
        yield ""
        yield from _wrapped(unseen, width, "")
    yield ""
    yield f"{diagnosis.spent_s:.0f} s of {diagnosis.budget_s:.0f} s; {_STATUS[diagnosis.status]}"
    for line in diagnosis.next[:5]:
        yield from _wrapped(f"next: {line}", width, "  ")
    yield f"folder: {folder}"


def _alternatives(outcome: AlternativesOutcome, width: int) -> Iterator[str]:
    """What the screening of the library's own choices showed."""
    yield (
        f"Library defaults: {outcome.rows} other choices measured; {len(outcome.left_out)} others have no effect here"
    )
    for one in outcome.suspects:
        shown = ", ".join(f"{cell} {ratio:.2f}x" for cell, ratio in zip(one.cells, one.ratios, strict=True))
        yield from _wrapped(f"looked faster: {one.name}: {shown}", width, "  ")
    for name, reason in outcome.failed.items():
        yield from _wrapped(f"does not work here: {name}: {reason}", width, "  ")
    if outcome.slower:
        yield from _wrapped(f"slower in a cell: {', '.join(outcome.slower)}", width, "  ")


def _own_settings(diagnosis: Diagnosis, width: int) -> Iterator[str]:
    if diagnosis.own_settings:
        yield "Your settings"
        for line in diagnosis.own_settings:
            yield from _wrapped(line, width, "  ")
        yield ""


def _paths(diagnosis: Diagnosis, width: int) -> Iterator[str]:
    if diagnosis.paths:
        yield "Paths"
        for line in diagnosis.paths:
            yield from _wrapped(line, width, "  ")
        yield ""


def _finding(finding: Finding, status: Status, width: int) -> Iterator[str]:
    yield from _wrapped(f"{finding.rule} {finding.title} [{finding.status}]", width, "")
    yield from _wrapped(finding.text, width, "  ")
    if finding.where:
        yield from _wrapped(f"where: {finding.where}", width, "  ")
    for name, leg in finding.legs.named():
        yield from _wrapped(f"{name}: {_MARK[leg.state]}; {leg_words(leg, status)}", width, "  ")
        for line in leg.evidence[-3:] if leg.state != "missing" or name == "proven" else ():
            yield from _wrapped(line, width, "    ")
    for words in rival_lines(finding.rivals):
        yield from _wrapped(words, width, "    ")
    for limit in limits_of(finding):
        yield f"  {limit_words(limit)}"
    if finding.cause:
        yield from _wrapped(f"cause: {finding.cause}", width, "  ")
    for remedy in finding.remedies:
        if remedy.verdict != "not tried":
            yield from _remedy(remedy, width)


def _remedy(remedy: RemedyResult, width: int) -> Iterator[str]:
    share = ""
    if remedy.removed_ratio and remedy.removed_ratio.interval:
        removed = remedy.removed_ratio
        share = f", removes {share_words(removed.value, removed.interval)}{more_words(removed.beyond_s)}"
    yield from _wrapped(f"remedy: {remedy.name}: {remedy.verdict}{share}", width, "  ")
    for effect in remedy.side_effects:
        words = _side_effect(effect) if isinstance(effect, SideEffect) else f"to watch: {effect}"
        yield from _wrapped(words, width, "    ")
    for lines in (remedy.snippet.shell, remedy.snippet.code) if remedy.verdict == "proven" else ():
        for line in (lines or "").splitlines():
            yield f"    {line}"


def _side_effect(effect: SideEffect) -> str:
    return f"side effect: {effect.where or 'a cell'} {effect.verdict}, {effect.ratio:.2f}x the time"


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ") or [""]


MOST = 6  # groups that a paragraph names, the coarsest first
NOTHING_FROM = 10.0  # times: launches that differ so much let nothing be seen, and a ratio would be a number alone
NOTHING = "nothing: its launches differ too much"
UNSEEN_TITLE = "What this diagnosis could not have seen"
UNSEEN_LEAD = (
    "Based on this run's own spread: 95 of 100 such runs detect differences of medians from these values on. "
    "Delays of less than half of the messages do not change the median."
)


def unseen_rows(found: Sequence[LeastSeen]) -> list[tuple[str, str]]:
    """Group and what is decided in it from where on, the coarsest first."""
    ordered = sorted(found, key=lambda one: -one.ratio)
    return [
        (_group(one), NOTHING if _is_blind(one) else f"{format_ratio(one.ratio)}x ({format_time(one.excess_s)})")
        for one in ordered
    ]


def unseen_paragraph(found: Sequence[LeastSeen]) -> str | None:
    """The coarsest groups in one sentence; None: nothing has a spread."""
    blind = [_group(one) for one in found if _is_blind(one)]
    listed = unseen_rows([one for one in found if not _is_blind(one)])
    none = f"Its launches differ too much to see anything in {_listed(blind)}." if blind else None
    if not listed:
        return none
    named = "; ".join(f"{words} in {group}" for group, words in listed[:MOST])
    rest = listed[MOST:]
    others = f"; {rest[0][1].partition(' ')[0]} or less in {len(rest)} other groups" if rest else ""
    least = f"Given its spread, this diagnosis could not detect medians that differ by less than {named}{others}."
    return f"{least} {none}" if none else least


def _is_blind(one: LeastSeen) -> bool:
    return one.ratio >= NOTHING_FROM


def _listed(groups: Sequence[str]) -> str:
    more = len(groups) - MOST
    return "; ".join([*groups[:MOST], *([f"{more} other groups"] if more > 0 else [])])


def _group(one: LeastSeen) -> str:
    return f"{one.group}, first messages" if one.phase == "first" else one.group
