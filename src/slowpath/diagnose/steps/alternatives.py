# SPDX-License-Identifier: Apache-2.0
"""Alternatives: is what the library chose by itself slower than another choice that it has?

Each alternative alone; what is many times as fast there goes into fresh launches at once, since a default that slows
down every launch leaves no time for more. Else once more where it looked slower; then those that work and slow nothing
down in mixes; then what looks faster in fresh launches, as the best of many looks better than it is. Where mixes show
nothing beyond their noise, those that were fastest alone get such launches, too: some choices work only by themselves.
A trial proves what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable
from slowpath.core.results import Finding, Results
from slowpath.diagnose.alternatives import (
    AS_IT_IS,
    CELLS,
    CONTROL,
    CONTROLS,
    LIBRARY_START,
    LIKELY_RATIO,
    MEASURED,
    QUICK_ROW,
    STARTS,
    Screening,
    screening_of,
    with_cause,
)
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import AlternativesStage, AlternativesTask
from slowpath.findings.difference import INSTEAD
from slowpath.mpi.alternatives.alternative import Alternative, PlaceFacts
from slowpath.mpi.alternatives.table import Applicable, alternatives_of
from slowpath.mpi.mpi import QUICK_VARIABLE
from slowpath.run.limits import Against
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.stats.many_changes import Suspect, mixes

LEAST_BUDGET_S = 300.0  # of a diagnosis that was asked for nothing in particular
CONFIRM_ROUNDS, LIKELY_ROUNDS = 6, 10
LIKELY_SIGNIFICANCE = 0.002  # of one choice in one cell: 6 choices in 1 or 2 cells each are tried
FEWEST_MIXED = 3
SEED = 29
_PLACE = PlacementTable("bound", "core")
# A choice that takes so long is no better one. A launch takes less than 1 s: while no launch as the library is has
# ended, one that takes 12 s hangs.
_LIMIT = Against(AS_IT_IS, _PLACE.name, 8.0, 3.0, 12.0)


def applicable(state: State) -> Applicable:
    """The alternatives of this library that may change something here, and why others can't."""
    facts = PlaceFacts(state.ranks, state.job.nodes, state.gpus, (), state.listed() if state.listed else None)
    library = state.library
    return alternatives_of(library.name, library.version, library.transport, facts, state.environ, MEASURED)


def propose(state: State) -> Iterator[Proposal]:
    """The next of these runs, where it was asked for or a long budget has time left."""
    asked = bool(state.asked.rules & codes_refined_by("alternatives"))
    if not asked and (state.asked or not LEAST_BUDGET_S <= state.budget_s < math.inf):
        return
    screening = screening_of(state.measured)
    done = {task.stage for task, _ in screening.steps}
    found = applicable(state)
    by_name = {row.name: row for row in found.rows}
    if not done:
        if found.rows:
            yield _alone(found, state.ranks)
        return
    # A row that applied when it was measured may not do so any more: the user has set its variable since.
    evident, suspects = (
        [one for one in some if screening.names[one.change] in by_name]
        for some in (screening.evident, screening.suspects)
    )
    slower = [name for name in screening.slower if name in by_name]
    evident = [one for one in evident if screening.names[one.change] not in slower] or evident
    if "evident" not in done and len(done) == 1 and evident:
        yield from (  # as many as time is left for
            _confirm("evident", evident[:most], screening, by_name, state.ranks)
            for most in dict.fromkeys((len(evident), 3, 1))
            if most <= len(evident)
        )
        return
    named = [one for one in state.findings if one.rule in codes_refined_by("alternatives")]
    if "evident" in done and any(one.about not in slower for one in named):
        return  # what others change beside it shows once it is set
    if "again" not in done and "together" not in done and slower:
        yield _again([by_name[name] for name in slower], state.ranks)
        return
    if "together" not in done:
        chosen = screening.best_of_each_variable({name: row.variables for name, row in by_name.items()})
        if len(chosen) >= FEWEST_MIXED:
            yield _together([by_name[name] for name in chosen], state.ranks)
            return
    if "confirm" not in done and suspects:
        yield _confirm("confirm", suspects, screening, by_name, state.ranks)
        return
    if "likely" not in done and not named:
        likely = screening.likely({name: row.variables for name, row in by_name.items()})
        tried = {name for task, _ in screening.steps if task.stage == "confirm" for name in task.environments}
        likely = [one for one in likely if f"{INSTEAD}{screening.names[one.change]}" not in tried]
        yield from (
            _confirm("likely", likely[:most], screening, by_name, state.ranks)
            for most in dict.fromkeys((len(likely), 3))
            if 0 < most <= len(likely)
        )


def _alone(found: Applicable, ranks: int) -> Proposal:
    quick = STARTS if any(row.name == QUICK_ROW for row in found.rows) else 0
    environments = [
        EnvironmentTable(AS_IT_IS),
        *(EnvironmentTable(f"{LIBRARY_START} {n}", unset=(QUICK_VARIABLE,)) for n in range(1, quick + 1)),
        *(EnvironmentTable(f"control {number}", {CONTROL: str(number)}) for number in range(1, CONTROLS + 1)),
        *(EnvironmentTable(f"{INSTEAD}{row.name}", dict(row.variables)) for row in found.rows),
    ]
    on = {environment.name: list[str]() for environment in environments}
    on |= {f"{INSTEAD}{row.name}": [row.name] for row in found.rows}
    task = AlternativesTask(stage="alone", environments=on, left_out=dict(found.left_out))
    why = f"is one of the library's {len(found.rows)} other choices faster?"
    return Proposal(task, _campaign("alone", environments, ranks, 1, why), why)


def _again(rows: Sequence[Alternative], ranks: int) -> Proposal:
    environments = [
        EnvironmentTable(AS_IT_IS),
        *(EnvironmentTable(f"{INSTEAD}{row.name}", dict(row.variables)) for row in rows),
    ]
    on = {AS_IT_IS: list[str](), **{f"{INSTEAD}{row.name}": [row.name] for row in rows}}
    why = f"{len(rows)} of them looked slower: once more"
    task = AlternativesTask(stage="again", environments=on)
    return Proposal(task, _campaign("again", environments, ranks, 1, why), why)


def _together(rows: Sequence[Alternative], ranks: int) -> Proposal:
    environments = [EnvironmentTable(AS_IT_IS)]
    on: dict[str, list[str]] = {AS_IT_IS: []}
    for number, chosen in enumerate(mixes(len(rows), SEED), start=1):
        some = [row for row, is_on in zip(rows, chosen, strict=True) if is_on]
        name = f"mix {number}"
        variables = {key: value for row in some for key, value in row.variables.items()}
        environments.append(EnvironmentTable(name, variables or {CONTROL: name}))
        on[name] = [row.name for row in some]
    why = f"{len(rows)} of these choices, half of them at a time"
    task = AlternativesTask(stage="together", environments=on)
    return Proposal(task, _campaign("together", environments, ranks, 1, why), why)


def _confirm(
    stage: AlternativesStage,
    found: Sequence[Suspect],
    screening: Screening,
    by_name: Mapping[str, Alternative],
    ranks: int,
) -> Proposal:
    suspects = [(screening.names[one.change], one.cells) for one in found]
    environments = [EnvironmentTable(AS_IT_IS), EnvironmentTable("control", {CONTROL: "1"})]
    environments += [EnvironmentTable(f"{INSTEAD}{name}", dict(by_name[name].variables)) for name, _ in suspects]
    on = {environment.name: list[str]() for environment in environments}
    on |= {f"{INSTEAD}{name}": [name] for name, _ in suspects}
    pairs = [(f"{INSTEAD}{name}", place, False) for name, cells in suspects for place in cells]
    pairs += [("control", place, True) for place in sorted({place for _, cells in suspects for place in cells})]
    contrasts = [
        ContrastTable(
            f"{CELLS[place].cells.name}, {environment}"[:70],
            "Is it slower as the library is?",
            CELLS[place].cells.name,
            "environment",
            environment,
            AS_IT_IS,
            CELLS[place].metric,
            control=is_control,
        )
        for environment, place, is_control in pairs
    ]
    why = f"in fresh launches: {', '.join(name for name, _ in suspects)}"
    rounds = LIKELY_ROUNDS if stage == "likely" else CONFIRM_ROUNDS
    changes_start = any(QUICK_VARIABLE in by_name[name].variables for name, _ in suspects)
    task = AlternativesTask(stage=stage, environments=on, as_library_is=changes_start)
    return Proposal(task, _campaign(stage, environments, ranks, rounds, why, contrasts), why)


def _campaign(
    stage: AlternativesStage,
    environments: Sequence[EnvironmentTable],
    ranks: int,
    rounds: int,
    why: str,
    contrasts: Sequence[ContrastTable] = (),
) -> Campaign:
    names = [environment.name for environment in environments]
    cells = [
        CellsTable(one.cells.name, one.cells.experiment, one.cells.parameters, names, [_PLACE.name]) for one in CELLS
    ]
    return Campaign(
        name=f"alternatives-{stage}",
        title="Is the library's own choice slower than its alternatives?",
        ranks=[ranks],
        rounds=rounds,
        environments=list(environments),
        placements=[_PLACE],
        cells=cells,
        contrasts=list(contrasts),
        why=why,
    )


def apply(before: StepConclusion, task: AlternativesTask, results: Results, history: StepHistory) -> StepConclusion:
    """What fresh launches show to be faster is a finding, with the variable as its cause."""
    if task.stage not in ("evident", "confirm", "likely"):
        return before
    found = [one for one in judged(results, history) if one.rule in codes_refined_by("alternatives")]
    if task.stage == "likely":  # nothing spoke for it before: these launches alone have to
        found = [one for one in found if one.interval and one.interval[0] >= LIKELY_RATIO and _is_apart(one, results)]
    again = set().union(*task.environments.values())
    for earlier in before.findings:  # what it says of a choice that is measured again is replaced, but for a proof
        if earlier.rule not in codes_refined_by("alternatives") or earlier.about not in again:
            continue
        if earlier.status == "proven":
            found = [one for one in found if one.id != earlier.id]
        else:
            before = before.without(earlier.id)
    made = [replace(with_cause(one, results), run=history.step.folder) for one in found]
    return before.with_findings(made)


def _is_apart(finding: Finding, results: Results) -> bool:
    """Whether launches with the choice are faster than those without by their ranks (Mann and Whitney 1947): one that
    was lucky does not decide.
    """
    from scipy import stats

    metrics = {one.cells.name: one.metric for one in CELLS}
    values = dict[tuple[str, bool], list[float]]()
    for cell in results.cells:
        estimate = cell.estimate(metrics[cell.group], "steady")
        choice = cell.environment == f"{INSTEAD}{finding.about}"
        if estimate is not None and (choice or not cell.environment.startswith(INSTEAD)):
            values.setdefault((cell.group, choice), []).extend(estimate.launch_values)
    groups = {cell.group for cell in results.cells if cell.cell in finding.slow_cells}
    sides = [(values.get((group, True)), values.get((group, False))) for group in groups]
    return any(
        fast and slow and stats.mannwhitneyu(fast, slow, alternative="less").pvalue < LIKELY_SIGNIFICANCE
        for fast, slow in sides
    )


def summary(task: AlternativesTask, before: StepConclusion, after: StepConclusion) -> str:
    """`44 other choices, each alone; 7 rows of this library are not for this job`."""
    if task.stage == "alone":
        less = f"; {len(task.left_out)} others of this library have no effect here" if task.left_out else ""
        return f"{sum(map(bool, task.environments.values()))} other choices, each alone{less}"
    if task.stage == "again":
        return f"{sum(map(bool, task.environments.values()))} once more"
    if task.stage == "together":
        return f"{len(set().union(*task.environments.values()))} of them at once"
    fresh = after.findings[len(before.findings) :]
    return " ".join(one.text for one in fresh) or "none is faster in fresh launches"


ALTERNATIVES = StepKind(AlternativesTask, apply, summary, against=lambda _: _LIMIT)
