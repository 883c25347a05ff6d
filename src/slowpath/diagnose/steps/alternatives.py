# SPDX-License-Identifier: Apache-2.0
"""Alternatives: is what the library chose by itself slower than another choice that it has?

Each alternative is launched alone. Those that were faster than every launch as the library is are findings, and a trial
of each takes fresh launches: the best of many looks better than it is, and what was luck is taken back there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.results import Finding, Results
from slowpath.core.units import format_time
from slowpath.diagnose.sides import Condition
from slowpath.diagnose.state import MeasuredStep, Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import AlternativesOutcome, AlternativesTask
from slowpath.findings.facts import INSTEAD, Place
from slowpath.findings.finding import build
from slowpath.findings.slow_path import Observation, Remedy, Support, of_environment
from slowpath.mpi.alternatives import Alternative, Applicable, Operation, PlaceFacts, alternatives_of
from slowpath.run.schedule import Against
from slowpath.slowpaths.registry import SLOW_PATHS, codes_refined_by

LEAST_BUDGET_S = 300.0  # of a diagnosis that was asked for nothing in particular
MOST_SUSPECTS = 3
LEAST_RATIO = 1.1  # of the fastest launch as it is over that with the choice: less is no candidate
SLOWER_RATIO = 1.25  # alone over the launches as the library is: it slows down that cell
AS_IT_IS = "default"
# A variable that nothing reads: launches with it are as it is, and show what launches of one kind differ by.
CONTROL, CONTROLS = "SLOWPATH_CONTROL", 6
_PLACE = PlacementTable("bound", "core")
# A choice that takes so long is no better one. A launch takes less than 1 s: while no launch as the library is has
# ended, one that takes 12 s hangs.
_LIMIT = Against(AS_IT_IS, _PLACE.name, 8.0, 3.0, 12.0)
_BRIEF: Mapping[str, Values] = {"time_limit_s": 0.02, "warmup_s": 0.003}
_PING: Mapping[str, Values] = {**_BRIEF, "pattern": "ping_pong"}
_LATENCY = "half_round_trip_latency_s"
_SMALL_SUM: Mapping[str, Values] = {**_BRIEF, "collective": "allreduce", "message_bytes": "8", "samples": 60}
# Short cells, with their metrics, and the operations that they are about.
CELLS: tuple[tuple[CellsTable, str, Operation], ...] = (
    (CellsTable("8 B", "p2p", {**_PING, "message_bytes": "8", "samples": 100}), _LATENCY, "short messages"),
    (CellsTable("64 KiB", "p2p", {**_PING, "message_bytes": "64KiB", "samples": 60}), _LATENCY, "long messages"),
    (CellsTable("1 MiB", "p2p", {**_PING, "message_bytes": "1MiB", "samples": 20}), _LATENCY, "long messages"),
    (CellsTable("allreduce", "coll", _SMALL_SUM), "collective_work_s", "MPI_Allreduce"),
    (
        CellsTable("put", "put", {**_BRIEF, "design": "mpi", "instructions": 0, "puts": 200, "samples": 20}),
        "time_per_put_s",
        "one-sided",
    ),
)
METRICS = {table.name: metric for table, metric, _ in CELLS}


def screened(measured: Sequence[MeasuredStep]) -> AlternativesOutcome | None:
    """What launches with one alternative each showed; None: they were not made yet."""
    tasks = ((done.step.task, done.results) for done in measured)
    return next((_outcome(task, results) for task, results in tasks if isinstance(task, AlternativesTask)), None)


def _outcome(task: AlternativesTask, results: Results) -> AlternativesOutcome:
    """An alternative is a suspect where it was faster in some cell than each launch as the library is. Those that slow
    down another cell come last.
    """
    times = dict[str, dict[str, float]]()
    for cell in results.cells:
        estimate = cell.estimate(METRICS[cell.group], "steady")
        times.setdefault(cell.environment, {}).update({cell.group: estimate.value} if estimate else {})
    with_choice = {name: times.get(f"{INSTEAD}{name}", {}) for name in task.rows}
    plain = [of_cell for environment, of_cell in times.items() if not environment.startswith(INSTEAD)]
    as_it_is = {name: values for name in METRICS if (values := [some[name] for some in plain if name in some])}
    gains = {
        name: {cell: min(as_it_is[cell]) / time_s for cell, time_s in some.items() if cell in as_it_is}
        for name, some in with_choice.items()
    }
    slower = [
        name
        for name, some in with_choice.items()
        if any(time_s > SLOWER_RATIO * median(as_it_is[cell]) for cell, time_s in some.items() if cell in as_it_is)
    ]
    # Faster by half as much again, in logarithms, as launches as the library is differ by among themselves.
    least = {cell: max(LEAST_RATIO, (max(times_s) / min(times_s)) ** 1.5) for cell, times_s in as_it_is.items()}
    clear = {
        name: {cell: ratio for cell, ratio in sorted(some.items(), key=lambda row: -row[1]) if ratio > least[cell]}
        for name, some in gains.items()
    }
    by_gain = sorted(
        (name for name in clear if clear[name]), key=lambda name: (name in slower, -max(clear[name].values()))
    )
    reasons = {cell.cell: cell.environment for cell in results.cells}
    why = {reasons[row.cell]: row.launch_reason or row.reason for row in results.skipped if row.cell in reasons}
    return AlternativesOutcome(
        rows=len(task.rows),
        failed={name: why.get(f"{INSTEAD}{name}", "no launch with it worked") for name in task.rows if not gains[name]},
        slower=slower,
        suspects={name: clear[name] for name in by_gain},
        left_out=task.left_out,
    )


def applicable(state: State) -> Applicable:
    """The alternatives of this library that may change something here, and why others can't."""
    facts = PlaceFacts(state.ranks, state.job.nodes, state.gpus, state.listed() if state.listed else None)
    library, shown = state.library, [operation for _, _, operation in CELLS]
    return alternatives_of(library.name, library.version, library.transport, facts, state.environ, shown)


def propose(state: State) -> Iterator[Proposal]:
    """The launches, where they were asked for or a long budget has time left."""
    asked = bool(state.asked.rules & codes_refined_by("alternatives"))
    if not asked and (state.asked or not LEAST_BUDGET_S <= state.budget_s < math.inf):
        return
    applies = applicable(state)
    if applies.rows and not state.tasks(AlternativesTask):
        task = AlternativesTask(rows=[row.name for row in applies.rows], left_out=dict(applies.left_out))
        why = f"{len(applies.rows)} other choices of the library"
        yield Proposal(task, _campaign(applies.rows, state.ranks, why), why)


def _campaign(rows: Sequence[Alternative], ranks: int, why: str) -> Campaign:
    names = ["control", *(f"control {number}" for number in range(2, CONTROLS + 1))]
    controls = [EnvironmentTable(name, {CONTROL: name}) for name in names]
    choices = [EnvironmentTable(f"{INSTEAD}{row.name}", dict(row.variables)) for row in rows]
    environments = [EnvironmentTable(AS_IT_IS), *controls, *choices]
    return Campaign(
        name="alternatives",
        title="Alternatives of the library",
        ranks=[ranks],
        rounds=1,
        environments=environments,
        placements=[_PLACE],
        cells=[
            replace(table, environment=[environment.name for environment in environments], placement=[_PLACE.name])
            for table, _, _ in CELLS
        ],
        contrasts=[],
        why=why,
    )


def apply(before: StepConclusion, task: AlternativesTask, results: Results, history: StepHistory) -> StepConclusion:
    """A finding for each alternative that looked faster, one for a variable, with what a trial sets as its remedy."""
    outcome, fresh, taken = _outcome(task, results), list[Finding](), set[str]()
    environments = {environment.name: environment.variables for environment in results.run.environments}
    for name, ratios in outcome.suspects.items():
        variables = environments.get(f"{INSTEAD}{name}", {})
        if variables and not taken & variables.keys() and len(fresh) < MOST_SUSPECTS:
            taken |= variables.keys()
            group, ratio = next(iter(ratios.items()))
            fresh.append(replace(_finding(name, variables, group, ratio, results), run=history.step.folder))
    return before.with_findings(fresh)


def _finding(name: str, variables: Mapping[str, str], group: str, ratio: float, results: Results) -> Finding:
    words = " ".join(f"{variable}={value}" for variable, value in variables.items())
    by_environment = {cell.environment: cell for cell in results.cells if cell.group == group}
    slow, fast = by_environment[AS_IT_IS], by_environment[f"{INSTEAD}{name}"]
    metric = METRICS[group]
    estimate = fast.estimate(metric, "steady")
    fast_s = estimate.value if estimate is not None else 0.0
    seen = Observation(
        about=name,
        place=Place(f"{group}, {results.run.mpi.name}", slow.mpi, AS_IT_IS, slow.placement),
        text=f"{group}: one launch with {words} took {format_time(fast_s)}, {ratio:.2f}x faster than "
        f"{1 + CONTROLS} with the library's defaults.",
        metric=metric,
        phase="steady",
        ratio=ratio,
        interval=None,
        excess_s=(ratio - 1) * fast_s,
        affects_default=True,
        cells=(slow.cell, fast.cell),
        axis="environment",
        slow_cells=(slow.cell,),
        fast_cells=(fast.cell,),
        exports=variables,
    )
    (path,) = (path for path in SLOW_PATHS if path.code in codes_refined_by("alternatives"))
    return build(path, seen, Support("missing"), results.run.mpi)


def summary(task: AlternativesTask, before: StepConclusion, after: StepConclusion) -> str:
    """`44 other choices, each alone; 7 others of this library have no effect here`."""
    fresh = after.findings[len(before.findings) :]
    return " ".join([f"{len(task.rows)} other choices, each alone.", *(finding.text for finding in fresh)])


ALTERNATIVES = StepKind(AlternativesTask, apply, summary, against=lambda _: _LIMIT)


def remedies_of(finding: Finding, fast_under: Condition) -> list[Remedy]:
    """What a trial sets.  Args: fast_under: the environment in which it was seen to be faster."""
    return [of_environment(listed, fast_under.variables) for listed in finding.remedies]
