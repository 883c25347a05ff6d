# SPDX-License-Identifier: Apache-2.0
"""Alternatives: is what the library chose by itself slower than another choice that it has?

Each alternative is launched alone. Those that were faster than every launch as the library is get fresh launches, as
the best of many looks better than it is. A trial proves what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.results import Finding, Leg, RemedyResult, Results, Snippet
from slowpath.diagnose.sides import Condition
from slowpath.diagnose.state import MeasuredStep, Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind, judged
from slowpath.diagnose.tasks import AlternativesOutcome, AlternativesTask
from slowpath.findings.facts import INSTEAD
from slowpath.findings.finding import legs_missing
from slowpath.findings.slow_path import Remedy, modulefile_lines, of_environment, shell_lines
from slowpath.mpi.alternatives import Alternative, Applicable, Operation, PlaceFacts, all_alternatives, alternatives_of
from slowpath.run.schedule import Against
from slowpath.slowpaths.registry import codes_refined_by

LEAST_BUDGET_S = 300.0  # of a diagnosis that was asked for nothing in particular
CONFIRM_ROUNDS = 10
SIGNIFICANCE = 0.002  # of one choice in one cell: 6 choices in 1 or 2 cells each are tried
MOST_SUSPECTS = 6
LEAST_RATIO = 1.1  # alone over each launch as it is, and as confirmed: less is no candidate
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
    for one in measured:
        if isinstance(one.step.task, AlternativesTask) and one.step.task.stage == "alone":
            return _outcome(one.step.task, one.results)
    return None


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
    clear = {
        name: {cell: ratio for cell, ratio in sorted(some.items(), key=lambda row: -row[1]) if ratio > LEAST_RATIO}
        for name, some in gains.items()
    }
    found = sorted((name for name in clear if clear[name]), key=lambda one: (one in slower, -max(clear[one].values())))
    reasons = {cell.cell: cell.environment for cell in results.cells}
    why = {reasons[row.cell]: row.launch_reason or row.reason for row in results.skipped if row.cell in reasons}
    return AlternativesOutcome(
        rows=len(task.rows),
        failed={name: why.get(f"{INSTEAD}{name}", "no launch with it worked") for name in task.rows if not gains[name]},
        slower=slower,
        suspects={name: clear[name] for name in found},
        left_out=task.left_out,
    )


def applicable(state: State) -> Applicable:
    """The alternatives of this library that may change something here, and why others can't."""
    facts = PlaceFacts(state.ranks, state.job.nodes, state.gpus, state.listed() if state.listed else None)
    library, shown = state.library, [operation for _, _, operation in CELLS]
    return alternatives_of(library.name, library.version, library.transport, facts, state.environ, shown)


def propose(state: State) -> Iterator[Proposal]:
    """The next of these runs, where it was asked for or a long budget has time left."""
    asked = bool(state.asked.rules & codes_refined_by("alternatives"))
    if not asked and (state.asked or not LEAST_BUDGET_S <= state.budget_s < math.inf):
        return
    applies, outcome, done = applicable(state), screened(state.measured), state.tasks(AlternativesTask)
    if not done and applies.rows:
        task = AlternativesTask(stage="alone", rows=[row.name for row in applies.rows], left_out=dict(applies.left_out))
        why = f"is one of the library's {len(applies.rows)} other choices faster?"
        yield Proposal(task, _campaign(task, applies.rows, state.ranks, why), why)
    elif outcome is not None and len(done) == 1:
        # A row that applied when it was measured may not do so any more: the user has set its variable since.
        rows, taken = list[Alternative](), set[str]()
        by_name = {row.name: row for row in applies.rows}
        for row in (by_name[name] for name in outcome.suspects if name in by_name):
            if not taken & row.variables.keys():
                rows.append(row)
                taken |= row.variables.keys()
        for most in (MOST_SUSPECTS, 3, 1) if rows else ():  # as many as time is left for
            task = AlternativesTask(stage="confirm", rows=[row.name for row in rows[:most]])
            why = f"in fresh launches: {', '.join(task.rows)}"
            yield Proposal(task, _campaign(task, rows[:most], state.ranks, why), why)


def _campaign(task: AlternativesTask, rows: Sequence[Alternative], ranks: int, why: str) -> Campaign:
    is_alone = task.stage == "alone"
    names = ["control", *(f"control {number}" for number in range(2, CONTROLS + 1))]
    controls = [EnvironmentTable(name, {CONTROL: name}) for name in (names if is_alone else names[:1])]
    choices = [EnvironmentTable(f"{INSTEAD}{row.name}", dict(row.variables)) for row in rows]
    environments = [EnvironmentTable(AS_IT_IS), *controls, *choices]
    compared = [] if is_alone else [names[0], *(one.name for one in choices)]
    return Campaign(
        name=f"alternatives-{task.stage}",
        title="Is the library's own choice slower than its alternatives?",
        ranks=[ranks],
        rounds=1 if is_alone else CONFIRM_ROUNDS,
        environments=environments,
        placements=[_PLACE],
        cells=[
            replace(table, environment=[one.name for one in environments], placement=[_PLACE.name])
            for table, _, _ in CELLS
        ],
        contrasts=[
            ContrastTable(
                f"{cell}, {environment}"[:70],
                "Is it slower as the library is?",
                cell,
                "environment",
                environment,
                AS_IT_IS,
                METRICS[cell],
                control=environment == names[0],
            )
            for environment in compared
            for cell in METRICS
        ],
        why=why,
    )


def apply(before: StepConclusion, task: AlternativesTask, results: Results, history: StepHistory) -> StepConclusion:
    """Return findings for what fresh launches show to be faster, with the variable as its cause."""
    if task.stage == "alone":
        return before
    confirmed = [
        finding
        for finding in judged(results, history)
        if finding.rule in codes_refined_by("alternatives")
        and finding.interval
        and finding.interval[0] >= LEAST_RATIO
        and _is_apart(finding, results)
    ]
    return before.with_findings([replace(with_cause(one, results), run=history.step.folder) for one in confirmed])


def _is_apart(finding: Finding, results: Results) -> bool:
    """Whether launches with the choice are faster than those without by their ranks (Mann and Whitney 1947): one that
    was lucky does not decide.
    """
    from scipy import stats

    values = dict[tuple[str, bool], list[float]]()
    for cell in results.cells:
        estimate = cell.estimate(METRICS[cell.group], "steady")
        choice = cell.environment == f"{INSTEAD}{finding.about}"
        if estimate is not None and (choice or not cell.environment.startswith(INSTEAD)):
            values.setdefault((cell.group, choice), []).extend(estimate.launch_values)
    groups = {cell.group for cell in results.cells if cell.cell in finding.slow_cells}
    sides = [(values.get((group, True)), values.get((group, False))) for group in groups]
    return any(
        fast and slow and stats.mannwhitneyu(fast, slow, alternative="less").pvalue < SIGNIFICANCE
        for fast, slow in sides
    )


def summary(task: AlternativesTask, before: StepConclusion, after: StepConclusion) -> str:
    """`44 other choices, each alone; 7 others of this library have no effect here`."""
    if task.stage == "alone":
        less = f"; {len(task.left_out)} others of this library have no effect here" if task.left_out else ""
        return f"{len(task.rows)} other choices, each alone{less}"
    fresh = after.findings[len(before.findings) :]
    return " ".join(one.text for one in fresh) or "none is faster in fresh launches"


ALTERNATIVES = StepKind(AlternativesTask, apply, summary, against=lambda _: _LIMIT)


def with_cause(finding: Finding, results: Results) -> Finding:
    """A finding about the library's choice with its cause and what a trial sets.

    Args: results: of the run in which it was seen: the environment that is faster states the variables.
    """
    there = next((one for one in results.run.environments if one.name == f"{INSTEAD}{finding.about}"), None)
    if there is None:
        return finding
    words = " ".join(f"{name}={value}" for name, value in there.variables.items())
    shown = Leg(
        state="shown",
        text="the launches differ in this variable alone",
        evidence=[f"with {words} it is faster", *_controls(results), *_how_seen(finding.about, results)],
    )
    legs = replace(finding.legs, explained=shown)
    listed = RemedyResult(
        name=finding.about,
        text=f"Set {words}.",
        phrase=words,
        snippet=Snippet(shell=shell_lines(there.variables, []), modulefile=modulefile_lines(there.variables, [])),
        removed_ratio=None,
        side_effects=["the library's choices elsewhere: set it only where it was measured"],
        verdict="not tried",
        reason="no trial was run",
    )
    return replace(
        finding,
        status="explained",
        cause=f"The library is slower here without {words}.",
        hypotheses=[],
        legs=legs,
        missing=legs_missing(legs),
        remedies=[listed],
        next=["try the remedy in interleaved pairs, with a control"],
    )


def _controls(results: Results) -> list[str]:
    """What a variable that nothing reads did in the same launches."""
    found = []
    for one in results.contrasts:
        if one.control and one.ratio is not None and one.interval is not None:
            low, high = one.interval
            found.append(f"with a variable that nothing reads: {one.ratio:.2f}x [{low:.2f}, {high:.2f}], {one.verdict}")
    return found


def _how_seen(name: str, results: Results) -> list[str]:
    """How one sees that the library takes the choice."""
    library = results.run.mpi.name
    rows = (row for row in all_alternatives() if row.name == name and row.applies.library in (None, library))
    return [f"how one sees that it is taken: {row.seen}" for row in rows][:1]


def remedies_of(finding: Finding, fast_under: Condition) -> list[Remedy]:
    """What a trial sets.  Args: fast_under: the environment in which it was seen to be faster."""
    return [of_environment(listed, fast_under.variables) for listed in finding.remedies]
