# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as its page shows it: cards, what remedies removed, the steps on one axis of time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.core.results import ContrastResult, ContrastSide, Finding, Results
from slowpath.diagnose.limits.variables import limits_of
from slowpath.diagnose.page.words import leg_words, limit_words
from slowpath.diagnose.records import Diagnosis, DiagnosisStep, survey_step
from slowpath.diagnose.tasks import TrialTask
from slowpath.diagnose.trials.fast_side import EFFECT, FAST
from slowpath.report import format as fmt
from slowpath.report import view_findings, view_run
from slowpath.report.cards.sides import side_of
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.svg import marks
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.scale import LinearScale
from slowpath.report.svg.sides import Kind
from slowpath.report.view_findings import FindingView, PictureSources, TrialView

HEIGHT = 20


def steps_scale(whole_s: float) -> LinearScale:
    """Return the axis from the first step's start to the last step's end."""
    return LinearScale(0.0, max(whole_s, 1e-3), 0.0, 100.0)


def steps_axis(scale: LinearScale, grid: str) -> Markup:
    """Return tick labels, and the lines that the tracks use, under the id `grid`."""
    lines, labels = marks.linear_ticks(scale, lambda tick: fmt.duration(tick) if tick else "0", height=HEIGHT)
    content = marks.defined(grid, lines) + marks.axis_title("time since the diagnosis began") + labels
    return picture(
        content, "Time axis", f"Linear, from 0 to {fmt.duration(scale.high)}.", height=marks.AXIS_HEIGHT, class_="axis"
    )


def step_track(name: str, begin_s: float, wall_s: float, kind: str, scale: LinearScale, grid: str) -> Markup:
    """Return a step.  Args: kind: kind of the step, which gives the colour."""
    low, high = scale(begin_s), scale(begin_s + wall_s)
    content = marks.used(grid) + element("rect", x=marks.percent(low), width=marks.percent(max(0.5, high - low)), y=4,
                                         height=HEIGHT - 8, rx=2, class_=f"step {kind}")  # fmt: skip
    return picture(content, name, fmt.duration(wall_s), height=HEIGHT, class_="track")


SCALE = LinearScale(-0.3, 1.3, 0.0, 100.0)
_TICKS = (0.0, 0.5, 1.0)
TITLE = "share of the gap that the remedy removed"


def removed_axis(grid: str) -> Markup:
    """Return tick labels, and the lines that the tracks use, under the id `grid`."""
    places = [(marks.percent(SCALE(tick)), fmt.percent(tick, 0)) for tick in _TICKS]
    lines = "".join(element("line", x1=x, x2=x, y1=0, y2=marks.TRACK_HEIGHT, class_="grid") for x, _ in places)
    labels = "".join(text(words, x, 31, "middle", "tick") for x, words in places)
    content = marks.defined(grid, lines) + marks.axis_title(TITLE) + labels
    return picture(
        content, "Axis of shares", "Linear, from 0 to 100 % of the gap.", height=marks.AXIS_HEIGHT, class_="axis"
    )


def removed_track(name: str, value: float | None, interval: Interval | None, verdict: str, grid: str) -> Markup:
    """Return a bar of the removed share with its interval, or no bar if it is unknown."""
    if value is None:
        words = "The removed share is unknown."
        return picture(marks.used(grid), f"{name}: {verdict}", words, height=marks.TRACK_HEIGHT, class_="track")
    start, end = SCALE(0.0), SCALE(value)
    low, width = marks.percent(min(start, end)), marks.percent(max(0.4, abs(end - start)))
    content = marks.used(grid) + element("rect", x=low, y=9, height=12, width=width, class_=f"share {verdict}")
    if interval:
        content += marks.bar(SCALE(interval[0]), SCALE(interval[1]), "spread-line")
    words = f"Removes {fmt.percent(value, 0)} of the gap"
    return picture(content, f"{name}: {verdict}", words, height=marks.TRACK_HEIGHT, class_="track")


def trials_of(finding: Finding, steps: Sequence[DiagnosisStep], runs: Mapping[str, Results]) -> list[TrialView]:
    """A picture's rows for each remedy that was tried, in the order in which the finding lists them; of a remedy that
    was tried twice, the last trial."""
    found: dict[str, TrialView] = {}
    verdicts = {remedy.name: remedy.verdict for remedy in finding.remedies}
    for step in steps:
        task, results = step.task, runs.get(step.folder)
        if isinstance(task, TrialTask) and task.finding == finding.id and results is not None:
            made = _trial(task, results, verdicts.get(task.remedy, "not tried"))
            found |= {task.remedy: made} if made else {}
    return [found[remedy.name] for remedy in finding.remedies if remedy.name in found]


def _trial(task: TrialTask, results: Results, verdict: str) -> TrialView | None:
    """None where the trial has no pairs."""
    cells = {cell.cell: cell for cell in results.cells}
    effect, fast = _named(results, EFFECT), _named(results, FAST)
    if effect is None:
        return None
    ends: list[tuple[CellResult | None, str, Kind]] = [
        (cells.get(effect.b.cell), "as it is", "slow"),
        (cells.get(effect.a.cell), "with the remedy", "remedy"),
    ]
    rows = [side_of(cell, effect.metric, task.phase, label, kind) for cell, label, kind in ends if cell is not None]
    if fast is not None:
        there: list[tuple[ContrastSide, str]] = [(fast.b, "the fast side")]
        there += [(fast.a, "the fast side with it")] if task.fast_side == "toggled" else []
        rows += [
            side_of(cells[side.cell], fast.metric, side.phase, label, "fast")
            for side, label in there
            if side.cell in cells
        ]
    shown = tuple(row for row in rows if row is not None)
    return TrialView(task.remedy, verdict, effect.metric, shown) if len(shown) > 1 else None


def _named(results: Results, group: str) -> ContrastResult | None:
    return next((contrast for contrast in results.contrasts if contrast.group == group), None)


Runs = Mapping[str, Results]  # folder of a step -> its results
_KEPT = {"keeps": "same", "loses": "slower", "undecided": "undecided"}
STATUS = {
    "settled": "settled: more measuring would decide nothing",
    "named": "named, but nothing tried; continue with slowpath diagnose --resume",
    "budget": "stopped at the budget; continue with slowpath diagnose --resume",
    "interrupted": "interrupted; slowpath diagnose --resume goes on",
    "running": "not finished",
}


@dataclass(frozen=True, slots=True)
class StepView:
    """One step: a link to its report, its bar, and what it asked and found."""

    folder: str
    track: str
    wall: str
    why: str
    summary: str


def cards(diagnosis: Diagnosis, runs: Runs) -> list[FindingView]:
    """A card for each finding; the text of a missing leg is that of a diagnosis."""
    step = survey_step(diagnosis)
    survey = step.folder if step else ""

    def measured(finding: Finding) -> PictureSources:
        return PictureSources(runs.get(finding.run or survey), trials_of(finding, diagnosis.steps, runs))

    def limits(finding: Finding) -> list[str]:
        return [limit_words(one) for one in limits_of(finding)]

    found = [_with_words(finding, diagnosis.status) for finding in diagnosis.findings]
    return view_findings.cards(found, measured, limits)


def _with_words(finding: Finding, status: str) -> Finding:
    return view_findings.with_proven(finding, leg_words(finding.legs.proven, status))


def headline(diagnosis: Diagnosis) -> str:
    """Return whether something is wrong, by the judge of every run."""
    return diagnosis.verdict.answer if diagnosis.verdict else f"Diagnosis of {diagnosis.mpi or 'an MPI'}"


def place(diagnosis: Diagnosis, survey: Results | None) -> list[str]:
    """Where, when, and whether it is over."""
    where = view_run.place(survey) if survey else [diagnosis.mpi or "an MPI", view_run.date(diagnosis.started) or ""]
    return [*filter(None, where), STATUS[diagnosis.status]]


def numbers(diagnosis: Diagnosis) -> list[view_run.Number]:
    """The few numbers under the headline."""
    verdict, words = diagnosis.verdict, ("proven", "explained")
    counts = [(word, sum(finding.status == word for finding in diagnosis.findings)) for word in words]
    spent = f"{fmt.duration(diagnosis.spent_s)} of {fmt.duration(diagnosis.budget_s)}"
    return [
        *(view_run.counted(verdict) if verdict else ()),
        *((str(count), word) for word, count in counts),
        (spent, f"spent in {fmt.plural(len(diagnosis.steps), 'step')}"),
    ]


def tried(diagnosis: Diagnosis) -> Figure | None:
    """What each remedy that was tried removed of its gap."""
    rows, table, grid = [], [], "removed-grid"
    for finding in diagnosis.findings:
        for remedy in finding.remedies:
            if remedy.verdict == "not tried":
                continue
            share, name = remedy.removed_ratio, f"{remedy.name} ({finding.rule})"
            words = fmt.percent(share.value, 0) if share else remedy.verdict
            value, interval = (share.value, share.interval) if share else (None, None)
            track = removed_track(name, value, interval, remedy.verdict, grid)
            rows.append(TrackRow(name, 0, track, words, remedy.verdict if share else ""))
            ends = _ends(interval)
            table.append([name, words, ends, remedy.reason])
    if not rows:
        return None
    head = ["Remedy", "Removed", "Interval", "Why"]
    return Figure("What each remedy removed", "", FigureTable(head, table), axis=removed_axis(grid), rows=rows)


def _ends(interval: Interval | None) -> str:
    return f"[{', '.join(fmt.percent(end, 0) for end in interval)}]" if interval else f"{fmt.MISSING} not measured"


def steps(diagnosis: Diagnosis) -> tuple[str, list[StepView]]:
    """The axis, and a row for each step."""
    walls = [step.wall_s or 0.0 for step in diagnosis.steps]
    scale, grid, begin_s, rows = steps_scale(sum(walls)), "steps-grid", 0.0, []
    for step, wall_s in zip(diagnosis.steps, walls, strict=True):
        track = step_track(step.folder, begin_s, wall_s, step.task.kind, scale, grid)
        rows.append(StepView(step.folder, track, _wall(step), step.why, step.summary or ""))
        begin_s += wall_s
    return steps_axis(scale, grid), rows


def _wall(step: DiagnosisStep) -> str:
    return "not finished" if step.wall_s is None else fmt.duration(step.wall_s)
