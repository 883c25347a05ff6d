# SPDX-License-Identifier: Apache-2.0
"""One finding against what was planted: is it the plant's, and do law, limit and explanation hold? Pure.

docs/results/plants.md has the rules. `claims_of` is the one place that knows what findings say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, LawPoint, Results
from slowpath.slowpaths.registry import SLOW_PATHS
from slowpath.stats.inputs import Floats
from slowpath.studies.plants.baseline import Baseline
from slowpath.studies.plants.expected import PUT, QUANTITY_OF, expected_s
from slowpath.studies.plants.grammar import Side
from slowpath.studies.plants.plant import Plant

# Code -> axes of the grammar, and what no clause has (a memory kind, pages), on which a finding claims that the time
# depends. A slow path that is not here claims nothing that a plant could contradict.
DEPENDS: Mapping[str, frozenset[str]] = {path.code: path.depends for path in SLOW_PATHS if path.depends}
# Where a claim says that the time goes; "path", another way through the library, says nothing of it. No clause copies.
_ROOM_OF: Mapping[str, str] = {
    "kernel": "kernel",
    "user": "user",
    "waiting": "waiting",
    "cold cache": "cold",
    "copy": "copy",
}
_SIDES_OF: Mapping[str, frozenset[Side]] = {
    "sender": frozenset({"send"}),
    "receiver": frozenset({"receive"}),
    "both": frozenset({"send", "receive"}),
}
# What a claim says that the cost follows -> the axis.
_AXIS_OF: Mapping[str, str] = {
    "pages": "allocation",
    "allocation": "allocation",
    "message": "bytes",
    "bytes": "bytes",
    "buffers": "others",
    "uses": "use",
    "blocks": "block",
    "queue": "queue",
}


@dataclass(frozen=True)
class Claims:
    """depends: empty: it does not say.  room, sides: where the time goes and who pays; None: it does not say.
    by: the axis that the cost follows; "nothing": each pays the same; None: it does not say."""

    explained: bool
    depends: frozenset[str]
    room: str | None = None
    sides: frozenset[Side] | None = None
    by: str | None = None


def claims_of(finding: Finding) -> Claims:
    """Where the time goes is claimed by an explanation alone; that it depends on something, by each finding."""
    depends = DEPENDS.get(finding.rule, frozenset())
    if finding.status not in ("explained", "proven"):
        return Claims(False, depends)
    said = finding.claim
    if said is None:
        return Claims(True, depends)
    return Claims(
        True,
        depends,
        _ROOM_OF.get(said.time or ""),
        _SIDES_OF.get(said.side or ""),
        "nothing" if said.by == "nothing" else _AXIS_OF.get(said.by or ""),
    )


Mark = Literal["right", "open", "wrong"]  # open: nothing is claimed
NEAR = 0.10  # of what is planted
CAUSED = 0.5  # of a finding's excess that the plant must account for, to be what the finding is about
MESSAGES = ("send", "receive", "both")  # calls by which messages are delayed
PUTS = ("put",)
# Axes on which both sides of a finding may stand alike: two kinds of messages or launches of one cell.
UNPLACED = frozenset({"index", "chance", "time", "launch", "environment", "setting", "binding"})


@dataclass(frozen=True)
class FindingMarks:
    """Marks, each with one line that says why it is wrong or open; empty where it is right."""

    law: Mark
    limit: Mark
    explanation: Mark
    why_law: str
    why_limit: str
    why_explanation: str

    @property
    def wrong(self) -> str | None:
        """Return the reason of the first mark that is wrong; None: none is."""
        pairs = ((self.law, self.why_law), (self.limit, self.why_limit), (self.explanation, self.why_explanation))
        return next((why for mark, why in pairs if mark == "wrong"), None)

    @property
    def left_open(self) -> str | None:
        """Return the reason of the first mark that is not right."""
        return next((why for why in (self.why_law, self.why_limit, self.why_explanation) if why), None)


def is_caused(plant: Plant, finding: Finding, results: Results) -> bool:
    """Whether the plant accounts for half of a finding's excess or more; where its clauses do not say how much it costs
    there, or it depends on what no parameter of a cell has, as the use, whether the finding says that it depends on it.
    """
    named = claims_of(finding).depends & plant.axes
    planted_s = excess_s(plant, finding, results)
    if (
        planted_s is None and not claims_of(finding).depends
    ):  # far above the floor: it is so by whatever delays messages
        calls = PUTS if finding.metric == PUT else MESSAGES
        return any(clause.call in calls for clause in plant.clauses)
    uses = finding.law is not None and any(bracket.covariate == "repetition" for bracket in finding.law.brackets)
    if planted_s is None or not finding.excess_s or not plant.clauses or named & UNPLACED or uses:
        return bool(named)
    return planted_s >= CAUSED * finding.excess_s


def excess_s(plant: Plant, finding: Finding, results: Results) -> float | None:
    """Return what the plant makes the slow side of a finding take more than the fast one; None: its clauses do not
    say.
    """
    cells = {cell.cell: cell for cell in results.cells}
    slow = cells.get(finding.slow_cells[0]) if finding.slow_cells and finding.run is None else None
    if slow is None:
        return None
    if not finding.fast_cells:
        return expected_s(plant, slow, finding.metric, finding.phase)
    fast = cells.get(finding.fast_cells[0])
    fast_phase = "steady" if fast is slow and finding.phase == "first" else finding.phase
    if fast is None:
        return None
    more, less = (
        expected_s(plant, slow, finding.metric, finding.phase),
        expected_s(plant, fast, finding.metric, fast_phase),
    )
    return None if more is None or less is None else more - less


def judge(plant: Plant, finding: Finding, results: Results, baseline: Baseline) -> FindingMarks:
    """Judge a finding that the plant causes."""
    law, of_law = _law(plant, finding, results, baseline)
    limit, of_limit = _limit(plant, finding)
    explanation, of_explanation = explained(plant, claims_of(finding))
    return FindingMarks(law, limit, explanation, of_law, of_limit, of_explanation)


def _law(plant: Plant, finding: Finding, results: Results, baseline: Baseline) -> tuple[Mark, str]:
    """Whether a named law gives what was planted at its own points, within 10 % or its interval. What the library takes
    there anyway is taken off: as the clean runs had it, and what they lack as the same at each point."""
    law = finding.law
    if law is None or law.name is None:
        return "open", "no law is named"
    if law.predicted != "held":  # the report calls it a fit
        return "open", f"'{law.name}' fits and has not predicted: {law.predicted}"
    points = [point for point in law.drawn if point.fitted_s is not None]
    planted = [_planted(plant, finding, point, results) for point in points]
    if not points or any(value is None for value in planted):
        return "open", "its law can't be compared with the clauses"
    costs = np.array(planted, dtype=np.float64)
    if not costs.any():
        return "open", f"law '{law.name}' is about what the plant does not cost"
    reach_s = float(np.ptp(costs))
    fitted = np.array([point.fitted_s for point in points], dtype=np.float64)
    left = fitted - costs - _own(finding, points, results, baseline)
    left = left if law.is_excess and reach_s == 0 else left - np.median(left)
    wide = np.array([(point.interval[1] - point.interval[0]) / 2 for point in points])
    room = np.maximum(NEAR * max(reach_s, float(costs.max())), wide)
    if np.all(np.abs(left) <= room):
        return "right", ""
    worst = int(np.argmax(np.abs(left) / room))
    where = ", ".join(f"{name}={value:g}" for name, value in points[worst].place.items())
    return "wrong", f"law '{law.name}' is off by {left[worst]:.3g} s at {where}, where {costs[worst]:.3g} s are planted"


def _planted(plant: Plant, finding: Finding, point: LawPoint, results: Results) -> float | None:
    cell = _slow_cell(finding, results)
    at = dict(point.place.items())
    cost_s = expected_s(plant, cell, finding.metric, finding.phase, at) if cell else None
    if cost_s is None or cell is None or finding.law is None or not finding.law.is_excess:
        return cost_s
    usual_s = expected_s(plant, cell, finding.metric, "steady", at) if finding.phase == "first" else 0.0
    return None if usual_s is None else cost_s - usual_s


def _slow_cell(finding: Finding, results: Results) -> CellResult | None:
    return next((cell for cell in results.cells if finding.slow_cells and cell.cell == finding.slow_cells[0]), None)


def _own(finding: Finding, points: list[LawPoint], results: Results, baseline: Baseline) -> Floats:
    """Return what each point takes in clean runs, in seconds, shape (points,); 0 at all of them where one is not
    known.
    """
    found = []
    for point in points:
        cell = _cell_at(finding, point, results)
        value = baseline.time_s(cell.key, finding.metric, finding.phase) if cell else None
        if value is not None and cell is not None and finding.law is not None and finding.law.is_excess:
            usual = baseline.time_s(cell.key, finding.metric, "steady")
            value = None if usual is None else value - usual
        found.append(value)
    if any(value is None for value in found):
        return np.zeros(len(points))
    return np.array(found, dtype=np.float64)


def _cell_at(finding: Finding, point: LawPoint, results: Results) -> CellResult | None:
    """The finding's cell with a point's numbers."""
    members = frozenset(finding.cells)
    for cell in results.cells:
        if cell.cell in members and all(_has(cell, name, value) for name, value in point.place.items()):
            return cell
    return None


def _has(cell: CellResult, name: str, value: float) -> bool:
    """Whether a parameter has the value; one that is no number ("message") follows from the others."""
    said = cell.parameters.get(name, "")
    return not said.isdecimal() or int(said) == int(value)


def _limit(plant: Plant, finding: Finding) -> tuple[Mark, str]:
    brackets = finding.law.brackets if finding.law else []
    found: list[tuple[bool, str]] = []
    for axis, last in plant.limits:
        there = [b for b in brackets if QUANTITY_OF.get(b.covariate, ("", 0.0))[0] == axis]
        if there:
            said = ", ".join(f"({b.above:.12g}, {b.up_to:.12g}]" for b in there)
            found.append((any(b.above <= last < b.up_to for b in there), f"limit in {said}, planted after {last:.12g}"))
    if not found:
        return "open", f"no limit of {', '.join(axis for axis, _ in plant.limits)}" if plant.limits else ""
    wrong = [why for holds, why in found if not holds]
    return ("wrong", wrong[0]) if len(wrong) == len(found) else ("right", "")


def explained(plant: Plant, claims: Claims) -> tuple[Mark, str]:
    """Whether the explanation is what was planted: where the time goes, who pays, on what it depends."""
    if not claims.explained:
        return "open", "not explained"
    if claims.depends and not claims.depends & plant.axes:
        return "wrong", f"explained by {_words(claims.depends)}, planted by {_words(plant.axes)}"
    if not plant.clauses:
        return "right", ""
    if claims.room and claims.room not in plant.rooms:
        return "wrong", f"the time is said to go to {claims.room}, it goes to {_words(plant.rooms)}"
    if claims.by and not _follows(plant, claims.by):
        return "wrong", f"the cost is said to follow {claims.by}, planted by {_words(plant.axes)}"
    if claims.sides and not claims.sides <= plant.sides:
        return "wrong", f"the side is said to be {_words(claims.sides)}, it is {_words(plant.sides)}"
    return "right", ""


def _follows(plant: Plant, by: str) -> bool:
    return any(clause.per == "call" for clause in plant.clauses) if by == "nothing" else by in plant.axes


def _words(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
