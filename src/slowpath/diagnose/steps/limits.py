# SPDX-License-Identifier: Apache-2.0
"""Steps about laws and their limits: refine, attribute. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, Values
from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.core.units import format_bytes
from slowpath.diagnose.limits import (
    FEWEST_OUTSIDE,
    NEAR,
    ROUNDS,
    Narrowed,
    SuspectVariable,
    Times,
    around,
    attribution,
    bracket_of,
    limits_of,
    narrow,
    places,
    points_campaign,
    shortened,
    suspects,
    times_of,
)
from slowpath.diagnose.page import limit_words
from slowpath.diagnose.sides import Sides, placements_of, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import AttributeTask, RefineTask
from slowpath.findings.facts import Ratio, ratio_of, ratio_words
from slowpath.findings.slow_path import SwitchTimes
from slowpath.slowpaths.registry import codes_refined_by, known
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.choose import is_exact
from slowpath.stats.laws.law import Bracket

# Refine: a limit between two measured values is narrowed, to the byte or the buffer, and then confirmed.

BESIDE = 3  # lengths on either side of which a launch's time is the median
_FEWEST_LAUNCHES = 3


def beside(times: Times, above: float, up_to: float) -> tuple[Floats, Floats]:
    """Times of each launch just below and just above a limit, seconds; shape (launches,) each."""
    values = np.asarray(times.values)
    below, behind = np.flatnonzero(values <= above)[-BESIDE:], np.flatnonzero(values >= up_to)[:BESIDE]
    before_s: Floats = np.median(times.launch_s[:, below], axis=1)
    after_s: Floats = np.median(times.launch_s[:, behind], axis=1)
    return before_s, after_s


def at_refined_switch(finding: Finding, times: Times) -> Finding:
    """Its factor, interval, excess and sentence, measured next to the switch; another finding as it is."""
    path = known(finding.rule)
    if path is None or path.switch_text is None or finding.law is None:
        return finding
    limit = finding.law.brackets[0]
    before_s, after_s = beside(times, limit.above, limit.up_to)
    if min(before_s.size, after_s.size) < _FEWEST_LAUNCHES or not (np.isfinite(before_s) & np.isfinite(after_s)).all():
        return finding
    rising = float(np.median(after_s)) > float(np.median(before_s))
    slow_s, fast_s = (after_s, before_s) if rising else (before_s, after_s)
    ratio: Ratio = ratio_of(slow_s, fast_s, 0.0)
    low_s, high_s = float(np.median(before_s)), float(np.median(after_s))
    said = path.switch_text(
        SwitchTimes(
            above=limit.above,
            up_to=limit.up_to,
            metric=finding.metric,
            ratio=ratio_words(ratio),
            before_s=low_s,
            after_s=high_s,
        )
    )
    was = " and ".join(format_bytes(int(one)) for one in limit.first_seen or ())
    first = f". Before refinement it was seen between {was}" if was else ""
    return replace(
        finding,
        text=f"{said}{first}.",
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=abs(high_s - low_s),
    )


def without_switch(finding: Finding) -> Finding:
    """A finding about a switch that does not show where more lengths are measured; another finding as it is."""
    if finding.rule not in codes_refined_by("switch"):
        return finding
    seen = "More lengths, measured in between, show no switch: the time grows there without a jump."
    return replace(finding, text=f"{finding.text} {seen}", doubts=[*finding.doubts, seen])


REFINED = ("message_bytes", "live_buffers")
MOST_REFINEMENTS = 12  # of one finding; each divides a limit by up to 16
MOST_TRIES = 2  # to narrow the same bracket


def propose_refine(finding: Finding, state: State) -> Iterator[Proposal]:
    """The limit that the finding is about, until it is confirmed, unclear or attributed."""
    made = [task for task in state.tasks(RefineTask) if task.finding == finding.id]
    sides = sides_of(finding, state.seen_in(finding))
    if sides is None or len(made) >= MOST_REFINEMENTS:
        return
    for limit in limits_of(finding)[:1]:
        if limit.covariate not in REFINED or limit.covariate not in sides.slow.parameters:
            continue
        if limit.unclear or limit.confirmed or limit.attributed_to:
            continue
        task = _task(finding, limit)
        if sum((one.above, one.up_to) == (task.above, task.up_to) for one in made) < MOST_TRIES:
            yield _proposal(finding, task, sides, state.ranks)


def _task(finding: Finding, limit: LimitBracket) -> RefineTask:
    """An exact limit is measured a second time, within a wider bracket."""
    bracket = bracket_of(limit)
    exact_limit = bracket.above if is_exact(bracket) else None
    if exact_limit is not None:
        bracket = around(bracket)
    return RefineTask(
        finding=finding.id,
        covariate=bracket.covariate,
        above=bracket.above,
        up_to=bracket.up_to,
        metric=finding.metric,
        phase=finding.phase,
        exact_limit=exact_limit,
    )


def _proposal(finding: Finding, task: RefineTask, sides: Sides, ranks: int) -> Proposal:
    if task.exact_limit is None:
        why = f"narrow the limit of {finding.rule} between {task.above:.0f} and {task.up_to:.0f}"
    else:
        why = f"confirm the limit of {finding.rule} at {task.exact_limit:.0f}"
    bracket, exact = Bracket(task.covariate, task.above, task.up_to), task.exact_limit
    campaign = points_campaign(bracket, sides.slow, sides.slow_under, ranks, why=why, exact=exact)
    return Proposal(task, campaign, why)


def apply_refine(before: StepConclusion, task: RefineTask, results: Results, _: StepHistory) -> StepConclusion:
    """The bracket of the finding's law as the step's times leave it."""
    times = times_of(results, task.covariate, task.metric, task.phase)
    if times is None:
        return before
    asked = Bracket(task.covariate, task.above, task.up_to)
    found = narrow(asked, times.values, times.launch_s) if has_anchors(asked, times.values) else _not_seen(asked)
    narrowed = LimitBracket(
        covariate=task.covariate,
        above=found.bracket.above,
        up_to=found.bracket.up_to,
        rising=found.jump_ratio > 1 if found.seen else None,
        unclear=not found.seen,
        confirmed=is_exact(found.bracket) and task.exact_limit == found.bracket.above,
    )

    def refined(finding: Finding) -> Finding:
        if finding.law is None:
            return finding
        brackets = [
            _narrower(bracket, narrowed) if _meant(bracket, task) else bracket for bracket in finding.law.brackets
        ]
        whole = replace(finding, law=replace(finding.law, brackets=brackets))
        is_about = bool(brackets) and brackets[0] != finding.law.brackets[0]
        if not is_about:
            return whole
        return at_refined_switch(whole, times) if found.seen else without_switch(whole)

    return before.changed(task.finding, refined)


def has_anchors(bracket: Bracket, values: Sequence[float]) -> bool:
    """Whether enough was measured outside the bracket to tell a break from noise: below 2 buffers there is only 1."""
    outside = [value <= bracket.above for value in values], [value >= bracket.up_to for value in values]
    return min(map(sum, outside)) >= FEWEST_OUTSIDE


def _not_seen(bracket: Bracket) -> Narrowed:
    return Narrowed(bracket, 1.0, False)


def _narrower(limit: LimitBracket, narrowed: LimitBracket) -> LimitBracket:
    """The refined limit, with where it had been seen before the first refinement."""
    return replace(narrowed, first_seen=limit.first_seen or (limit.above, limit.up_to))


def _meant(limit: LimitBracket, task: RefineTask) -> bool:
    """Whether the task is about this limit: one that it narrows, or an exact one that it confirms."""
    if limit.covariate != task.covariate:
        return False
    if task.exact_limit is not None:
        return limit.above == task.exact_limit
    return limit.above <= task.above and task.up_to <= limit.up_to  # brackets only get narrower


def summary_refine(task: RefineTask, _: StepConclusion, after: StepConclusion) -> str:
    """The limits of the finding's law."""
    finding = after.finding(task.finding)
    return "; ".join(limit_words(one) for one in limits_of(finding)) if finding else "no outcome"


REFINE = StepKind(RefineTask, apply_refine, summary_refine)


# Attribute: a variable whose value lies at an exact switch is set to a lower value; the switch has to move with it.
#
# The distance between the variable's value and the switch is the length of the library's headers; it stays when the
# variable moves. So the new place is expected to the byte before it is measured.

MOST_SUSPECTS = 4  # of one switch
RAISED_RATIO, LOWERED_RATIO = 1.13, 0.89  # far enough to be seen, near enough to cross no other switch


def propose_attribute(finding: Finding, state: State) -> Iterator[Proposal]:
    """Variables that may set the limit that the finding is about."""
    made = [task for task in state.tasks(AttributeTask) if task.finding == finding.id]
    tried = {task.variable for task in made}
    sides = sides_of(finding, state.seen_in(finding))
    library, environ, read = state.library, state.environ, state.control_variables
    for limit in limits_of(finding)[:1] if sides is not None else ():
        if limit.covariate != "message_bytes" or not limit.confirmed:
            continue
        near = suspects(library.switches, limit.above, environ, read, library.name)[:MOST_SUSPECTS]
        if limit.attributed_to:  # what else is known to set limits may be hidden behind the one that was found
            near = [one for one in near if one.switch in library.switches]
        for suspect in near:
            seen = suspect.switch.variable in limit.movers  # in the finding this one is of
            if suspect.switch.variable not in tried and not seen and sides is not None:
                task = task_for(finding, limit, suspect, sides, suspect.switch.variable in environ)
                task = msgspec.structs.replace(task, also=_also(limit, state))
                why = f"does {task.variable}={task.value_bytes} set the limit of {finding.rule}?"
                yield Proposal(task, campaign_for(task, sides, state.ranks), why)


def _also(limit: LimitBracket, state: State) -> dict[str, int]:
    """Variables that were seen to move this limit, and what a trial sets each to."""
    at = [task for task in state.tasks(AttributeTask) if task.limit_bytes == limit.above]
    made = [task for task in at if task.variable in limit.movers]
    return {one.variable: int(one.remedy_variables[one.variable]) for one in made}


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
    without = tuple(one for one in under.unset if one != task.variable)
    variables = {**under.variables, task.variable: str(task.moved_bytes)}
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


def apply_attribute(before: StepConclusion, task: AttributeTask, results: Results, _: StepHistory) -> StepConclusion:
    """The limit carries what was seen."""
    shown = attribution(task, results)
    if shown is None:
        return dataclasses.replace(before, shown=None)
    return dataclasses.replace(before.changed(task.finding, shown.applied), shown=shown.text)


def summary_attribute(_task: AttributeTask, _before: StepConclusion, after: StepConclusion) -> str:
    """What moving the variable showed."""
    return after.shown or "no outcome"


ATTRIBUTE = StepKind(AttributeTask, apply_attribute, summary_attribute)
