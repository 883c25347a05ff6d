# SPDX-License-Identifier: Apache-2.0
"""Proven remedies of a diagnosis, and which of them a job can have at once. Pure.

Variables and bindings are set for a whole job. What a program changes (pages, windows) reaches another finding's cell
where that one stands as the remedy's own slow cell did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from slowpath.core.cell_check import CheckCells, nothing_checked
from slowpath.core.plan import Cell
from slowpath.diagnose.records import Step
from slowpath.diagnose.sides import Condition, condition
from slowpath.diagnose.trial import EFFECT
from slowpath.findings.remedies.registry import REMEDIES

Json = Mapping[str, Any]
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
    slow: Json
    remedied: Json
    slow_under: Condition
    remedied_under: Condition


@dataclass(frozen=True)
class Change:
    """What one remedy changes for a whole job. bind: None: it leaves the binding."""

    remedy: str
    variables: Mapping[str, str]
    unset: tuple[str, ...]
    bind: str | None

    def against(self, other: Change) -> str | None:
        """Why the two can't stand together; None: they can."""
        for name in {*self.variables, *self.unset} & {*other.variables, *other.unset}:
            if self.variables.get(name) != other.variables.get(name):
                return f"it sets {name} otherwise than '{other.remedy}'"
        if self.bind and other.bind and self.bind != other.bind:
            return f"it binds to a {self.bind}, '{other.remedy}' to a {other.bind}"
        return None


def proven_remedies(findings: Sequence[Json], steps: Sequence[Step], results_of: Mapping[str, Json]) -> list[Proven]:
    """One for each finding that has one, in the order of the findings.  Args: results_of: by a step's folder."""
    found = []
    for finding in findings:
        names = [one["name"] for one in finding["remedies"] if one["verdict"] == "proven"]
        for step in reversed(steps):
            about, results = step.about, results_of.get(step.folder)
            if step.kind != "trial" or results is None or about["finding"] != finding["id"]:
                continue
            effect = next((one for one in results["contrasts"] if one["group"] == EFFECT), None)
            if about["remedy"] in names[:1] and effect is not None:
                found.append(_proven(finding, about, effect, results))
                break
    return found


def _proven(finding: Json, about: Json, effect: Json, results: Json) -> Proven:
    cells = {cell["cell"]: cell for cell in results["cells"]}
    remedied, slow = cells[effect["a"]["cell"]], cells[effect["b"]["cell"]]
    under = [condition(cell, results) for cell in (slow, remedied)]
    names = finding["id"], finding["rule"], about["remedy"], about["axis"], about["metric"], about["phase"]
    return Proven(*names, slow, remedied, *under)


def added_parameters(
    proven: Proven, others: Sequence[Proven], ranks: int, check: CheckCells = nothing_checked
) -> dict[str, tuple[str, str]]:
    """Axis -> (value, remedy) of what other findings' remedies change in this one's cell.

    A remedy reaches a cell of the same experiment whose parameter has the value that was slow there, and that the
    remedy is for (packing is not for a contiguous message). What the engine would refuse is left out.
    """
    found: dict[str, tuple[str, str]] = {}
    own: Mapping[str, str] = proven.slow["parameters"]
    for other in others:
        axis = other.axis
        if axis in (*JOB_AXES, proven.axis, *found) or other.slow["experiment"] != proven.slow["experiment"]:
            continue
        if own.get(axis) != other.slow["parameters"][axis] or len(found) == MOST_ADDED:
            continue
        change = next((one.change for one in REMEDIES if one.name == other.remedy), None)
        changed = change(own) if change is not None else None
        before = {name: value for name, (value, _) in found.items()}
        if changed is not None and _plannable(proven, before | {axis: changed[axis]}, ranks, check):
            found[axis] = changed[axis], other.remedy
    return found


def _plannable(proven: Proven, added: Mapping[str, str], ranks: int, check: CheckCells) -> bool:
    """Whether every cell between the slow one and the one with all that is added can be measured."""
    slow, remedied = proven.slow["parameters"], proven.remedied["parameters"]
    values = {name: [slow[name], value] for name, value in added.items()}
    if proven.axis in slow:
        values[proven.axis] = [slow[proven.axis], remedied[proven.axis]]
    cells = [
        Cell(
            cell=number,
            key="",
            group="",
            label="",
            experiment=proven.slow["experiment"],
            parameters={**slow, **dict(zip(values, chosen, strict=True))},
            environment="",
            placement="",
        )
        for number, chosen in enumerate(product(*values.values()))
    ]
    verdicts = check(cells, ranks)
    return all(one.reason is None and proven.metric in one.metrics for one in verdicts.values())


def change_of(proven: Proven) -> Change | None:
    """None where the program changes, and not the job."""
    slow, remedied = proven.slow_under, proven.remedied_under
    if proven.axis == "placement":
        return Change(proven.remedy, {}, (), remedied.bind)
    if proven.axis != "environment":
        return None
    variables = {name: value for name, value in remedied.variables.items() if slow.variables.get(name) != value}
    gone = [name for name in (*slow.variables, *remedied.unset) if name not in remedied.variables]
    return Change(proven.remedy, variables, tuple(one for one in dict.fromkeys(gone) if one not in slow.unset), None)


def combine(proven: Sequence[Proven]) -> tuple[list[Change], dict[str, str]]:
    """Changes that can stand together, those of earlier findings first; and why others can't, by remedy."""
    kept: list[Change] = []
    left_out: dict[str, str] = {}
    for change in (made for one in proven if (made := change_of(one)) is not None):
        why = next((told for other in kept if (told := change.against(other))), None)
        if why is not None:
            left_out[change.remedy] = why
        elif not any(replace(change, remedy=other.remedy) == other for other in kept):
            kept.append(change)
    return kept, left_out


def applied(under: Condition, changes: Sequence[Change], environ: frozenset[str]) -> Condition:
    """The condition with all changes.  Args: environ: names of the user's variables, to unset those that are there."""
    variables, unset, bind = dict(under.variables), list(under.unset), under.bind
    for change in changes:
        variables = {name: value for name, value in variables.items() if name not in change.unset}
        variables |= change.variables
        unset += [name for name in change.unset if name in environ]
        bind = change.bind or bind
    gone = tuple(name for name in dict.fromkeys(unset) if name not in variables)
    return replace(under, variables=variables, unset=gone, bind=bind)
