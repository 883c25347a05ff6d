# SPDX-License-Identifier: Apache-2.0
"""Refine: a limit between two measured values is narrowed, to the byte or the buffer, and then confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.diagnose.limits import points
from slowpath.diagnose.limits.break_point import FEWEST_OUTSIDE, Narrowed, narrow, times_of
from slowpath.diagnose.limits.switch_at import at_refined_switch, without_switch
from slowpath.diagnose.limits.variables import bracket_of, limits_of, maybe_set_by_user, urgent_limits
from slowpath.diagnose.page.words import limit_words
from slowpath.diagnose.sides import Sides, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import RefineTask
from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.refine import is_exact

REFINED = ("message_bytes", "live_buffers")
MOST_REFINEMENTS = 12  # of one finding; each divides a limit by up to 16
MOST_TRIES = 2  # to narrow the same bracket


def propose(finding: Finding, state: State) -> Iterator[Proposal]:
    """The limit that the finding is about, and those that a variable of the user's may set."""
    yield from _proposals(finding, state, urgent_limits(finding, state))


def propose_other_limits(finding: Finding, state: State) -> Iterator[Proposal]:
    """All limits of its law."""
    yield from _proposals(finding, state, limits_of(finding))


def _proposals(finding: Finding, state: State, limits: Sequence[LimitBracket]) -> Iterator[Proposal]:
    """Limits that a variable of the user's may set go first: those can be explained."""
    made = [task for task in state.tasks(RefineTask) if task.finding == finding.id]
    sides = sides_of(finding, state.seen_in(finding))
    if sides is None or len(made) >= MOST_REFINEMENTS:
        return
    refined = [limit for limit in limits if limit.covariate in REFINED and limit.covariate in sides.slow.parameters]
    for limit in sorted(refined, key=lambda one: not maybe_set_by_user(one, state)):
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
        bracket = points.around(bracket)
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
    campaign = points.campaign(bracket, sides.slow, sides.slow_under, ranks, why=why, exact=exact)
    return Proposal(task, campaign, why)


def apply(before: StepConclusion, task: RefineTask, results: Results, _: StepHistory) -> StepConclusion:
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


def summary(task: RefineTask, _: StepConclusion, after: StepConclusion) -> str:
    """The limits of the finding's law."""
    finding = after.finding(task.finding)
    return "; ".join(limit_words(one) for one in limits_of(finding)) if finding else "no outcome"


REFINE = StepKind(RefineTask, apply, summary)
