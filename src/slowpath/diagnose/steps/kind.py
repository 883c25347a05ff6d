# SPDX-License-Identifier: Apache-2.0
"""Kinds of steps, and what all witness runs counted for the rules. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec.structs
from msgspec import Struct
from msgspec.structs import asdict

from slowpath.analyse.reference import NONE, HealthyRuns
from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable
from slowpath.core.cell_results import CellResult, RoleWitness
from slowpath.core.results import Finding, Results
from slowpath.diagnose.sides import Condition, condition, placements_of
from slowpath.diagnose.state import MeasuredStep, Proposal, State
from slowpath.diagnose.tasks import DiagnosisStep, Task, WitnessTask
from slowpath.experiments.registry import ROLES
from slowpath.run.schedule import Against
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.sp078_deviations import SLOW_PATH as DEVIATIONS

# What a kind of step is: how its results change the conclusion, and how it sums itself up.

T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class StepConclusion:
    """What follows from the steps so far."""

    findings: Sequence[Finding] = ()

    def finding(self, wanted: str) -> Finding | None:
        """By its id."""
        return next((finding for finding in self.findings if finding.id == wanted), None)

    def changed(self, wanted: str, change: Callable[[Finding], Finding]) -> StepConclusion:
        """With one finding changed."""
        return replace(
            self, findings=[change(finding) if finding.id == wanted else finding for finding in self.findings]
        )

    def without(self, gone: str) -> StepConclusion:
        """Without one finding."""
        return replace(self, findings=[finding for finding in self.findings if finding.id != gone])

    def with_findings(self, more: Sequence[Finding]) -> StepConclusion:
        """With more findings."""
        return replace(self, findings=[*self.findings, *more])


def unchanged(before: StepConclusion, *_: object) -> StepConclusion:
    """Of a step that shows nothing by itself: `judged` adds what it measured to what the rules see in other runs."""
    return before


@dataclass(frozen=True)
class StepHistory:
    """A step among all that were measured. healthy: runs to compare with."""

    step: DiagnosisStep
    measured: Sequence[MeasuredStep]
    healthy: HealthyRuns = NONE


@dataclass(frozen=True)
class StepKind(Generic[T]):
    """One kind of step; what it proposes stands in `order`.

    task: what a step of it is to decide.  apply: the conclusion after its results.  summary: one sentence for the log,
    from the conclusions before and after it.
    required: no diagnosis without it: it is measured whatever the budget, and its failure ends the diagnosis.
    adds_evidence: it changes what the rules see in other runs, so that all steps are applied anew after it.
    most_s: wall time after which none of its launches is started; None: no limit of its own.
    numbers: what it measured that no rule judges, in words; None: nothing.
    against: what its launches are held against, so that one that takes many times as long is ended; None: nothing.
    """

    task: type[T]
    apply: Callable[[StepConclusion, T, Results, StepHistory], StepConclusion]
    summary: Callable[[T, StepConclusion, StepConclusion], str]
    required: bool = False
    adds_evidence: bool = False
    most_s: float | None = None
    numbers: Callable[[Results], str | None] = lambda _: None
    against: Callable[[T], Against | None] = lambda _: None


# Witness: library calls are counted in the cells that findings rest on, each in its environment with a witness.

AS_FOUND = "default"  # the survey's environment that leaves the user's as it is
ROUNDS = 2  # counts are the same in every launch; the second confirms it
MOST_CELLS = 4  # of one finding: two slow and two fast ones


def propose_witness(state: State) -> Iterator[Proposal]:
    """One run for all findings that lack a witness; none for findings that later steps bring."""
    if state.tasks(WitnessTask):
        return
    campaign = witness_campaign(state)
    if campaign is not None:
        yield Proposal(WitnessTask(), campaign, campaign.title)


def summary_witness(_: WitnessTask, __: StepConclusion, after: StepConclusion) -> str:
    """`5 of 7 findings are explained`."""
    explained = sum(finding.legs.explained.state == "shown" for finding in after.findings)
    return f"{explained} of {len(after.findings)} findings explained"


WITNESS = StepKind(WitnessTask, unchanged, summary_witness, adds_evidence=True)


def witness_campaign(state: State) -> Campaign | None:
    """None when every finding is explained, or none has cells."""
    wanted: dict[str, tuple[CellResult, Condition]] = {}
    for finding in state.findings:
        if finding.legs.explained.state != "missing" or finding.rule == DEVIATIONS.code:
            continue
        half = MOST_CELLS // 2
        results = state.seen_in(finding)
        cells = {cell.cell: cell for cell in results.cells}
        for number in [*finding.slow_cells[:half], *finding.fast_cells[:half]]:
            if number in cells:
                cell = cells[number]
                wanted[f"{cell.key} {cell.environment}"] = cell, condition(cell, results)
    if state.removable and not any(cell.environment == AS_FOUND for cell, _ in wanted.values()):
        wanted |= _plain(state.survey)  # its control variables show which of the user's settings are read
    if not wanted:
        return None
    environments: dict[str, EnvironmentTable] = {}
    groups = []
    for number, (cell, here) in enumerate(wanted.values(), start=1):
        environments[here.environment] = EnvironmentTable(here.environment, here.variables, here.unset)
        witnessed = EnvironmentTable(f"{here.environment}, witnessed"[:80], here.variables, here.unset, witness=True)
        environments[witnessed.name] = witnessed
        names = [here.environment, witnessed.name]
        groups.append(CellsTable(f"cell {number}", cell.experiment, cell.parameters, names, [here.placement]))
    return Campaign(
        name="witness",
        title="Calls of the library",
        ranks=[state.ranks],
        rounds=ROUNDS,
        environments=list(environments.values()),
        placements=placements_of([here for _, here in wanted.values()]),
        cells=groups,
        contrasts=[],
    )


def _plain(survey: Results) -> dict[str, tuple[CellResult, Condition]]:
    plain = next((cell for cell in survey.cells if cell.environment == AS_FOUND and cell.experiment == "p2p"), None)
    return {f"{plain.key} {plain.environment}": (plain, condition(plain, survey))} if plain else {}


def judged(results: Results, history: StepHistory) -> list[Finding]:
    """What the rules see in a run, with what all witness runs counted in its cells."""
    counted = results
    for done in history.measured:
        if isinstance(done.step.task, WitnessTask):
            counted = with_counts(counted, done.results)
    if counted is results:
        return list(results.findings)  # the rules were asked when the results were built
    return findings(counted, ROLES)


def with_counts(results: Results, witnessed: Results) -> Results:
    """Results with what another run counted in its cells (the same key is the same cell); what it has itself stays."""
    counting = {environment.name for environment in witnessed.run.environments if environment.witness}
    there = {cell.key: cell for cell in witnessed.cells if cell.witness and cell.environment not in counting}
    cells = [_with_witness(cell, there[cell.key]) if cell.key in there else cell for cell in results.cells]
    run = results.run
    if any(mpi.control_variables for mpi in witnessed.run.mpis):
        run = msgspec.structs.replace(run, mpis=witnessed.run.mpis)
    return msgspec.structs.replace(results, cells=cells, run=run)


def _with_witness(cell: CellResult, other: CellResult) -> CellResult:
    mine, more = cell.witness or {}, other.witness or {}
    phases = {
        phase: {
            role: _both(mine.get(phase, {}).get(role), more.get(phase, {}).get(role))
            for role in (*mine.get(phase, {}), *more.get(phase, {}))
        }
        for phase in (*more, *mine)
    }
    return msgspec.structs.replace(cell, witness=phases)


def _both(mine: RoleWitness | None, other: RoleWitness | None) -> RoleWitness | None:
    if mine is None or other is None:
        return other if mine is None else mine
    calls = {kind: _filled(calls, (other.calls or {}).get(kind)) for kind, calls in (mine.calls or {}).items()}
    return msgspec.structs.replace(_filled(mine, other), calls={**(other.calls or {}), **calls} or None)


S = TypeVar("S", bound=Struct)


def _filled(mine: S, other: S | None) -> S:
    """`mine`, with what only `other` has."""
    if other is None:
        return mine
    missing = {name: value for name, value in asdict(other).items() if getattr(mine, name) is None}
    return msgspec.structs.replace(mine, **missing)
