# SPDX-License-Identifier: Apache-2.0
"""Refine: a limit between two measured values is narrowed, to the byte or the buffer, and then confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.core.units import format_bytes
from slowpath.diagnose.limits import points
from slowpath.diagnose.limits.break_point import FEWEST_OUTSIDE, Narrowed, Times, narrow, times_of
from slowpath.diagnose.limits.variables import bracket_of, limits_of, maybe_set_by_user, urgent_limits
from slowpath.diagnose.page.words import limit_words
from slowpath.diagnose.sides import Sides, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import RefineTask
from slowpath.findings.facts import Ratio, ratio_of, ratio_words
from slowpath.findings.slow_path import SwitchTimes
from slowpath.slowpaths.registry import codes_refined_by, known
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.choose import is_exact
from slowpath.stats.laws.law import Bracket

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
