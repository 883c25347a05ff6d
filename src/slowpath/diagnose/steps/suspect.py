# SPDX-License-Identifier: Apache-2.0
"""Suspect: a variable of the user's sets a protocol switch, and the survey's lengths are too far apart to show it.

The variable's value says where to look, and a line that breaks at one place shows a jump of a few percent, which the
survey's octaves do not. What is seen is a finding like any other: its limit is refined, attributed and tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, Results
from slowpath.diagnose.limits import points
from slowpath.diagnose.limits.break_point import Narrowed, Times, narrow, times_of
from slowpath.diagnose.limits.variables import MOST_HEADER_BYTES, holds, limits_of
from slowpath.diagnose.page.words import limit_words
from slowpath.diagnose.sides import condition
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import SuspectTask
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import memory, ratio_of, ratio_words
from slowpath.findings.finding import build
from slowpath.findings.slow_path import Observation, Support, SwitchTimes
from slowpath.mpi.settings import SwitchVariable
from slowpath.slowpaths.evaluate import facts_of
from slowpath.slowpaths.registry import refined_by
from slowpath.stats.laws.choose import MINIMUM_EFFECT
from slowpath.stats.laws.known import SEGMENTS
from slowpath.stats.laws.law import Bracket, FittedLaw

METRIC, PHASE = "half_round_trip_latency_s", "steady"
_REACH = 2 * MOST_HEADER_BYTES  # to either side of the value
_BESIDE = 3  # points on either side of a break that its two times are medians of


def propose(state: State) -> Iterator[Proposal]:
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
    campaign = points.campaign(bracket, cell, condition(cell, survey), ranks, why=why, exact=value - 1)
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


def apply(before: StepConclusion, task: SuspectTask, results: Results, history: StepHistory) -> StepConclusion:
    """A finding more where a switch shows."""
    seen = switch_finding(task, results)
    return before if seen is None else before.with_findings([replace(seen, run=history.step.folder)])


def summary(task: SuspectTask, before: StepConclusion, after: StepConclusion) -> str:
    """The limit that shows."""
    fresh = after.findings[len(before.findings) :]
    limits = [limit_words(limit) for one in fresh for limit in limits_of(one)]
    return "; ".join(limits) or f"no protocol switch shows at {task.value_bytes} B"


SUSPECT = StepKind(SuspectTask, apply, summary)


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
        separating=(),
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
