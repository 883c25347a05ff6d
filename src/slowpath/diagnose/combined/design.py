# SPDX-License-Identifier: Apache-2.0
"""Remedies that were proven one by one, all at once: the campaign that measures it. Pure.

Each finding's slow cell is measured as it is, with its own remedy, and with that and all others that reach it, in
interleaved launches. What leads from alone to combined are links: cells that differ in one axis each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, Values
from slowpath.core.results import Snippet
from slowpath.diagnose.combined.compatible import (
    JOB_AXES,
    Proven,
    RemedyChange,
    added_parameters,
    applied,
    combinable,
    proven_remedies,
)
from slowpath.diagnose.places import LaunchPlace
from slowpath.diagnose.sides import Condition
from slowpath.diagnose.state import State
from slowpath.diagnose.tasks import CombinedCase, CombinedTask, LeftOut
from slowpath.diagnose.trials.design import ROUNDS, SIDE
from slowpath.experiments.p2p.experiment import MESSAGES, P2P
from slowpath.findings.remedy import job_lines

ALONE = "alone"
MOST_CASES = 8  # findings; each adds cells
_Variables: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[str]]  # set, and unset
_SIDE = {**P2P.brief, **MESSAGES.parameters}


@dataclass(frozen=True)
class _Case:
    """added: axis -> (value, remedy) of the program.  others: names of all remedies that are added to its own."""

    proven: Proven
    combined: Condition
    added: Mapping[str, tuple[str, str]]
    others: Sequence[str]

    @property
    def links(self) -> list[str]:
        """In what the cell with all remedies differs from the one with its own."""
        own, all_of_them = self.proven.remedied_under, self.combined
        moved = (_job(own) != _job(all_of_them), own.place != all_of_them.place)
        return [*(axis for axis, differs in zip(JOB_AXES, moved, strict=True) if differs), *self.added]


def _case(one: Proven, proven: Sequence[Proven], changes: Sequence[RemedyChange], state: State) -> _Case:
    under, environ = one.remedied_under, frozenset(state.environ)
    reaching = [change for change in changes if applied(under, [change], environ) != under]
    added = added_parameters(one, proven, state.ranks, state.check)
    others = [*(change.remedy for change in reaching), *(remedy for _, remedy in added.values())]
    return _Case(one, applied(under, reaching, environ), added, others)


def design(state: State) -> tuple[CombinedTask, Campaign] | None:
    """None: no two proven remedies meet in one cell."""
    proven = proven_remedies(state)
    changes, why_left_out = combinable(proven)
    cases: list[_Case] = []
    left_out: list[LeftOut] = []
    for one in proven:
        case = _case(one, proven, changes, state)
        why = why_left_out.get(one.remedy) or (None if case.links else "no other remedy affects its cell")
        if why is None and len(cases) == MOST_CASES:
            why = f"only the {MOST_CASES} strongest findings are measured"
        if why is None:
            cases.append(case)
        else:
            left_out.append(LeftOut(finding=one.finding, rule=one.rule, remedy=one.remedy, why=why))
    if not cases:
        return None
    measured = {name for case in cases for name in (case.proven.remedy, *case.others)}
    job = [change for change in changes if change.remedy in measured]
    task = CombinedTask(
        cases=[_task_of(case) for case in cases],
        job=[change.remedy for change in job],
        left_out=left_out,
        snippet=_snippet(job, state.library.name),
    )
    return task, _campaign(cases, state.ranks)


def _task_of(case: _Case) -> CombinedCase:
    one = case.proven
    return CombinedCase(
        finding=one.finding, rule=one.rule, remedy=one.remedy, others=list(case.others), links=case.links
    )


def _snippet(changes: Sequence[RemedyChange], library: str) -> Snippet:
    """Lines that set the job's variables and binding.  Args: library: whose launcher binds."""
    variables = {name: value for change in changes for name, value in change.variables.items()}
    unset = list(dict.fromkeys(name for change in changes for name in change.unset))
    bind = next((change.bind for change in changes if change.bind), None)
    lines = job_lines(variables, unset, bind, library)
    return Snippet(shell=lines["shell"], modulefile=lines["modulefile"])


def _campaign(cases: Sequence[_Case], ranks: int) -> Campaign:
    book = _Book()
    groups, contrasts = [], []
    for number, case in enumerate(cases, start=1):
        group, made = _measured(number, case, book)
        groups.append(group)
        contrasts += made
    more, made = _side_effects(cases[0], book)
    return Campaign(
        name="combined",
        title="Proven remedies combined",
        ranks=[ranks],
        rounds=ROUNDS,
        environments=list(book.environments.values()),
        placements=[place.named(name) for place, name in book.placements.items()],
        cells=[*groups, *more],
        contrasts=[*contrasts, *made],
        why="Is each slow cell as fast with all applicable proven remedies as with its own?",
    )


class _Book:
    """Names of conditions in the campaign: equal conditions of several trials get one name, others never the same."""

    def __init__(self) -> None:
        self.environments: dict[_Variables, EnvironmentTable] = {}
        self.placements: dict[LaunchPlace, str] = {}

    def environment(self, under: Condition, name: str | None = None) -> str:
        taken = {environment.name for environment in self.environments.values()}
        made = EnvironmentTable(_free(name or under.environment, taken), under.variables, under.unset)
        return self.environments.setdefault(_job(under), made).name

    def placement(self, under: Condition, name: str | None = None) -> str:
        return self.placements.setdefault(under.place, _free(name or under.placement, set(self.placements.values())))


def _job(under: Condition) -> _Variables:
    return frozenset(under.variables.items()), frozenset(under.unset)


def _free(name: str, taken: set[str]) -> str:
    numbered = [name[:70], *(f"{name[:70]} {number}" for number in range(2, len(taken) + 3))]
    return next(one for one in numbered if one not in taken)


def contrast_name(number: int, link: str) -> str:
    """Of the case with this number, from 1."""
    return f"finding {number}: {link}"


def _measured(number: int, case: _Case, book: _Book) -> tuple[CellsTable, list[ContrastTable]]:
    """As it is, alone and combined: one group, since only cells of one group are paired."""
    one, axis = case.proven, case.proven.axis
    before = one.slow_under, one.remedied_under
    environments = [*map(book.environment, before), book.environment(case.combined, "combined")]
    placements = [*map(book.placement, before), book.placement(case.combined, f"bound to {case.combined.bind}")]
    parameters: dict[str, Values] = dict(one.slow.parameters)
    sides = {"environment": environments[:2], "placement": placements[:2]}
    if axis not in sides:
        sides[axis] = [one.slow.parameters[axis], one.remedied.parameters[axis]]
        parameters[axis] = sides[axis]
    ends = {"environment": environments[2], "placement": placements[2]}
    own = {name: values[1] for name, values in sides.items()}
    for name, (value, _) in case.added.items():
        own[name], ends[name] = one.slow.parameters[name], value
        parameters[name] = [own[name], value]
    group = f"finding {number}"
    made = CellsTable(
        group,
        one.slow.experiment,
        parameters,
        list(dict.fromkeys(environments)),
        list(dict.fromkeys(placements)),
        copies=2,
    )
    contrasts = [
        ContrastTable(
            contrast_name(number, ALONE),
            f"Does '{one.remedy}' help by itself?"[:390],
            group,
            axis,
            own[axis],
            sides[axis][0],
            one.metric,
            one.phase,
            _without(own, axis),
            explains=True,
        )
    ]
    for link in case.links:
        contrasts.append(
            ContrastTable(
                contrast_name(number, link),
                "Is it as fast with the other remedies as well?",
                group,
                link,
                own[link],
                ends[link],
                one.metric,
                one.phase,
                _without(own, link),
                explains=True,
            )
        )
        own[link] = ends[link]
    return made, contrasts


def _without(where: Mapping[str, str], axis: str) -> dict[str, str]:
    return {name: value for name, value in where.items() if name != axis}


def _side_effects(case: _Case, book: _Book) -> tuple[list[CellsTable], list[ContrastTable]]:
    """Short, middle and long messages as the first finding's cell stood before any remedy, and with the job's."""
    conditions = case.proven.slow_under, case.combined
    ends = {"environment": [*map(book.environment, conditions)], "placement": [*map(book.placement, conditions)]}
    at = {axis: names[0] for axis, names in ends.items()}
    contrasts = []
    for axis, (before, after) in ends.items():
        if before == after:
            continue
        contrasts.append(
            ContrastTable(
                f"{SIDE}: {axis}",
                "Do all of them make anything slower?",
                SIDE,
                axis,
                before,
                after,
                MESSAGES.metric,
                where=_without(at, axis),
                explains=True,
            )
        )
        at[axis] = after
    environments, placements = (list(dict.fromkeys(names)) for names in ends.values())
    return [CellsTable(SIDE, P2P.name, _SIDE, environments, placements)] if contrasts else [], contrasts
