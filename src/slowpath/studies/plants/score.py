# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis made of a plant: where it has it, and whether all that it says of it holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, Results
from slowpath.diagnose.conclusion import is_left_open, named_first
from slowpath.studies.plants.baseline import Baseline
from slowpath.studies.plants.expected import expected_s
from slowpath.studies.plants.grammar import COLLECTIVES
from slowpath.studies.plants.marks import FindingMarks, Mark, claims_of, explained, is_caused, judge
from slowpath.studies.plants.plant import Plant, PlantedDiagnosis

# Where a user reads of the plant: in the verdict's first lines, in its line of what is undecided, or on the page alone.
Place = Literal["first lines", "undecided", "page", "nowhere"]
PLACES: tuple[Place, ...] = ("first lines", "undecided", "page", "nowhere")
Verdict = Literal["right", "honest", "missed", "wrong", "below"]
VERDICTS: tuple[Verdict, ...] = ("right", "honest", "missed", "wrong", "below")
# What a plant must make of a cell's time, at least at one point of the survey, for a diagnosis to be asked for it: the
# survey's own minimum effect is 1.03, and laws have to make 1.1.
SEEN_RATIO = 0.1


@dataclass(frozen=True)
class Score:
    """why: one line.  found: whether a finding is the plant's.  law, limit, explanation: of those findings, the worst
    that is claimed; "open": nothing is.  place: where the verdict has the plant.  beside: findings that are neither the
    plant's nor the clean machine's.  false: those of them that the verdict's first lines name.
    """

    verdict: Verdict
    why: str
    found: bool
    law: Mark
    limit: Mark
    explanation: Mark
    place: Place
    beside: tuple[str, ...]
    false: tuple[str, ...]


def score(plant: Plant, measured: PlantedDiagnosis, baseline: Baseline) -> Score:
    """Wrong: something is claimed that the clauses contradict, or the verdict's first lines name what is neither the
    plant's nor the clean machine's. Right: all that the plant has is claimed. Honest: found, and the rest left open.
    Missed: not found; below: nor could it be."""
    caused = [finding for finding in measured.findings if is_caused(plant, finding, measured.results)]
    caused = [finding for finding in caused if not baseline.holds(finding)]
    marks = [judge(plant, finding, measured.results, baseline) for finding in caused]
    first = named_first(measured.findings, measured.results)
    others = [finding for finding in measured.findings if finding not in caused and not baseline.lists(finding)]
    false = tuple(f"{finding.rule}: {finding.text}" for finding in others if finding in first)
    wrong = [f"{finding.rule}: {mark.wrong}" for finding, mark in zip(caused, marks, strict=True) if mark.wrong]
    wrong += _undermined(plant, measured, baseline, caused)
    wrong += [f"not planted: {text}" for text in false]
    law, limit, explanation = (
        _worst([_mark(mark, name) for mark in marks]) for name in ("law", "limit", "explanation")
    )
    unseen = _unseen(plant, measured, baseline, caused)
    verdict, why = _verdict(plant, wrong, (law, limit, explanation), marks, unseen)
    beside = tuple(f"{finding.rule}: {finding.text}" for finding in others)
    return Score(verdict, why, bool(caused), law, limit, explanation, _place(caused, first), beside, false)


def _place(caused: Sequence[Finding], first: Sequence[Finding]) -> Place:
    if any(finding in first for finding in caused):
        return "first lines"
    if any(map(is_left_open, caused)):
        return "undecided"
    return "page" if caused else "nowhere"


def _verdict(
    plant: Plant,
    wrong: Sequence[str],
    worst: tuple[Mark, Mark, Mark],
    marks: Sequence[FindingMarks],
    unseen: Sequence[str],
) -> tuple[Verdict, str]:
    if wrong:
        return "wrong", wrong[0]
    if not marks:
        return ("missed", "no finding is the plant's") if unseen else ("below", "costs too little to be seen here")
    if unseen and len(plant.clauses) > 1:
        return "missed", f"found, but not {unseen[0]}"
    law, limit, explanation = worst
    if law == "right" and explanation == "right" and (limit == "right" or not plant.limits):
        return "right", "found, with its law and its explanation"
    return "honest", next((mark.left_open for mark in marks if mark.left_open), "found")


def _mark(judged: FindingMarks, name: str) -> Mark:
    return {"law": judged.law, "limit": judged.limit, "explanation": judged.explanation}[name]


def _worst(marks: Sequence[Mark]) -> Mark:
    """Wrong where one is, right where one is, else open."""
    return next((mark for mark in ("wrong", "right") if mark in marks), "open")


def _undermined(plant: Plant, measured: PlantedDiagnosis, baseline: Baseline, caused: Sequence[Finding]) -> list[str]:
    """Whether the finding explains what the clean machine has as before, although most of it is now the plant's."""
    found = []
    for finding in measured.findings:
        if finding in caused or not baseline.lists(finding) or not is_caused(plant, finding, measured.results):
            continue
        mark, why = explained(plant, claims_of(finding))
        if mark == "wrong":
            found.append(f"{finding.rule}, of the baseline: {why}")
    return found


def _unseen(plant: Plant, measured: PlantedDiagnosis, baseline: Baseline, caused: Sequence[Finding]) -> list[str]:
    """Clauses that cost enough to be seen, and of which no finding is."""
    parts = [Plant(plant.kind, (clause,)) for clause in plant.clauses]
    if plant.state is not None:
        parts.append(Plant(plant.kind, (), plant.state))
    return [
        part.text
        for part in parts
        if is_visible(part, measured.results, baseline)
        and not any(is_caused(part, finding, measured.results) for finding in caused)
    ]


def is_visible(plant: Plant, results: Results, baseline: Baseline) -> bool:
    """Whether at some point of the survey a plant costs a tenth of what the operation takes without it, or more. One
    whose clauses say so nowhere, or which is no clause, is taken to be, and one in a collective, whose calls no cell
    states."""
    if any(clause.call in COLLECTIVES for clause in plant.clauses):
        return True
    shares = [share for cell in results.cells if (share := _share(plant, cell, baseline)) is not None]
    return not plant.clauses or not shares or max(shares) >= SEEN_RATIO


def _share(plant: Plant, cell: CellResult, baseline: Baseline) -> float | None:
    """The largest that a plant makes of what a cell takes without it; None: not known."""
    found = []
    for metric, entry in cell.metrics.items():
        for phase in entry.phases:
            usual_s, paid_s = (
                baseline.time_s(cell.key, metric, str(phase)),
                expected_s(plant, cell, metric, str(phase)),
            )
            if usual_s and paid_s is not None:
                found.append(paid_s / usual_s)
    return max(found, default=None)
