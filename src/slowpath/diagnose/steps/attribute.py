# SPDX-License-Identifier: Apache-2.0
"""Attribute: a variable whose value lies at an exact switch is set to another value; the switch has to move with it.

The distance between the variable's value and the switch is the length of the library's headers; it stays when the
variable moves. So the new place is expected to the byte before it is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.diagnose.campaign_text import CampaignText, CellsTable, EnvironmentTable
from slowpath.diagnose.limits.attribution import NEAR, attribution
from slowpath.diagnose.limits.points import ROUNDS, shortened
from slowpath.diagnose.limits.variables import Suspect, limits_of, suspects, urgent_limits
from slowpath.diagnose.sides import Sides, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import AttributeTask

MOST_SUSPECTS = 3  # of one switch
RAISED_RATIO, LOWERED_RATIO = 1.13, 0.89  # far enough to be seen, near enough to cross no other switch


def propose(finding: Finding, state: State) -> Iterator[Proposal]:
    """The limit that the finding is about, and those that a variable of the user's may set."""
    yield from _proposals(finding, state, urgent_limits(finding, state))


def propose_other_limits(finding: Finding, state: State) -> Iterator[Proposal]:
    """All limits of its law."""
    yield from _proposals(finding, state, limits_of(finding))


def _proposals(finding: Finding, state: State, limits: Sequence[LimitBracket]) -> Iterator[Proposal]:
    tried = {task.variable for task in state.tasks(AttributeTask) if task.finding == finding.id}
    sides = sides_of(finding, state.seen_in(finding))
    library, environ, read = state.library, state.environ, state.control_variables
    for limit in limits if sides is not None else ():
        if limit.covariate != "message_bytes" or not limit.confirmed or limit.attributed_to:
            continue
        near = suspects(library.switches, limit.above, environ, read, library.name)
        for suspect in near[:MOST_SUSPECTS]:
            if suspect.switch.variable not in tried and sides is not None:
                task = task_for(finding, limit, suspect, sides, suspect.switch.variable in environ)
                why = f"does {task.variable}={task.value_bytes} set the limit of {finding.rule}?"
                yield Proposal(task, campaign_for(task, sides, state.ranks).text, why)


def task_for(finding: Finding, limit: LimitBracket, suspect: Suspect, sides: Sides, set_by_user: bool) -> AttributeTask:
    """The variable moves so that the slow side at the switch gets fast."""
    switch, value, limit_bytes = suspect.switch, suspect.value_bytes, int(limit.above)
    rising = int(sides.slow.parameters["message_bytes"]) > limit.above if limit.rising is None else limit.rising
    moved = _moved(value, rising, switch.multiple_bytes)
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
    )


def _moved(value: int, rising: bool, multiple_bytes: int) -> int:
    """Odd where it may be: nothing else has a reason to lie there."""
    wanted = round(value * (RAISED_RATIO if rising else LOWERED_RATIO))
    return wanted | 1 if multiple_bytes == 1 else wanted // multiple_bytes * multiple_bytes


def campaign_for(task: AttributeTask, sides: Sides, ranks: int) -> CampaignText:
    """The variable at its new value, lengths around the old place and around the expected one."""
    under, slow = sides.slow_under, sides.slow
    parameters: dict[str, str | Sequence[str]] = {**shortened(slow.parameters)}
    parameters["message_bytes"] = [str(one) for one in lengths(task.limit_bytes, task.expected_bytes)]
    name = "the variable moved"
    without = tuple(one for one in under.unset if one != task.variable)
    variables = {**under.variables, task.variable: str(task.moved_bytes)}
    return CampaignText(
        name="attribute",
        title=f"Does {task.variable} move the switch?"[:80],
        ranks=ranks,
        rounds=ROUNDS + 2,
        environments=[EnvironmentTable(name, variables, without)],
        placements={under.placement: under.bind},
        groups=[CellsTable("limit", slow.experiment, parameters, [name], [under.placement])],
        contrasts=[],
        why=f"The switch lies at {task.limit_bytes} B, {task.variable} is {task.value_bytes} ({task.value_source}); "
        f"with {task.moved_bytes} the switch has to lie at {task.expected_bytes} B.",
    )


def lengths(limit_bytes: int, expected_bytes: int) -> list[int]:
    """To measure: both places, and anchors below and above them."""
    low, high = min(limit_bytes, expected_bytes), max(limit_bytes, expected_bytes)
    reach = max(128, low // 16)
    anchors = [low - reach, low - reach * 3 // 4, low - reach // 2, (low + high) // 2]
    anchors += [high + reach // 2, high + reach * 3 // 4, high + reach]
    near = [*(limit_bytes + d for d in (-1, 0, 1, 2)), *(expected_bytes + d for d in NEAR)]
    return sorted({value for value in (*anchors, *near) if value > 0})


def apply(before: StepConclusion, task: AttributeTask, results: Results, _: StepHistory) -> StepConclusion:
    """The limit carries what was seen; a limit that the finding is not about gets a finding of its own."""
    shown = attribution(task, results)
    if shown is None:
        return before
    after = before.changed(task.finding, shown.applied)
    changed = after.finding(task.finding)
    if task.is_main_limit or not shown.moved or changed is None:
        return after
    return after.with_findings([shown.own_finding(changed)])


def summary(task: AttributeTask, _: StepConclusion, after: StepConclusion) -> str:
    """What moving the variable showed."""
    finding = after.finding(task.finding)
    at = [one for one in (limits_of(finding) if finding else ()) if one.above == task.limit_bytes]
    return next((one.attribution for one in at if one.attribution), "no outcome")


ATTRIBUTE = StepKind(AttributeTask, apply, summary)
