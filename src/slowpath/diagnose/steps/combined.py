# SPDX-License-Identifier: Apache-2.0
"""Combined: remedies that were proven one by one are measured all at once; the last step.

A finding *keeps* when its cell is as fast with all remedies as with its own alone, or faster; it *loses* when it is
slower; else it is undecided. Lines to copy are given for the combination that was measured, and only where none loses.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import ContrastResult, Results, SideEffect
from slowpath.core.units import format_time, ratio_words
from slowpath.diagnose.combined.compatible import JOB_AXES
from slowpath.diagnose.combined.design import ALONE, contrast_name, design
from slowpath.diagnose.records import CombinedFinding, CombinedOutcome
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import CombinedCase, CombinedTask
from slowpath.diagnose.trials.design import SIDE
from slowpath.diagnose.trials.verdict import FEWEST_PAIRS
from slowpath.stats.contrast import paired
from slowpath.stats.inputs import Floats
from slowpath.stats.verdict import judge

Pairs = Sequence[tuple[float, float]]
Contrasts = Mapping[str, Sequence[ContrastResult]]  # by their group
_WORD: Mapping[str, Literal["keeps", "loses"]] = {"same": "keeps", "faster": "keeps", "slower": "loses"}


def judge_combined(task: CombinedTask, results: Results, folder: str) -> CombinedOutcome:
    """The outcome.  Args: results: of the task's run, which lies in `folder` of the diagnosis."""
    contrasts: dict[str, list[ContrastResult]] = defaultdict(list)
    for contrast in results.contrasts:
        contrasts[contrast.group].append(contrast)
    findings = [_finding(number, case, contrasts) for number, case in enumerate(task.cases, start=1)]
    reason = _why_not(findings)
    return CombinedOutcome(
        folder=folder,
        job=task.job,
        findings=findings,
        side_effects=_side_effects(contrasts),
        left_out=task.left_out,
        snippet=task.snippet if reason is None else None,
        reason=reason,
    )


def _finding(number: int, case: CombinedCase, contrasts: Contrasts) -> CombinedFinding:
    alone = contrasts.get(contrast_name(number, ALONE), ())
    links = [contrasts.get(contrast_name(number, link), ()) for link in case.links]
    times_s = _times(alone, links)
    if times_s is None:
        why = next((one.reason for found in (alone, *links) for one in found if one.reason), None)
        text = f"the run gave no pairs: {why or 'nothing was measured'}"
        return CombinedFinding(
            finding=case.finding, rule=case.rule, remedy=case.remedy, others=case.others, verdict="undecided", text=text
        )
    found = paired(times_s[:, 1], times_s[:, 2], alone[0].minimum_effect)
    decided = len(times_s) >= FEWEST_PAIRS
    as_it_is_s, alone_s, combined_s = (float(value) for value in np.median(times_s, axis=0))
    made = CombinedFinding(
        finding=case.finding,
        rule=case.rule,
        remedy=case.remedy,
        others=case.others,
        verdict=_WORD.get(judge(found, found.p).word, "undecided") if decided else "undecided",
        text="",
        ratio=found.ratio,
        interval=found.interval,
        pairs=len(times_s),
        as_it_is_s=as_it_is_s,
        alone_s=alone_s,
        combined_s=combined_s,
    )
    return replace(made, text=_text(made))


def _text(one: CombinedFinding) -> str:
    times = ", ".join(format_time(value or 0.0) for value in (one.as_it_is_s, one.alone_s, one.combined_s))
    others = ", ".join(f"'{name}'" for name in one.others)
    ratio = ratio_words(one.ratio or 0.0, one.interval)
    return (
        f"'{one.remedy}' with {others}: {ratio} the time with it alone, {one.pairs} pairs; times unchanged, alone "
        f"and combined: {times}"
    )


def _times(alone: Sequence[ContrastResult], links: Sequence[Sequence[ContrastResult]]) -> Floats | None:
    """Shape (pairs, 3), seconds: as it is, alone, combined; of each side's copies in a round the faster one counts.

    None: not measured. Where a copy lacks a round the first copy stands alone.
    """
    copies = []
    for gap in alone:
        moved = _along(gap.a.cell, links)
        rows = [(b, a, c) for a, b, c in _joined(gap.pairs, moved)]
        if rows:
            copies.append(np.array(rows, dtype=np.float64))
    if not copies:
        return None
    least: Floats = np.minimum.reduce(copies) if len({copy.shape for copy in copies}) == 1 else copies[0]
    return least


def _along(cell: int, links: Sequence[Sequence[ContrastResult]]) -> Pairs:
    """Pairs of a cell and the one at the end of the links, which lead from a cell to the next one."""
    pairs: Pairs | None = None
    for contrasts in links:
        link = next((contrast for contrast in contrasts if contrast.a.cell == cell), None)
        if link is None:
            return []
        here = link.pairs
        pairs = here if pairs is None else [(a, c) for b, a, c in _joined([(b, a) for a, b in pairs], here)]
        cell = link.b.cell
    return pairs or []


def _joined(first: Pairs, second: Pairs) -> list[tuple[float, float, float]]:
    """(common, one, other) of pairs (common, one) and (common, other): the common cell's time tells the round."""
    waiting: dict[float, deque[float]] = defaultdict(deque)
    for common, other in second:
        waiting[common].append(other)
    return [(common, one, waiting[common].popleft()) for common, one in first if waiting[common]]


def _side_effects(contrasts: Contrasts) -> list[SideEffect]:
    """Cells that all remedies at once made slower than they were without any."""
    links = [found for link in JOB_AXES if (found := contrasts.get(f"{SIDE}: {link}"))]
    effects = []
    for start in links[0] if links else ():
        pairs = _along(start.a.cell, links)
        if not pairs:
            continue
        change = paired([a for a, _ in pairs], [b for _, b in pairs], start.minimum_effect)
        if judge(change, change.p).word == "slower":
            effects.append(
                SideEffect(where=start.where, ratio=change.ratio, interval=change.interval, verdict="slower")
            )
    return effects


def _why_not(findings: Sequence[CombinedFinding]) -> str | None:
    """Why the combination is not recommended; None: it is."""
    losing = [finding.rule for finding in findings if finding.verdict == "loses"]
    if losing:
        return f"{', '.join(losing)} would lose; set only the most useful remedies"
    if not any(finding.verdict == "keeps" for finding in findings):
        return "it is undecided for every finding whether the gain remains; measure more rounds"
    return None


def propose(state: State) -> Iterator[Proposal]:
    """Once for each set of cells and remedies that meet in them."""
    made = design(state)
    if made is None:
        return
    task, campaign = made
    if task.cases not in [done.cases for done in state.tasks(CombinedTask)]:
        yield Proposal(task, campaign, "proven remedies combined: does each still help?")


def apply(before: StepConclusion, task: CombinedTask, results: Results, history: StepHistory) -> StepConclusion:
    """Findings stay as they are."""
    return dataclasses.replace(before, combined=judge_combined(task, results, history.step.folder))


def summary(_: CombinedTask, __: StepConclusion, after: StepConclusion) -> str:
    """`keeps for SP008, SP018; loses for SP009`."""
    return outcome_words(after.combined) if after.combined else "no outcome"


COMBINED = StepKind(CombinedTask, apply, summary)


def outcome_words(outcome: CombinedOutcome) -> str:
    """Which findings keep, lose, or are undecided, in one line."""
    rules = {
        word: [finding.rule for finding in outcome.findings if finding.verdict == word]
        for word in ("keeps", "loses", "undecided")
    }
    parts = [f"{word} for {', '.join(those)}" for word, those in rules.items() if those]
    slower = len(outcome.side_effects)
    return "; ".join([*parts, *([f"{slower} other cells slower"] if slower else [])])
