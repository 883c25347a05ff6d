# SPDX-License-Identifier: Apache-2.0
"""The report for a terminal: ASCII, no colour, at most 100 columns."""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import PurePath

from slowpath.core.guard import cleaned
from slowpath.core.results import Brief, ContrastResult, Finding, Leg, RemedyResult, Results
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.findings.conclude import group_of
from slowpath.report import format as fmt
from slowpath.report import run_page
from slowpath.report.cards import HEADINGS, copied, counted_of, removed_words, side_effects
from slowpath.report.cells import common, libraries_answer, questions, title, word
from slowpath.report.figure import grouped
from slowpath.report.osu import cell_lines
from slowpath.report.panel import panel_lines
from slowpath.report.studies import answers_of, views_of

WIDTH = 100
SCREEN = 40  # lines
LEVELS = {"slow": "SLOW", "ok": "ok", "info": "note", "warning": "WARNING"}


@cleaned
def render_text(results: Results) -> str:
    """Return verdict, findings, contrasts, skipped cells and the page's path as text, with a newline at the end."""
    parts = [_verdict(results), wrapped(finding_lines(results))]
    nothing_asked = results.verdict.state == "nothing asked"
    parts += _tables(results) if nothing_asked else [wrapped(view.lines(results)) for view in views_of(results)]
    report = f"Report: {PurePath(results.run.folder) / 'report.html'}" if results.run.folder else ""
    parts += [_contrasts(results), _skipped(results), report]
    return "\n\n".join(part for part in parts if part) + "\n"


@cleaned
def render_brief(results: Results) -> str:
    """What is wrong and what to do, on one screen; `render_text` has all of it. A study answers its question in it; a
    run that asks no question about slow paths shows its tables, unless there is an answer and they fill a screen.
    """
    verdict = results.verdict
    measured = [*answers_of(results), *libraries_answer(results)]
    tables = _tables(results) if verdict.state == "nothing asked" else []
    numbers = wrapped([line for view in views_of(results) for line in view.table(results)]) if measured else ""
    if measured and sum(table.count("\n") + 1 for table in tables) > SCREEN:
        tables, measured = [], [*measured, "The tables: --full."]
    warnings = [line.text for line in verdict.lines if line.level == "warning"]
    notes = [
        *warnings,
        run_page.status_note(results.run),
        run_page.missing_note(results) if verdict.state != "not measured" else None,
        run_page.spread_note(results),
        "Imported: the times come from a log, not from Slowpath's engine." if results.run.imported else None,
        *(run_page.ignored_note(mpi) for mpi in results.run.mpis),
    ]
    report = str(PurePath(results.run.folder) / "report.html") if results.run.folder else None
    brief = Brief.of(verdict, report, notes=[note for note in notes if note], measured=measured)
    lines = "\n".join(line.translate(fmt.PLAIN) for line in brief.lines(WIDTH))
    return "\n\n".join(part for part in (*tables, "" if tables else numbers, lines) if part) + "\n"


@cleaned
def render_panel(results: Results) -> str:
    """The verdict, and the panel as a table."""
    return "\n".join([render_brief(results), *panel_lines(results.panel, results.no_reference)]) + "\n"


def _tables(results: Results) -> list[str]:
    """The studies' own tables, and a table of all cells whose experiments have none."""
    views = [(view.name, wrapped(view.lines(results))) for view in views_of(results)]
    shown = {view for view, lines in views if lines}
    covered = {experiment.name for experiment in EXPERIMENTS if shown & set(experiment.views)}
    return [*(lines for _, lines in views if lines), wrapped(cell_lines(results, without=covered))]


def wrap(words: str, first: str = "", rest: str | None = None) -> str:
    after = " " * len(first) if rest is None else rest
    lines = words.translate(fmt.PLAIN).splitlines() or [""]
    return textwrap.fill(" ".join(lines), WIDTH, initial_indent=first, subsequent_indent=after, break_long_words=False)


def _verdict(results: Results) -> str:
    verdict = results.verdict
    lines = [wrap(line) for line in (verdict.answer, *verdict.actions)]
    lines += [wrap(line) for line in (verdict.still_open, verdict.place, verdict.count) if line]
    lines += [wrap(", ".join(run_page.summary(results)))]
    notes = (
        run_page.status_note(results.run),
        run_page.spread_note(results),
        *(run_page.ignored_note(mpi) for mpi in results.run.mpis),
    )
    lines += [wrap(note) for note in notes if note]
    if results.run.imported:
        lines.append(wrap("Imported: the times come from a log, not from Slowpath's engine."))
    shown = [wrap(line.text, f"  {LEVELS[line.level]:<8} ") for line in verdict.lines]
    return "\n".join(lines + (["", *shown] if shown else []))


def wrapped(lines: list[str]) -> str:
    """Join lines, and wrap those that are too long to their own indentation."""
    return "\n".join(wrap(line.lstrip(), " " * (len(line) - len(line.lstrip()))) if len(line) > WIDTH
                     else line.translate(fmt.PLAIN) for line in lines)  # fmt: skip


def _contrasts(results: Results) -> str:
    contrasts = results.contrasts
    if not contrasts:
        return ""
    rows = [_row(contrast) for contrast in contrasts]
    head = ("verdict", "ratio", "interval", "b", "a", "b against a")
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(5)]
    lines = ["Contrasts, b against a (above 1: b is slower):", _line(head, widths)]
    for group, members in grouped(zip(contrasts, rows, strict=True), lambda entry: entry[0].group).items():
        asked = questions([contrast for contrast, _ in members])
        lines.append(wrap(asked[0] if len(asked) == 1 else group, "  "))
        lines += [_line(row, widths) for _, row in members]
    kinds = dict.fromkeys(c.interval_kind for c in contrasts if c.interval and c.interval_kind)
    if kinds:
        lines.append(wrap(f"Intervals: {', '.join(kinds)}.", "  "))
    lines += _without_interval(contrasts) + _remedies(contrasts)
    return "\n".join(lines)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    fixed = "  ".join(text.ljust(width) for text, width in zip(row[:5], widths, strict=True))
    return wrap(row[5], f"    {fixed}  ")


def _row(contrast: ContrastResult) -> tuple[str, ...]:
    ratio, interval = contrast.ratio, contrast.interval
    cells = (
        word(contrast),
        fmt.ratio(ratio, interval),
        fmt.ratio_interval(ratio, interval) or ("no interval" if ratio else "not measured"),
        fmt.time(contrast.b_value_s),
        fmt.time(contrast.a_value_s),
        ": ".join(part for part in (title(contrast), common(contrast)) if part),
    )
    return tuple(cell.translate(fmt.PLAIN) for cell in cells)


def _without_interval(contrasts: list[ContrastResult]) -> list[str]:
    """Return each reason for which comparisons have no interval or were not made."""
    without = dict.fromkeys(fmt.with_kind(None, c.interval_kind) for c in contrasts if c.ratio and not c.interval)
    missing = Counter(c.reason or "no reason was recorded" for c in contrasts if c.ratio is None)
    lines = [wrap(f"{why[0].upper()}{why[1:]}.", "  ") for why in without]
    return lines + [
        wrap(f"Not compared ({fmt.plural(count, 'contrast')}): {why}.", "  ") for why, count in missing.items()
    ]


def _remedies(contrasts: list[ContrastResult]) -> list[str]:
    """Return the distinct remedies of contrasts that found a difference."""
    lines = dict.fromkeys(c.remedy for c in contrasts if c.remedy and c.verdict in ("slower", "faster"))
    return ["", "Remedies to try:", *(f"  {line}" for line in lines)] if lines else []


def _skipped(results: Results) -> str:
    groups = run_page.skipped_groups(results)
    if not groups:
        return ""
    lines = ["Skipped and failed:"]
    for group in groups:
        log = f" ({group.log})" if group.log else ""
        lines.append(wrap(f"{group.label}: {group.reason}{log}", f"  {group.status:<8} "))
    return "\n".join(lines)


_MARKS = {"shown": "[x]", "missing": "[ ]", "refuted": "[!]"}
MOST_REMEDIES = 2  # in the text; the page has them all


def finding_lines(results: Results) -> list[str]:
    """Return the indented lines of all findings."""
    groups = grouped(results.findings, group_of)
    lines = ["Findings. To explain one: slowpath explain CODE"] if groups else []
    for group, heading in HEADINGS.items():
        lines += ["", f"{heading}:"] if group in groups else []
        lines += [line for finding in groups.get(group, ()) for line in block(finding, results)]
    return lines


def block(finding: Finding, results: Results | None = None) -> list[str]:
    """Return the indented lines of one finding, a blank one first.  Args: results: that counts are read from."""
    law, legs = finding.law, finding.legs.named()
    lines = [
        "",
        f"  {finding.rule} {finding.status}: {finding.title}",
        f"    {finding.text}",
        f"    Where: {finding.where}",
    ]
    lines.append("    " + "  ".join(f"{_MARKS.get(leg.state, '[ ]')} {name}" for name, leg in legs))
    lines += [f"    Law: {law.text}"] if law and law.name else []
    if finding.cause:
        lines.append(f"    Cause: {finding.cause}")
    lines += [line for name, leg in legs for line in _leg(name, leg)]
    lines += [f"    Doubt: {doubt}" for doubt in finding.doubts]
    # The page has all counts.
    lines += [f"    Counted, {side}: {words}" for side, words, has_calls in counted_of(finding, results) if has_calls]
    return lines + [line for remedy in finding.remedies[:MOST_REMEDIES] for line in _remedy(remedy)]


def _leg(name: str, leg: Leg) -> list[str]:
    """Return why a leg is missing or refuted, or the evidence of an explained or proven one."""
    if leg.state != "shown":
        return [f"    Not {name}: {leg.text}"]
    return [] if name == "observed" else [f"    {name.capitalize()}: {line}" for line in leg.evidence[:2]]


def _remedy(remedy: RemedyResult) -> list[str]:
    share, lines, effects = removed_words(remedy), copied(remedy), side_effects(remedy)
    first = next((line.text for line in lines if line.label == "shell"), lines[0].text if lines else "")
    head = f"    Remedy ({remedy.verdict}{f', removes {share}' if share else ''}): {remedy.text}"
    watch = [f"      To watch: {'; '.join(effects)}."] if effects else []
    return [head, *(f"      {line}" for line in first.splitlines()), *watch]
