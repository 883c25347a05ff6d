# SPDX-License-Identifier: Apache-2.0
"""Single: what the survey's screening shows of one factor among many is measured with that factor varied alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, Results
from slowpath.diagnose.sides import Condition, condition, environments_of, placements_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import SingleTask
from slowpath.findings.conclude import group_of
from slowpath.findings.facts import CLEAR_RATIO
from slowpath.findings.observed import Screened, screened
from slowpath.slowpaths.registry import SLOW_PATHS

ROUNDS = 6
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


def propose(state: State) -> Iterator[Proposal]:
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
        yield from propose(state)


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
        rounds=ROUNDS,
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


def apply(before: StepConclusion, task: SingleTask, results: Results, history: StepHistory) -> StepConclusion:
    """A finding that shows alone takes the place of what the screening said of it; one that does not is doubted."""
    codes = set(CODE_OF_FACTOR.values())
    fresh = {one.id: replace(one, run=history.step.folder) for one in judged(results, history) if one.rule in codes}
    varied = {CODE_OF_FACTOR[parameter] for parameter in task.parameters}
    kept = [fresh.get(finding.id) or _doubted(finding, varied) for finding in before.findings]
    known = {finding.id for finding in before.findings}
    return replace_findings(before, [*kept, *(one for one in fresh.values() if one.id not in known)])


def replace_findings(before: StepConclusion, findings: Iterable[Finding]) -> StepConclusion:
    """With these findings in place of its own."""
    return StepConclusion(list(findings))


def _doubted(one: Finding, varied: set[str]) -> Finding:
    if one.rule not in varied or one.not_alone:
        return one
    return replace(one, doubts=[*one.doubts, NOT_ALONE], not_alone=True)


def summary(task: SingleTask, before: StepConclusion, after: StepConclusion) -> str:
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


SINGLE = StepKind(SingleTask, apply, summary)
