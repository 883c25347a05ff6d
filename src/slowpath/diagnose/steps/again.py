# SPDX-License-Identifier: Apache-2.0
"""Steps that measure again: more pairs, more launches, one factor alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, Results
from slowpath.diagnose.sides import condition, environments_of, placements_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind, judged
from slowpath.diagnose.tasks import RepeatTask
from slowpath.findings.conclude import kinds_words

# Repeat: a contrast of the survey that looks clear and is not decided is measured in more rounds.

ROUNDS = 12
MOST_REPEATS = 4
APART_RATIO = 1.25  # of an undecided contrast that is worth more pairs


def propose_repeat(state: State) -> Iterator[Proposal]:
    """Contrasts that look clear and are not decided yet, the largest first."""
    made = state.tasks(RepeatTask)
    done = {task.contrast for task in made}
    if len(made) >= MOST_REPEATS:
        return
    for contrast in sorted(state.survey.contrasts, key=_apart, reverse=True):
        if contrast.id in done or contrast.axis == "phase" or not _is_open(contrast) or _is_harmless(contrast):
            continue
        if not state.asked.wants_contrast(contrast, state.survey):
            continue
        why = f"'{contrast.group}' is undecided at {contrast.ratio:.2f}x: more pairs"
        task = RepeatTask(contrast=contrast.id, sides=[contrast.a.value, contrast.b.value])
        yield Proposal(task, repeat_campaign(contrast, state.survey, state.ranks, why), why)


def apply_repeat(before: StepConclusion, _: RepeatTask, results: Results, history: StepHistory) -> StepConclusion:
    """What more pairs decided is a finding that the survey could not see."""
    known = {finding.id for finding in before.findings}
    fresh = [one for one in judged(results, history) if one.id not in known]
    return before.with_findings([replace(one, run=history.step.folder) for one in fresh])


def summary_repeat(_: RepeatTask, before: StepConclusion, after: StepConclusion) -> str:
    """`also 1 fault (SP009)`."""
    fresh = kinds_words(after.findings[len(before.findings) :])
    return f"also {fresh}" if fresh else "nothing more"


REPEAT = StepKind(RepeatTask, apply_repeat, summary_repeat)


def _is_open(contrast: ContrastResult) -> bool:
    return contrast.verdict == "undecided" and not contrast.control and _apart(contrast) > APART_RATIO


def _is_harmless(contrast: ContrastResult) -> bool:
    """Whether it looks as if other calls took longer than the library's own collective, as they may."""
    return contrast.axis == "way" and contrast.ratio is not None and contrast.ratio < 1


def _apart(contrast: ContrastResult) -> float:
    """How many times as long the slower side takes."""
    return max(contrast.ratio, 1 / contrast.ratio) if contrast.ratio else 0.0


def repeat_campaign(contrast: ContrastResult, results: Results, ranks: int, why: str) -> Campaign:
    """The two cells of a contrast in more rounds."""
    a, b = results.cell(contrast.a.cell), results.cell(contrast.b.cell)
    axis, values = contrast.axis, [_value(cell, contrast.axis) for cell in (a, b)]
    under = [condition(cell, results) for cell in (a, b)]
    parameters: dict[str, Values] = dict(a.parameters)
    if axis in parameters:
        parameters[axis] = values
    group = CellsTable(
        contrast.group,
        a.experiment,
        parameters,
        list(dict.fromkeys(one.environment for one in under)),
        list(dict.fromkeys(one.placement for one in under)),
    )
    repeated = ContrastTable(
        name=contrast.group,
        question=contrast.question,
        cells=contrast.group,
        axis=axis,
        a=values[0],
        b=values[1],
        metric=contrast.metric,
        phase=contrast.a.phase,
    )
    return Campaign(
        name="repeat",
        title=f"Again: {contrast.group}"[:80],
        ranks=[ranks],
        rounds=ROUNDS,
        environments=environments_of(under),
        placements=placements_of(under),
        cells=[group],
        contrasts=[repeated],
        minimum_effect=contrast.minimum_effect,
        why=why,
    )


def _value(cell: CellResult, axis: str) -> str:
    own = {"environment": cell.environment, "placement": cell.placement, "copy": str(cell.copy)}
    return own[axis] if axis in own else cell.parameters[axis]
