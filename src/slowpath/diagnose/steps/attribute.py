# SPDX-License-Identifier: Apache-2.0
"""Attribute: a variable whose value lies at an exact switch is set to a lower value; the switch has to move with it.

The distance between the variable's value and the switch is the length of the library's headers; it stays when the
variable moves. So the new place is expected to the byte before it is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import msgspec

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, Values
from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.diagnose.limits.attribution import AND, NEAR, attribution, own_id, places, stopped_at
from slowpath.diagnose.limits.points import ROUNDS, shortened
from slowpath.diagnose.limits.variables import SuspectVariable, limits_of, suspects, urgent_limits
from slowpath.diagnose.sides import Sides, placements_of, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import AttributeTask, MovedWith

MOST_SUSPECTS = 4  # of one switch
MOST_PAIRS = 3  # of those, which are moved together
RAISED_RATIO, LOWERED_RATIO = 1.13, 0.89  # far enough to be seen, near enough to cross no other switch


def propose(finding: Finding, state: State) -> Iterator[Proposal]:
    """The limit that the finding is about, and those that a variable of the user's may set."""
    yield from _proposals(finding, state, urgent_limits(finding, state))


def propose_other_limits(finding: Finding, state: State) -> Iterator[Proposal]:
    """All limits of its law that no other finding is about."""
    own = {own_id(finding, task.variable) for task in state.tasks(AttributeTask) if task.finding == finding.id}
    made = [limits_of(one) for one in state.findings if one.id in own]
    elsewhere = {limits[0].above for limits in made if limits}
    yield from _proposals(finding, state, [one for one in limits_of(finding) if one.above not in elsewhere])


def _proposals(finding: Finding, state: State, limits: Sequence[LimitBracket]) -> Iterator[Proposal]:
    made = [task for task in state.tasks(AttributeTask) if task.finding == finding.id]
    tried = {task.variable for task in made if not task.together}
    sides = sides_of(finding, state.seen_in(finding))
    library, environ, read = state.library, state.environ, state.control_variables
    for limit in limits if sides is not None else ():
        if limit.covariate != "message_bytes" or not limit.confirmed:
            continue
        near = suspects(library.switches, limit.above, environ, read, library.name)[:MOST_SUSPECTS]
        if limit.attributed_to:  # what else is known to set limits may be hidden behind the one that was found
            near = [one for one in near if one.switch in library.switches]
        for suspect in near:
            seen = suspect.switch.variable in limit.each_moves  # in the finding this one is of
            if suspect.switch.variable not in tried and not seen and sides is not None:
                task = task_for(finding, limit, suspect, sides, suspect.switch.variable in environ)
                task = msgspec.structs.replace(task, also=_also(limit, state))
                why = f"does {task.variable}={task.value_bytes} set the limit of {finding.rule}?"
                yield Proposal(task, campaign_for(task, sides, state.ranks), why)
        if sides is not None and not limit.attributed_to:
            yield from _pairs(finding, limit, [*near, *_holding(finding, limit, near, state)], sides, made, state)


def _pairs(
    finding: Finding,
    limit: LimitBracket,
    near: Sequence[SuspectVariable],
    sides: Sides,
    made: Sequence[AttributeTask],
    state: State,
) -> Iterator[Proposal]:
    """Two variables lowered at once, where each was lowered alone and none moved the limit: the higher of two limits
    moves with both.
    """
    at = [task for task in made if task.limit_bytes == int(limit.above)]
    alone, pairs = ({task.variable for task in at if not task.together}, [task for task in at if task.together])
    if len(near) < 2 or len(pairs) >= MOST_PAIRS or not alone:
        return
    done = [{task.variable, *task.together} for task in pairs]
    for one, other in combinations(near, 2):
        names = one.switch.variable, other.switch.variable
        if set(names) in done or names[0] not in alone:
            continue
        task = task_for(finding, limit, one, sides, False)
        moved = _moved(other.value_bytes, LOWERED_RATIO, other.switch.multiple_bytes)
        with_it = MovedWith(value_bytes=other.value_bytes, moved_bytes=moved)
        task = msgspec.structs.replace(task, together={names[1]: with_it})
        why = f"do {AND.join(names)} set the limit of {finding.rule} together?"
        yield Proposal(task, campaign_for(task, sides, state.ranks), why)


def _also(limit: LimitBracket, state: State) -> dict[str, int]:
    """Variables that were seen to move this limit, and what a trial sets each to."""
    at = [task for task in state.tasks(AttributeTask) if task.limit_bytes == limit.above and not task.together]
    made = [task for task in at if task.variable in limit.each_moves]
    return {one.variable: int(one.remedy_variables[one.variable]) for one in made}


def _holding(
    finding: Finding, limit: LimitBracket, near: Sequence[SuspectVariable], state: State
) -> list[SuspectVariable]:
    """What holds the switch where a variable that was lowered alone moved it only in part."""
    known, found = {one.switch.variable for one in near}, list[SuspectVariable]()
    for one in state.measured:
        task = one.step.task
        if not isinstance(task, AttributeTask) or task.finding != finding.id or task.limit_bytes != limit.above:
            continue
        place = stopped_at(task, one.results)
        if place is not None:
            library, read = state.library, state.control_variables
            found += suspects(library.switches, place, state.environ, read, library.name)
    return [one for one in found if one.switch.variable not in known][:MOST_SUSPECTS]


def task_for(
    finding: Finding, limit: LimitBracket, suspect: SuspectVariable, sides: Sides, set_by_user: bool
) -> AttributeTask:
    """The variable is lowered; where that makes more messages slow, its remedy is to raise it."""
    switch, value, limit_bytes = suspect.switch, suspect.value_bytes, int(limit.above)
    rising = int(sides.slow.parameters["message_bytes"]) > limit.above if limit.rising is None else limit.rising
    moved = _moved(value, LOWERED_RATIO, switch.multiple_bytes)
    raised = _moved(value, RAISED_RATIO, switch.multiple_bytes) if rising else None
    return AttributeTask(
        finding=finding.id,
        variable=switch.variable,
        effect=switch.does,
        value_bytes=value,
        value_source=suspect.source,
        moved_bytes=moved,
        limit_bytes=limit_bytes,
        expected_bytes=limit_bytes + moved - value,
        rising=rising,
        metric=sides.metric,
        phase=sides.phase,
        is_main_limit=limit == limits_of(finding)[0],
        set_by_user=set_by_user,
        remedy_bytes=raised,
    )


def _moved(value: int, ratio: float, multiple_bytes: int) -> int:
    """Odd where it may be: nothing else has a reason to lie there."""
    wanted = round(value * ratio)
    return wanted | 1 if multiple_bytes == 1 else wanted // multiple_bytes * multiple_bytes


def campaign_for(task: AttributeTask, sides: Sides, ranks: int) -> Campaign:
    """The variable at its new value, lengths around the old place and around the expected one."""
    under, slow = sides.slow_under, sides.slow
    parameters: dict[str, Values] = {**shortened(slow.parameters)}
    parameters["message_bytes"] = [str(length) for length in lengths(task)]
    name = "the variable moved"
    moved = {task.variable: task.moved_bytes, **{other: one.moved_bytes for other, one in task.together.items()}}
    without = tuple(one for one in under.unset if one not in moved)
    variables = {**under.variables, **{variable: str(value) for variable, value in moved.items()}}
    return Campaign(
        name="attribute",
        title=f"Does {task.variable} move the switch?"[:80],
        ranks=[ranks],
        rounds=ROUNDS + 2,
        environments=[EnvironmentTable(name, variables, without)],
        placements=placements_of([under]),
        cells=[CellsTable("limit", slow.experiment, parameters, [name], [under.placement])],
        contrasts=[],
        why=f"The switch is at {task.limit_bytes} B, and {task.variable} is {task.value_bytes} "
        f"({task.value_source}); with {task.moved_bytes} the switch must be at {task.expected_bytes} B.",
    )


def lengths(task: AttributeTask) -> list[int]:
    """To measure: the old place and those expected, and anchors below, between and above them."""
    limit, expected = task.limit_bytes, places(task)
    low, high = min(limit, *expected), max(limit, *expected)
    reach = max(128, low // 16)
    anchors = [low - reach, low - reach * 3 // 4, low - reach // 2]
    anchors += [high + reach // 2, high + reach * 3 // 4, high + reach]
    first = min(max(expected) + max(NEAR), limit)
    anchors += [first + (limit - first) * part // 4 for part in (1, 2, 3)]
    near = [*(limit + d for d in (-1, 0, 1, 2)), *(task.expected_bytes + d for d in NEAR)]
    near += [place + d for place in expected[1:] for d in (-4, -2, -1, 0, 1, 4)]
    return sorted({value for value in (*anchors, *near) if value > 0})


def apply(before: StepConclusion, task: AttributeTask, results: Results, _: StepHistory) -> StepConclusion:
    """The limit carries what was seen; a limit that the finding is not about gets a finding of its own."""
    shown = attribution(task, results)
    if shown is None:
        return replace(before, shown=None)
    after = replace(before.changed(task.finding, shown.applied), shown=shown.text)
    changed = after.finding(task.finding)
    if task.is_main_limit or not shown.moved or changed is None:
        return after
    return after.with_findings([shown.own_finding(changed)])


def summary(_task: AttributeTask, _before: StepConclusion, after: StepConclusion) -> str:
    """What moving the variable showed."""
    return after.shown or "no outcome"


ATTRIBUTE = StepKind(AttributeTask, apply, summary)
