# SPDX-License-Identifier: Apache-2.0
"""The times of trials, out of their runs: the slow cell as it is and with the remedy, the fast side likewise. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, ContrastSide, Finding, Results
from slowpath.diagnose.records import DiagnosisStep
from slowpath.diagnose.tasks import TrialTask
from slowpath.diagnose.trials.fast_side import EFFECT, FAST
from slowpath.report.cards.sides import side_of
from slowpath.report.svg.sides import Kind
from slowpath.report.view_findings import TrialView


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
