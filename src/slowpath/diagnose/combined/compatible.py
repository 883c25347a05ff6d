# SPDX-License-Identifier: Apache-2.0
"""Proven remedies of a diagnosis, and which of them a job can have at once. Pure.

Variables and bindings are set for a whole job. What a program changes (pages, windows) reaches another finding's cell
where that one stands as the remedy's own slow cell did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import CheckCells, nothing_checked
from slowpath.core.results import ContrastResult, Finding, Results
from slowpath.diagnose.places import unplanned
from slowpath.diagnose.sides import Condition, condition
from slowpath.diagnose.state import State
from slowpath.diagnose.tasks import TrialTask
from slowpath.diagnose.trials.fast_side import EFFECT
from slowpath.slowpaths.registry import REMEDIES

JOB_AXES = ("environment", "placement")
MOST_ADDED = 2  # parameters of the program; each doubles the cells


@dataclass(frozen=True)
class Proven:
    """A remedy that a trial proved, with the trial's own cells. axis: what it toggles."""

    finding: str
    rule: str
    remedy: str
    axis: str
    metric: str
    phase: str
    slow: CellResult
    remedied: CellResult
    slow_under: Condition
    remedied_under: Condition


@dataclass(frozen=True)
class RemedyChange:
    """What one remedy changes for a whole job. bind: None: it leaves the binding."""

    remedy: str
    variables: Mapping[str, str]
    unset: tuple[str, ...]
    bind: str | None

    def against(self, other: RemedyChange) -> str | None:
        """Why the two can't be combined; None: they can."""
        for name in {*self.variables, *self.unset} & {*other.variables, *other.unset}:
            if self.variables.get(name) != other.variables.get(name):
                return f"it sets {name} to another value than '{other.remedy}'"
        if self.bind and other.bind and self.bind != other.bind:
            return f"it binds to a {self.bind}, '{other.remedy}' to a {other.bind}"
        return None


def proven_remedies(state: State) -> list[Proven]:
    """One for each finding that has one, in the order of the findings."""
    found = (_last_proven(finding, state) for finding in state.findings)
    return [one for one in found if one is not None]


def _last_proven(finding: Finding, state: State) -> Proven | None:
    """From the last trial of the first remedy that is proven."""
    names = [remedy.name for remedy in finding.remedies if remedy.verdict == "proven"]
    for one in reversed(state.measured):
        task = one.step.task
        if not isinstance(task, TrialTask) or task.finding != finding.id or task.remedy not in names[:1]:
            continue
        effect = next((contrast for contrast in one.results.contrasts if contrast.group == EFFECT), None)
        if effect is not None:
            return _proven(finding, task, effect, one.results)
    return None


def _proven(finding: Finding, task: TrialTask, effect: ContrastResult, results: Results) -> Proven:
    remedied, slow = results.cell(effect.a.cell), results.cell(effect.b.cell)
    return Proven(
        finding=finding.id,
        rule=finding.rule,
        remedy=task.remedy,
        axis=task.axis,
        metric=task.metric,
        phase=task.phase,
        slow=slow,
        remedied=remedied,
        slow_under=condition(slow, results),
        remedied_under=condition(remedied, results),
    )


def added_parameters(
    proven: Proven, others: Sequence[Proven], ranks: int, check: CheckCells = nothing_checked
) -> dict[str, tuple[str, str]]:
    """Axis -> (value, remedy) of what other findings' remedies change in this one's cell.

    A remedy reaches a cell of the same experiment whose parameter has the value that was slow there, and that the
    remedy is for (packing is not for a contiguous message). What the engine would refuse is left out.
    """
    found: dict[str, tuple[str, str]] = {}
    own = proven.slow.parameters
    for other in others:
        axis = other.axis
        if axis in (*JOB_AXES, proven.axis, *found) or other.slow.experiment != proven.slow.experiment:
            continue
        if own.get(axis) != other.slow.parameters[axis] or len(found) == MOST_ADDED:
            continue
        change = next((one.change for one in REMEDIES if one.name == other.remedy), None)
        changed = change(own) if change is not None else None
        before = {name: value for name, (value, _) in found.items()}
        if changed is not None and _plannable(proven, before | {axis: changed[axis]}, ranks, check):
            found[axis] = changed[axis], other.remedy
    return found


def _plannable(proven: Proven, added: Mapping[str, str], ranks: int, check: CheckCells) -> bool:
    """Whether every cell between the slow one and the one with all that is added can be measured."""
    slow, remedied = proven.slow.parameters, proven.remedied.parameters
    values = {name: [slow[name], value] for name, value in added.items()}
    if proven.axis in slow:
        values[proven.axis] = [slow[proven.axis], remedied[proven.axis]]
    every = ({**slow, **dict(zip(values, chosen, strict=True))} for chosen in product(*values.values()))
    verdicts = check(unplanned(proven.slow.experiment, every), ranks)
    return all(verdict.reason is None and proven.metric in verdict.metrics for verdict in verdicts.values())


def change_of(proven: Proven) -> RemedyChange | None:
    """None where the program changes, and not the job."""
    slow, remedied = proven.slow_under, proven.remedied_under
    if proven.axis == "placement":
        return RemedyChange(proven.remedy, {}, (), remedied.bind)
    if proven.axis != "environment":
        return None
    variables = {name: value for name, value in remedied.variables.items() if slow.variables.get(name) != value}
    gone = [name for name in (*slow.variables, *remedied.unset) if name not in remedied.variables]
    return RemedyChange(
        proven.remedy, variables, tuple(name for name in dict.fromkeys(gone) if name not in slow.unset), None
    )


def combinable(proven: Sequence[Proven]) -> tuple[list[RemedyChange], dict[str, str]]:
    """Changes that a job can have at once, those of earlier findings first; and why not the others, by remedy."""
    kept: list[RemedyChange] = []
    left_out: dict[str, str] = {}
    for change in (made for one in proven if (made := change_of(one)) is not None):
        why = next((reason for other in kept if (reason := change.against(other))), None)
        if why is not None:
            left_out[change.remedy] = why
        elif not any(replace(change, remedy=other.remedy) == other for other in kept):
            kept.append(change)
    return kept, left_out


def applied(under: Condition, changes: Sequence[RemedyChange], environ: frozenset[str]) -> Condition:
    """The condition with all changes.  Args: environ: names of the user's variables, to unset those that are there."""
    variables, unset, bind = dict(under.variables), list(under.unset), under.bind
    for change in changes:
        variables = {name: value for name, value in variables.items() if name not in change.unset}
        variables |= change.variables
        unset += [name for name in change.unset if name in environ]
        bind = change.bind or bind
    gone = tuple(name for name in dict.fromkeys(unset) if name not in variables)
    return replace(under, variables=variables, unset=gone, bind=bind)
