# SPDX-License-Identifier: Apache-2.0
"""Steps about laws and their limits: refine, attribute, suspect. Pure."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, LimitBracket, Results
from slowpath.core.units import format_bytes
from slowpath.diagnose.limits import (
    AND,
    FEWEST_OUTSIDE,
    MOST_HEADER_BYTES,
    NEAR,
    ROUNDS,
    Narrowed,
    SuspectVariable,
    Times,
    around,
    attribution,
    bracket_of,
    holds,
    limits_of,
    maybe_set_by_user,
    narrow,
    own_id,
    places,
    points_campaign,
    shortened,
    stopped_at,
    suspects,
    times_of,
    urgent_limits,
)
from slowpath.diagnose.page import limit_words
from slowpath.diagnose.sides import Sides, condition, placements_of, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import AttributeTask, MovedWith, RefineTask, SuspectTask
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import Ratio, memory, ratio_of, ratio_words
from slowpath.findings.finding import build
from slowpath.findings.slow_path import Observation, Support, SwitchTimes
from slowpath.mpi.settings import SwitchVariable
from slowpath.slowpaths.evaluate import facts_of
from slowpath.slowpaths.registry import codes_refined_by, known, refined_by
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.choose import MINIMUM_EFFECT, is_exact
from slowpath.stats.laws.known import SEGMENTS
from slowpath.stats.laws.law import Bracket, FittedLaw

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
    """The limit that the finding is about, and those that a variable of the user's may set."""
    yield from _proposals(finding, state, urgent_limits(finding, state))


def refine_other_limits(finding: Finding, state: State) -> Iterator[Proposal]:
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
MOST_PAIRS = 3  # of those, which are moved together
RAISED_RATIO, LOWERED_RATIO = 1.13, 0.89  # far enough to be seen, near enough to cross no other switch


def propose_attribute(finding: Finding, state: State) -> Iterator[Proposal]:
    """The limit that the finding is about, and those that a variable of the user's may set."""
    yield from _attribute_proposals(finding, state, urgent_limits(finding, state))


def attribute_other_limits(finding: Finding, state: State) -> Iterator[Proposal]:
    """All limits of its law that no other finding is about."""
    own = {own_id(finding, task.variable) for task in state.tasks(AttributeTask) if task.finding == finding.id}
    made = [limits_of(one) for one in state.findings if one.id in own]
    elsewhere = {limits[0].above for limits in made if limits}
    yield from _attribute_proposals(finding, state, [one for one in limits_of(finding) if one.above not in elsewhere])


def _attribute_proposals(finding: Finding, state: State, limits: Sequence[LimitBracket]) -> Iterator[Proposal]:
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


def apply_attribute(before: StepConclusion, task: AttributeTask, results: Results, _: StepHistory) -> StepConclusion:
    """The limit carries what was seen; a limit that the finding is not about gets a finding of its own."""
    shown = attribution(task, results)
    if shown is None:
        return dataclasses.replace(before, shown=None)
    after = dataclasses.replace(before.changed(task.finding, shown.applied), shown=shown.text)
    changed = after.finding(task.finding)
    if task.is_main_limit or not shown.moved or changed is None:
        return after
    return after.with_findings([shown.own_finding(changed)])


def summary_attribute(_task: AttributeTask, _before: StepConclusion, after: StepConclusion) -> str:
    """What moving the variable showed."""
    return after.shown or "no outcome"


ATTRIBUTE = StepKind(AttributeTask, apply_attribute, summary_attribute)


# Suspect: a variable of the user's sets a protocol switch, and the survey's lengths are too far apart to show it.
#
# The variable's value says where to look, and a line that breaks at one place shows a jump of a few percent, which the
# survey's octaves do not. What is seen is a finding like any other: its limit is refined, attributed and tried.

METRIC, PHASE = "half_round_trip_latency_s", "steady"
_REACH = 2 * MOST_HEADER_BYTES  # to either side of the value
_BESIDE = 3  # points on either side of a break that its two times are medians of


def propose_suspect(state: State) -> Iterator[Proposal]:
    """Variables of the user's near whose value no finding has a limit."""
    path = refined_by("switch")
    if path is None or (state.asked and path.code not in state.asked.rules):
        return
    asked = {task.variable for task in state.tasks(SuspectTask)}
    limits = [one for finding in state.findings for one in limits_of(finding) if one.covariate == "message_bytes"]
    for switch, value in own_switches(state.library.switches, state.environ):
        if switch.variable in asked or any(holds(limit, value) for limit in limits):
            continue
        made = suspect_campaign(switch, value, state.survey, state.ranks)
        if made is not None:
            task, campaign = made
            why = f"your environment sets {switch.variable}={value}: is there a protocol switch?"
            yield Proposal(task, campaign, why)


def own_switches(
    switches: Sequence[SwitchVariable], environ: Mapping[str, str]
) -> Iterator[tuple[SwitchVariable, int]]:
    """Variables that the user set, and their values in bytes."""
    for switch in switches:
        value = switch.value(environ) if switch.variable in environ else None
        if value is not None and value > _REACH:
            yield switch, value


def suspect_campaign(
    switch: SwitchVariable, value: int, survey: Results, ranks: int
) -> tuple[SuspectTask, Campaign] | None:
    """Ping-pongs around the value.

    Args:    survey: whose ping-pong over lengths is the cell.
    Returns: None where the survey has none, or all of its lengths lie on one side of the value.
    """
    cells = _ping_pongs(survey)
    lengths = [int(cell.parameters["message_bytes"]) for cell in cells]
    if not lengths or not min(lengths) < value < max(lengths):
        return None
    cell = min(cells, key=lambda one: abs(np.log(int(one.parameters["message_bytes"]) / value)))
    bracket = Bracket("message_bytes", value - _REACH, value + _REACH)
    why = f"{switch.variable} is {value} in your environment: does the protocol change there?"
    campaign = points_campaign(bracket, cell, condition(cell, survey), ranks, why=why, exact=value - 1)
    task = SuspectTask(
        variable=switch.variable,
        value_bytes=value,
        covariate=bracket.covariate,
        above=bracket.above,
        up_to=bracket.up_to,
        metric=METRIC,
        phase=PHASE,
    )
    return task, campaign


def _ping_pongs(survey: Results) -> list[CellResult]:
    """The survey's line of lengths, as the user has it."""
    found = [
        cell
        for cell in survey.cells
        if cell.parameters.get("pattern") == "ping_pong"
        and "message_bytes" in cell.parameters
        and cell.estimate(METRIC, PHASE) is not None
        and condition(cell, survey).setting is None
        and not condition(cell, survey).variables
    ]
    groups = Counter(cell.group for cell in found)
    longest = max(groups, key=lambda name: groups[name], default=None)
    return [cell for cell in found if cell.group == longest]


def apply_suspect(before: StepConclusion, task: SuspectTask, results: Results, history: StepHistory) -> StepConclusion:
    """A finding more where a switch shows."""
    seen = switch_finding(task, results)
    return before if seen is None else before.with_findings([replace(seen, run=history.step.folder)])


def summary_suspect(task: SuspectTask, before: StepConclusion, after: StepConclusion) -> str:
    """The limit that shows."""
    fresh = after.findings[len(before.findings) :]
    limits = [limit_words(limit) for one in fresh for limit in limits_of(one)]
    return "; ".join(limits) or f"no protocol switch shows at {task.value_bytes} B"


SUSPECT = StepKind(SuspectTask, apply_suspect, summary_suspect)


def switch_finding(task: SuspectTask, results: Results) -> Finding | None:
    """Return the finding of a switch at the break that the step's times show; None: they show none, or a small one."""
    times = times_of(results, task.covariate, task.metric, task.phase)
    if times is None:
        return None
    found = narrow(Bracket(task.covariate, task.above, task.up_to), times.values, times.launch_s)
    if not found.seen or max(found.jump_ratio, 1 / found.jump_ratio) < 1 + MINIMUM_EFFECT:
        return None
    support = Support("missing", f"neither the exact byte of the limit is known nor whether {task.variable} moves it")
    path = refined_by("switch")
    if path is None or path.switch_text is None:
        return None
    observation = _observation(path.switch_text, task, results, found, times)
    finding = build(path, observation, support, results.run.mpi)
    if finding.law is None:
        return finding
    brackets = [replace(bracket, rising=found.jump_ratio > 1) for bracket in finding.law.brackets]
    return replace(finding, law=replace(finding.law, brackets=brackets))


def _observation(
    switch_text: Callable[[SwitchTimes], str], task: SuspectTask, results: Results, found: Narrowed, times: Times
) -> Observation:
    bracket, rising = found.bracket, found.jump_ratio > 1
    split = int(np.searchsorted(times.values, bracket.above, side="right"))
    last = int(np.searchsorted(times.values, bracket.up_to))
    sides = slice(split - _BESIDE, split), slice(last, last + _BESIDE)
    below_s, above_s = (np.median(times.launch_s[:, side], axis=1) for side in sides)
    slow, fast = (above_s, below_s) if rising else (below_s, above_s)
    ratio = ratio_of(slow, fast, MINIMUM_EFFECT)
    cells = sorted(results.cells, key=lambda cell: int(cell.parameters["message_bytes"]))
    ends = [cells[min(last, len(cells) - 1)], cells[split - 1]]
    slow_cell, fast_cell = ends if rising else ends[::-1]
    slow_s, fast_s = float(np.median(slow)), float(np.median(fast))
    kinds, where = memory(cells), f"switch between {bracket.above:.0f} and {bracket.up_to:.0f} B"
    law = FittedLaw(
        name="segments",
        formula=SEGMENTS.formula,
        coefficients=(),
        brackets=(bracket,),
        residual_ratio=None,
        left_out_ratio=None,
        runner_up=None,
        refused=None,
        points=len(times.values),
        launches=len(times.launch_s),
    )
    text = switch_text(
        SwitchTimes(
            above=bracket.above,
            up_to=bracket.up_to,
            metric=task.metric,
            ratio=ratio_words(ratio),
            before_s=fast_s if rising else slow_s,
            after_s=slow_s if rising else fast_s,
            setting=f"{task.variable}={task.value_bytes}",
        )
    )
    return Observation(
        about=f"switch, {kinds}, {task.variable}",
        place=facts_of(results, ROLES).place(cells, [f"{kinds} memory", "ping pong", where]),
        text=f"{text}.",
        metric=task.metric,
        phase=task.phase,
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=slow_s - fast_s,
        affects_default=True,
        cells=tuple(cell.cell for cell in cells),
        law=law,
        evidence=(f"a line with one break, over {len(times.values)} lengths: a jump to {found.jump_ratio:.3f}x",),
        slow_cells=(slow_cell.cell,),
        fast_cells=(fast_cell.cell,),
    )
