# SPDX-License-Identifier: Apache-2.0
"""Steps that measure again: more pairs, more launches, one factor alone. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, Finding, Results
from slowpath.diagnose.own_settings import is_users_own
from slowpath.diagnose.sides import Condition, condition, environments_of, placements_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind, judged
from slowpath.diagnose.tasks import LaunchesTask, RepeatTask, SingleTask
from slowpath.findings.conclude import group_of, kinds_words
from slowpath.findings.facts import CLEAR_RATIO, WITHOUT_USER
from slowpath.findings.observed import Screened, screened
from slowpath.slowpaths.registry import SLOW_PATHS, codes_refined_by
from slowpath.stats.estimate import Floats
from slowpath.stats.shapes import suspected

# Repeat: a contrast of the survey that looks clear and is not decided is measured in more rounds.

ROUNDS = 12
MOST_REPEATS = 4
APART_RATIO = 1.25  # of an undecided contrast that is worth more pairs


def propose_repeat(state: State) -> Iterator[Proposal]:
    """Contrasts that look clear and are not decided yet, the largest first."""
    made = state.tasks(RepeatTask)
    done = {task.contrast for task in made}
    if len(made) >= MOST_REPEATS:
        return
    for contrast in sorted(state.survey.contrasts, key=_apart, reverse=True):
        if contrast.id in done or contrast.axis == "phase" or not _is_open(contrast) or _is_harmless(contrast):
            continue
        if not state.asked.wants_contrast(contrast, state.survey):
            continue
        why = f"'{contrast.group}' is undecided at {contrast.ratio:.2f}x: more pairs"
        task = RepeatTask(contrast=contrast.id, sides=[contrast.a.value, contrast.b.value])
        yield Proposal(task, repeat_campaign(contrast, state.survey, state.ranks, why), why)


def propose_own_settings(state: State) -> Iterator[Proposal]:
    """What the user's own variables do, where the survey showed nothing of it."""
    if not any(is_users_own(finding) for finding in state.findings):
        yield from (
            one for one in propose_repeat(state) if isinstance(one.task, RepeatTask) and WITHOUT_USER in one.task.sides
        )


def apply_repeat(before: StepConclusion, _: RepeatTask, results: Results, history: StepHistory) -> StepConclusion:
    """What more pairs decided is a finding that the survey could not see."""
    known = {finding.id for finding in before.findings}
    fresh = [one for one in judged(results, history) if one.id not in known]
    return before.with_findings([replace(one, run=history.step.folder) for one in fresh])


def summary_repeat(_: RepeatTask, before: StepConclusion, after: StepConclusion) -> str:
    """`also 1 fault (SP009)`."""
    fresh = kinds_words(after.findings[len(before.findings) :])
    return f"also {fresh}" if fresh else "nothing more"


REPEAT = StepKind(RepeatTask, apply_repeat, summary_repeat)


def _is_open(contrast: ContrastResult) -> bool:
    return contrast.verdict == "undecided" and not contrast.control and _apart(contrast) > APART_RATIO


def _is_harmless(contrast: ContrastResult) -> bool:
    """Whether it looks as if other calls took longer than the library's own collective, as they may."""
    return contrast.axis == "way" and contrast.ratio is not None and contrast.ratio < 1


def _apart(contrast: ContrastResult) -> float:
    """How many times as long the slower side takes."""
    return max(contrast.ratio, 1 / contrast.ratio) if contrast.ratio else 0.0


def repeat_campaign(contrast: ContrastResult, results: Results, ranks: int, why: str) -> Campaign:
    """The two cells of a contrast in more rounds."""
    a, b = results.cell(contrast.a.cell), results.cell(contrast.b.cell)
    axis, values = contrast.axis, [_value(cell, contrast.axis) for cell in (a, b)]
    under = [condition(cell, results) for cell in (a, b)]
    parameters: dict[str, Values] = dict(a.parameters)
    if axis in parameters:
        parameters[axis] = values
    group = CellsTable(
        contrast.group,
        a.experiment,
        parameters,
        list(dict.fromkeys(one.environment for one in under)),
        list(dict.fromkeys(one.placement for one in under)),
    )
    repeated = ContrastTable(
        name=contrast.group,
        question=contrast.question,
        cells=contrast.group,
        axis=axis,
        a=values[0],
        b=values[1],
        metric=contrast.metric,
        phase=contrast.a.phase,
    )
    return Campaign(
        name="repeat",
        title=f"Again: {contrast.group}"[:80],
        ranks=[ranks],
        rounds=ROUNDS,
        environments=environments_of(under),
        placements=placements_of(under),
        cells=[group],
        contrasts=[repeated],
        minimum_effect=contrast.minimum_effect,
        why=why,
    )


def _value(cell: CellResult, axis: str) -> str:
    own = {"environment": cell.environment, "placement": cell.placement, "copy": str(cell.copy)}
    return own[axis] if axis in own else cell.parameters[axis]


# Launches: where a few launches of the survey look like two kinds, more of them are started, a few cells each.

LAUNCH_ROUNDS = 24
METRIC = "one_way_s"
LENGTHS = ("8", "65536", "1048576")
MESSAGES = "100"  # a median of each cell; the time of a launch is its start
FEWEST = 4  # launches of the survey
ASKED = "whether launches are of two kinds takes more of them"
WHY = "some launches look slow from start to end: measure more of them"


def propose_launches(state: State) -> Iterator[Proposal]:
    """Once, where cells of one kind of job agree on which launches are slow, or where such a rule was asked for: the
    rules need more launches than a survey of a few cells makes.
    """
    if state.tasks(LaunchesTask) or any(finding.rule in codes_refined_by("launches") for finding in state.findings):
        return
    for cells in _jobs(state.survey).values():
        is_asked = bool(state.asked.rules & codes_refined_by("launches"))
        if is_asked or suspected(_times(cells)):
            why = ASKED if is_asked else WHY
            yield Proposal(LaunchesTask(), launches_campaign(_long(cells), state.survey, state.ranks, why), why)
            return


def _jobs(results: Results) -> Mapping[tuple[object, ...], list[CellResult]]:
    """Cells of single messages in the library's own environment, by placement and number of launches."""
    plain = {
        environment.name
        for environment in results.run.environments
        if not (environment.variables or environment.unset or environment.setting)
    }
    found: dict[tuple[object, ...], list[CellResult]] = defaultdict(list)
    for cell in results.cells:
        estimate = cell.estimate(METRIC, "steady")
        if estimate is not None and cell.environment in plain and len(estimate.launch_values) >= FEWEST:
            found[cell.mpi, cell.placement, len(estimate.launch_values)].append(cell)
    return found


def _times(cells: Sequence[CellResult]) -> Floats:
    estimates = (cell.estimate(METRIC, "steady") for cell in cells)
    return np.array([estimate.launch_values for estimate in estimates if estimate is not None])


def _long(cells: Sequence[CellResult]) -> CellResult:
    """The cell whose parameters the new ones have, but for length and number: the one with the most messages."""
    return max(cells, key=lambda cell: int(cell.parameters.get("messages", "0")))


def launches_campaign(cell: CellResult, results: Results, ranks: int, why: str = WHY) -> Campaign:
    """24 launches of messages of three lengths."""
    under = condition(cell, results)
    parameters: dict[str, Values] = {
        "pattern": "one_way",
        "message_bytes": list(LENGTHS),
        "messages": MESSAGES,
    }
    group = CellsTable("launches", cell.experiment, parameters, [under.environment], [under.placement])
    return Campaign(
        name="launches",
        title="Launches of two kinds?",
        ranks=[ranks],
        rounds=LAUNCH_ROUNDS,
        environments=environments_of([under]),
        placements=placements_of([under]),
        cells=[group],
        contrasts=[],
        minimum_effect=0.03,
        why=why,
    )


def apply_launches(before: StepConclusion, _: LaunchesTask, results: Results, history: StepHistory) -> StepConclusion:
    """What so many launches show that the survey could not: two kinds of them."""
    found = [one for one in judged(results, history) if one.rule in codes_refined_by("launches")]
    return before.with_findings([replace(one, run=history.step.folder) for one in found])


def summary_launches(_: LaunchesTask, before: StepConclusion, after: StepConclusion) -> str:
    """`launches of two kinds (SP029)`."""
    fresh = after.findings[len(before.findings) :]
    return (
        f"launches of two kinds ({', '.join(sorted(codes_refined_by('launches')))})"
        if fresh
        else "no slow launches, or only while the whole machine was slow"
    )


LAUNCHES = StepKind(LaunchesTask, apply_launches, summary_launches)


# Single: what the survey's screening shows of one factor among many is measured with that factor varied alone.

SINGLE_ROUNDS = 6
CODE_OF_FACTOR: Mapping[str, str] = {factor: path.code for path in SLOW_PATHS for factor in path.factors}
NOT_ALONE = "varied alone, it had no effect: it needs another one as well, or it was a disturbance"


@dataclass(frozen=True)
class Alone:
    """Values of one factor, the usual one first, and what else its cells have. sleeps: a second group that sleeps."""

    values: Sequence[str]
    message_bytes: Sequence[str]
    others: Mapping[str, str] = field(default_factory=dict)


_LENGTHS = ("8", "4096", "65536", "1048576")
# For a law over lengths, six of them; a page less and a page more tell a start off the page from one off the line.
_STARTS = ("4096", "16384", "65536", "131072", "262144", "1048576")
_OFFSETS = ("1", "64", "2048", "4096")
_ROOM = {"overalloc_bytes": "8192", "live_buffers": "1", "messages": "13"}
_FEW = {"live_buffers": "1", "messages": "9"}
# Of factors whose other levels need nothing of their own.
_VALUES: Mapping[str, Sequence[str]] = {
    "direction": ("forward", "reverse"),
    "completion": ("blocking", "wait", "waitall", "test"),
    "source": ("named", "any"),
    "open_receive": ("off", "on"),
    "memory": ("host", "mpi"),
}


def _alone(one: Screened) -> tuple[Alone, ...]:
    """Groups of cells, by the factor."""
    if one.parameter == "offset_bytes":
        values = [f"{o}:0" if one.side == "sender" else f"0:{o}" for o in _OFFSETS]
        return (Alone(("0", *values), _STARTS, _ROOM),)
    if one.parameter == "idle_s":
        return (
            Alone(("0", "0.0001", "0.001", "0.005"), _LENGTHS, _FEW),
            Alone(("0", "0.001"), _LENGTHS, {**_FEW, "idle": "sleep"}),
        )
    if one.parameter == "order":
        return (Alone(("forward", "reverse", "shuffled"), _LENGTHS, {"live_buffers": "8", "messages": "4"}),)
    if one.parameter == "other_bytes":
        return (Alone(("none", "8", "4096", "65536"), _LENGTHS, _FEW),)
    return (Alone(_VALUES[one.parameter], _LENGTHS, _FEW),)


def propose_single(state: State) -> Iterator[Proposal]:
    """Once, for all factors that are clear, or undecided and far from nothing."""
    if state.tasks(SingleTask):
        return
    wanted = _wanted(state)
    if not wanted:
        return
    names = list(dict.fromkeys(_name(one) for one in wanted))
    why = f"the screening points at {', '.join(names)}: each by itself"
    task = SingleTask(factors=names, parameters=list(dict.fromkeys(one.parameter for one in wanted)))
    yield Proposal(task, single_campaign(wanted, state.survey, state.ranks, why), why)


def propose_faults(state: State) -> Iterator[Proposal]:
    """The same, where one of the factors may be a fault: whether something is wrong goes before what is faster."""
    codes = set(CODE_OF_FACTOR.values())
    if any(one.rule in codes and one.kind == "fault" and group_of(one) == "suspicion" for one in state.findings):
        yield from propose_single(state)


def _wanted(state: State) -> list[Screened]:
    """The clearest of each factor."""
    effect = max((contrast.minimum_effect for contrast in state.survey.contrasts), default=0.03)
    best: dict[str, Screened] = {}
    for one in screened(state.survey.cells, effect):
        rule = CODE_OF_FACTOR.get(one.parameter)
        asked = not state.asked or rule in state.asked.rules
        if not asked or rule is None or one.ratio.value < CLEAR_RATIO:
            continue
        if _name(one) not in best or one.ratio.value > best[_name(one)].ratio.value:
            best[_name(one)] = one
    return list(best.values())


def _name(one: Screened) -> str:
    return f"{one.parameter} of the {one.side}" if one.side else one.parameter


def single_campaign(wanted: Sequence[Screened], results: Results, ranks: int, why: str) -> Campaign:
    """One group of cells and one contrast for each factor, the others at their usual level."""
    groups: list[CellsTable] = []
    contrasts: list[ContrastTable] = []
    under: list[Condition] = []
    for one in wanted:
        usual = one.cells[0]  # of a screening design the run with every factor at its lower level
        here = condition(usual, results)
        under.append(here)
        for number, alone in enumerate(_alone(one), start=1):
            name = f"{_name(one)} alone" + (f", {number}" if number > 1 else "")
            groups.append(_group(name, one.parameter, alone, usual, here))
            contrasts += [_contrast(name, one, value, alone) for value in alone.values[1:]]
    return Campaign(
        name="single",
        title="One factor at a time",
        ranks=[ranks],
        rounds=SINGLE_ROUNDS,
        environments=environments_of(under),
        placements=placements_of(under),
        cells=groups,
        contrasts=contrasts,
        why=why,
    )


def _group(name: str, parameter: str, alone: Alone, usual: CellResult, here: Condition) -> CellsTable:
    grid: dict[str, Values] = {**usual.parameters, **alone.others}
    grid |= {"message_bytes": list(alone.message_bytes), parameter: list(alone.values), "buffer_bytes": "message"}
    return CellsTable(name, usual.experiment, grid, [here.environment], [here.placement])


def _contrast(group: str, one: Screened, value: str, alone: Alone) -> ContrastTable:
    return ContrastTable(
        name=f"{group}: {value.replace(':', ' and ')}",
        question=f"Does {_name(one)} = {value} by itself make a message slower?",
        cells=group,
        axis=one.parameter,
        a=alone.values[0],
        b=value,
        metric=one.metric,
    )


def apply_single(before: StepConclusion, task: SingleTask, results: Results, history: StepHistory) -> StepConclusion:
    """A finding that shows alone takes the place of what the screening said of it; one that does not is doubted."""
    codes = set(CODE_OF_FACTOR.values())
    fresh = {one.id: replace(one, run=history.step.folder) for one in judged(results, history) if one.rule in codes}
    varied = {CODE_OF_FACTOR[parameter] for parameter in task.parameters}
    kept = [fresh.get(finding.id) or _doubted(finding, varied) for finding in before.findings]
    known = {finding.id for finding in before.findings}
    return StepConclusion([*kept, *(one for one in fresh.values() if one.id not in known)])


def _doubted(one: Finding, varied: set[str]) -> Finding:
    if one.rule not in varied or one.not_alone:
        return one
    return replace(one, doubts=[*one.doubts, NOT_ALONE], not_alone=True)


def summary_single(task: SingleTask, before: StepConclusion, after: StepConclusion) -> str:
    """`1 of 2 factors shows alone`."""
    known = {finding.id: finding for finding in before.findings}
    shown = {
        finding.rule
        for finding in after.findings
        if finding.rule in CODE_OF_FACTOR.values() and known.get(finding.id) != finding
    }
    doubted = sum(finding.not_alone for finding in after.findings)
    alone = ", ".join(sorted(rule for rule in shown if any(f.rule == rule and not f.not_alone for f in after.findings)))
    words = f"{alone} by itself" if alone else "nothing shows by itself"
    return f"{words}; {doubted} only with others" if doubted else words


SINGLE = StepKind(SingleTask, apply_single, summary_single)
