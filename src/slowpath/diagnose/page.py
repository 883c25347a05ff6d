# SPDX-License-Identifier: Apache-2.0
"""What is derived from the folder of a diagnosis: its text, its page and the files of its steps."""

from __future__ import annotations

import contextlib
import csv
import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.analyse.source import read_results
from slowpath.core.errors import RecordError
from slowpath.core.files import inside, step_folders, write_atomically
from slowpath.core.finding_results import LimitBracket
from slowpath.core.guard import cleaned, text
from slowpath.core.results import Brief, ContrastResult, Finding, Leg, Results, Verdict
from slowpath.core.units import format_bytes, plural
from slowpath.diagnose.tasks import (
    AlternativesOutcome,
    Diagnosis,
    DiagnosisStep,
    Status,
    TrialTask,
    program_line,
    program_words,
    read_diagnosis,
    survey_step,
)
from slowpath.diagnose.trials import EFFECT, FAST
from slowpath.findings.conclude import kinds_words
from slowpath.report import format as fmt
from slowpath.report.cards import Sources, Trial, findings_section, side_row, with_proven
from slowpath.report.figure import (
    Axis,
    Block,
    Copied,
    Facts,
    Fold,
    Heading,
    Items,
    Mark,
    Page,
    Row,
    Rows,
    Section,
    numbers,
)
from slowpath.report.page import render as render_page
from slowpath.report.panel import panel_lines, panel_section
from slowpath.report.run_page import command_line, counted, environment_section, place
from slowpath.report.terminal import block, wrapped
from slowpath.report.write import rebuild as rebuild_run

# Words that log, text and page of a diagnosis share.


def limit_words(limit: LimitBracket) -> str:
    """`message_bytes: limit between 8 KiB and 12 KiB`."""
    name = limit.covariate
    low, high = (_value(name, bound) for bound in (limit.above, limit.up_to))
    exact = limit.up_to - limit.above <= 1
    return f"{name}: limit {f'exactly at {low}' if exact else f'between {low} and {high}'}"


def _value(name: str, value: float) -> str:
    return format_bytes(int(value)) if name.endswith(("_bytes", "length")) else f"{value:.12g}"


def leg_words(leg: Leg, status: str) -> str:
    """A leg's text, in a diagnosis of this status: one without a trial gives the reason."""
    if not leg.untried:
        return leg.text
    return "no trial can remove it" if status == "settled" else "not tried; continue with slowpath diagnose --resume"


def _findings(diagnosis: Diagnosis) -> list[Finding]:
    return [with_proven(finding, leg_words(finding.legs.proven, diagnosis.status)) for finding in diagnosis.findings]


# A diagnosis in words, for a terminal. Pure: diagnosis in, text out.

_STATUS: Mapping[Status, str] = {
    "settled": "complete",
    "named": "remedies not tried",
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
        open_ways.append(f"{steps} left; run slowpath diagnose --resume {folder} --budget 5m.")
    if diagnosis.launches_left_out:
        left_out = plural(diagnosis.launches_left_out, "launch")  # the budget was over, or launches took too long
        open_ways.append(f"The survey ended {left_out} short: allow a longer --budget.")
    if diagnosis.program is not None:
        open_ways.insert(0, f"Only calls that {program_words(diagnosis.program)} makes were measured.")
    brief = Brief.of(verdict, f"{folder}/report.html", open_ways)
    return "\n".join(brief.lines(width)) + "\n"


@cleaned
def render_panel(diagnosis: Diagnosis, folder: str, width: int = 100) -> str:
    """The verdict, and the panel as a table."""
    lines = panel_lines(diagnosis.panel, diagnosis.no_reference)
    return "\n".join([render_brief(diagnosis, folder, width), *lines]) + "\n"


@cleaned
def render(diagnosis: Diagnosis, folder: str, width: int = 100) -> str:
    """The whole text."""
    return "\n".join(_lines(diagnosis, folder, width)) + "\n"


def _lines(diagnosis: Diagnosis, folder: str, width: int) -> Iterator[str]:
    verdict = diagnosis.verdict
    if verdict is not None:
        for line in (verdict.answer, *verdict.actions, verdict.still_open, verdict.place, verdict.count):
            yield from _wrapped(line, width, "") if line else ()
    else:
        yield f"Diagnosis of {diagnosis.mpi}"
    if diagnosis.program is not None:
        yield from _wrapped(program_line(diagnosis.program), width, "")
    if diagnosis.only:
        yield from _wrapped(f"asked for: {', '.join(diagnosis.only)}", width, "")
    for finding in _findings(diagnosis):
        yield wrapped(block(finding))
    yield ""
    if diagnosis.alternatives:
        yield from [*_alternatives(diagnosis.alternatives, width), ""]
    yield from _titled("Your settings", diagnosis.own_settings, width)
    yield from _titled("Paths", diagnosis.paths, width)
    yield "Steps"
    for step in diagnosis.steps:
        wall = "not finished" if step.wall_s is None else f"{step.wall_s:.0f} s"
        yield from _wrapped(f"{step.folder} ({wall}): {step.why}", width, "  ")
        if step.summary:
            yield from _wrapped(f"-> {step.summary}", width, "     ")
    for left in diagnosis.not_tried:
        yield from _wrapped(f"not tried: {left.remedy} against {left.rule}: {left.why}", width, "  ")
    yield ""
    yield f"{diagnosis.spent_s:.0f} s of {diagnosis.budget_s:.0f} s; {_STATUS[diagnosis.status]}"
    for line in diagnosis.next[:5]:
        yield from _wrapped(f"next: {line}", width, "  ")
    yield f"folder: {folder}"


def _alternatives(outcome: AlternativesOutcome, width: int) -> Iterator[str]:
    yield f"Library defaults: {outcome.rows} alternatives measured"
    for name, gains in outcome.suspects.items():
        shown = ", ".join(f"{cell} {ratio:.2f}x" for cell, ratio in gains.items())
        yield from _wrapped(f"looked faster: {name}: {shown}", width, "  ")
    for name, reason in outcome.failed.items():
        yield from _wrapped(f"failed: {name}: {reason}", width, "  ")
    if outcome.slower:
        yield from _wrapped(f"slower in a cell: {', '.join(outcome.slower)}", width, "  ")


def _titled(title: str, lines: Sequence[str], width: int) -> Iterator[str]:
    if lines:
        yield title
        for line in lines:
            yield from _wrapped(line, width, "  ")
        yield ""


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ") or [""]


Runs = Mapping[str, Results]  # folder of a step -> its results
_TRIALS_LEAD = "A remedy is proven if it removes half of the gap and the control does not change."


def page(diagnosis: Diagnosis, runs: Runs) -> str:
    """Return the whole page.  Args: runs: results of its steps, if available; pictures of others are left out."""
    step, verdict = survey_step(diagnosis), diagnosis.verdict
    headline = verdict.answer if verdict else f"Diagnosis of {diagnosis.mpi or 'an MPI'}"
    return render_page(
        Page(
            f"Slowpath diagnosis: {headline}",
            "Diagnosis",
            headline,
            f"Slowpath {diagnosis.slowpath}",
            sections_of(diagnosis, runs),
            actions=verdict.actions if verdict else (),
            warnings=[verdict.still_open] if verdict and verdict.still_open else (),
            place=_place(diagnosis, runs.get(step.folder) if step else None),
            numbers=_numbers(diagnosis),
        )
    )


def sections_of(diagnosis: Diagnosis, runs: Runs) -> list[Section]:
    """Return the sections of the page."""
    step = survey_step(diagnosis)
    survey = runs.get(step.folder) if step else None

    def sources(finding: Finding) -> Sources:
        results = runs.get(finding.run or (step.folder if step else ""))
        limits = [limit_words(limit) for limit in (finding.law.brackets if finding.law else ())]
        return Sources(results, trials_of(finding, diagnosis.steps, runs), limits)

    return [
        *panel_section(diagnosis.panel, diagnosis.no_reference),
        *findings_section(kinds_words(diagnosis.findings), _findings(diagnosis), sources),
        *_trials_section(diagnosis),
        _steps_section(diagnosis),
        _environment_section(diagnosis, survey),
    ]


def _place(diagnosis: Diagnosis, survey: Results | None) -> list[str]:
    where = place(survey) if survey else [diagnosis.mpi or "an MPI", fmt.date(diagnosis.started) or ""]
    return [*filter(None, where), _STATUS[diagnosis.status]]


def _numbers(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    counts = [
        (str(sum(finding.status == word for finding in diagnosis.findings)), word) for word in ("proven", "explained")
    ]
    spent = f"{fmt.duration(diagnosis.spent_s)} of {fmt.duration(diagnosis.budget_s)}"
    steps = (spent, f"spent in {fmt.plural(len(diagnosis.steps), 'step')}")
    return [*(counted(diagnosis.verdict) if diagnosis.verdict else ()), *counts, steps]


def trials_of(finding: Finding, steps: Sequence[DiagnosisStep], runs: Runs) -> list[Trial]:
    """Return a picture's rows for each remedy that was tried, in the order in which the finding lists them; of a remedy
    that was tried twice, the last trial.
    """
    trials: dict[str, Trial] = {}
    verdicts = {remedy.name: remedy.verdict for remedy in finding.remedies}
    for step in steps:
        task, results = step.task, runs.get(step.folder)
        if isinstance(task, TrialTask) and task.finding == finding.id and results is not None:
            rows, metric = _trial_rows(task, results)
            if len(rows) > 1:
                verdict = verdicts.get(task.remedy, "not tried")
                trials[task.remedy] = Trial(task.remedy, verdict, metric, rows)
    return [trials[remedy.name] for remedy in finding.remedies if remedy.name in trials]


def _trial_rows(task: TrialTask, results: Results) -> tuple[list[Row], str]:
    cells = {cell.cell: cell for cell in results.cells}
    effect, fast = _named(results, EFFECT), _named(results, FAST)
    if effect is None:
        return [], ""
    sides = [(effect.b.cell, effect.metric, task.phase, "as it is", "slow"),
             (effect.a.cell, effect.metric, task.phase, "with the remedy", "remedy")]  # fmt: skip
    if fast is not None:
        sides.append((fast.b.cell, fast.metric, fast.b.phase, "the fast side", "fast"))
        if task.fast_side == "toggled":
            sides.append((fast.a.cell, fast.metric, fast.a.phase, "the fast side with it", "fast"))
    rows = [side_row(cells[cell], metric, phase, label, style)
            for cell, metric, phase, label, style in sides if cell in cells]  # fmt: skip
    return [row for row in rows if row], effect.metric


def _named(results: Results, group: str) -> ContrastResult | None:
    return next((contrast for contrast in results.contrasts if contrast.group == group), None)


def _trials_section(diagnosis: Diagnosis) -> list[Section]:
    rows, table = [], []
    for finding in diagnosis.findings:
        for remedy in finding.remedies:
            if remedy.verdict == "not tried":
                continue
            share, name = remedy.removed_ratio, f"{remedy.name} ({finding.rule})"
            shown: str = remedy.verdict
            marks, ends = list[Mark](), f"{fmt.MISSING} not measured"
            if share is not None:
                shown = fmt.percent(share.value, 0)
                style = {"proven": "remedy", "worse": "slower"}.get(remedy.verdict, "undecided")
                marks.append(Mark("bar", style, (0, share.value)))
                if share.interval:
                    marks.append(Mark("line", "plain", share.interval))
                    ends = f"[{', '.join(fmt.percent(end, 0) for end in share.interval)}]"
            rows.append(Row(name, marks, shown, remedy.verdict if share else "", words=f"{remedy.verdict}, {shown}"))
            table.append([name, shown, ends, remedy.reason])
    if not rows:
        return []
    axis = Axis("share of the gap that the remedy removed", "%", log=False, ends=(-0.3, 1.3), ticks=(0.0, 0.5, 1.0))
    figure = Rows("What each remedy removed", "", axis, rows, numbers(["Remedy", "Removed", "Interval", "Why"], table))
    return [Section("trials", "Trials", "Trials", [figure], _TRIALS_LEAD, folded=True)]


def _steps_section(diagnosis: Diagnosis) -> Section:
    begin_s, rows, asked = 0.0, [], []
    for step in diagnosis.steps:
        wall_s = step.wall_s or 0.0
        wall = "not finished" if step.wall_s is None else fmt.duration(step.wall_s)
        mark = Mark("bar", _STEPS.get(step.task.kind, "s6"), (begin_s, begin_s + wall_s))
        rows.append(Row(step.folder, [mark], wall, href=f"{step.folder}/report.html"))
        asked.append((step.folder, [step.why, step.summary] if step.summary else step.why))
        begin_s += wall_s
    axis = Axis("time since the diagnosis began", "wall", log=False, ends=(0.0, max(begin_s, 1e-3)))
    blocks: list[Block] = [Rows("", "", axis, rows, narrow=True, height=20)]
    blocks.append(Fold("Questions and results", [Facts(asked)]))
    blocks += [Heading("Next"), Items(diagnosis.next)] if diagnosis.next else []
    return Section("steps", "Steps", "Steps", blocks, folded=True)


_STEPS = {"survey": "s1", "trial": "s3", "witness": "s5", "path": "s5"}


def _environment_section(diagnosis: Diagnosis, survey: Results | None) -> Section:
    before: list[Block] = []
    for title, lines in (("Paths", diagnosis.paths), ("Your settings", diagnosis.own_settings)):
        before += [Heading(title), Items(lines)] if lines else []
    command = command_line(diagnosis.command or [])
    after = [Copied(command, "The whole diagnosis:")] if command else []
    return environment_section(survey, after, before)


def write_derived(folder: Path, diagnosis: Diagnosis) -> None:
    """report.txt and report.html.  Raises: EnvironmentFailure when the disk refuses."""
    write_atomically(folder / "report.txt", render(diagnosis, str(folder)))
    write_atomically(folder / "report.html", page(diagnosis, _runs(folder, diagnosis)))


def _runs(folder: Path, diagnosis: Diagnosis) -> dict[str, Results]:
    shown = {finding.run for finding in diagnosis.findings}
    wanted = [step for step in diagnosis.steps if step.number == 1 or step.task.kind == "trial" or step.folder in shown]
    by_folder = {step.folder: _results(inside(folder, step.folder)) for step in wanted}
    return {name: results for name, results in by_folder.items() if results is not None}


def _results(folder: Path) -> Results | None:
    with contextlib.suppress(RecordError):
        return read_results(folder / "results.json")
    try:
        return build_results(folder)
    except RecordError:
        return None


def rebuild(folder: Path) -> tuple[Diagnosis, list[Results]]:
    """Write the derived files of each step, and report.txt and report.html of the whole.

    Returns: the diagnosis as its last step left it, and the results of its steps.
    Raises:  RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    diagnosis = read_diagnosis(folder)
    results = [rebuild_run(step) for step in step_folders(folder)]
    write_derived(folder, diagnosis)
    return diagnosis, results


def contrasts_csv(folder: Path) -> str:
    """contrasts.csv of all steps in one table, the step's folder in the first column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for number, step in enumerate(step_folders(folder)):
        head, *rows = csv.reader(io.StringIO((step / "contrasts.csv").read_text(encoding="utf-8"), newline=""))
        if number == 0:
            writer.writerow(["step", *head])
        writer.writerows([text(step.name), *row] for row in rows)
    return out.getvalue()
