# SPDX-License-Identifier: Apache-2.0
"""Alternatives: is what the library chose by itself slower than another choice that it has?

Each alternative is launched alone. Those that were faster than every launch as the library is get fresh launches, as
the best of many looks better than it is. A trial proves what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.results import Finding, Leg, RemedyResult, Results, Snippet
from slowpath.diagnose.sides import Condition
from slowpath.diagnose.state import MeasuredStep, Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind, judged
from slowpath.diagnose.tasks import AlternativesOutcome, AlternativesTask, ScreenedSuspect
from slowpath.findings.facts import CLEAR_RATIO, INSTEAD
from slowpath.findings.finding import legs_missing
from slowpath.findings.slow_path import Remedy, modulefile_lines, of_environment, shell_lines
from slowpath.mpi.alternatives import Alternative, Applicable, Operation, PlaceFacts, all_alternatives, alternatives_of
from slowpath.mpi.mpi import QUICK_VARIABLE
from slowpath.run.schedule import Against
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.stats.estimate import Floats

LEAST_BUDGET_S = 300.0  # of a diagnosis that was asked for nothing in particular
CONFIRM_ROUNDS = 10
SIGNIFICANCE = 0.002  # of one choice in one cell: 6 choices in 1 or 2 cells each are tried
MOST_SUSPECTS = 6
LEAST_RATIO = 1.1  # alone over each launch as it is, and as confirmed: less is no candidate
SLOWER_RATIO = 1.25  # alone over the launches as the library is: it slows down that cell
AS_IT_IS = "default"
# A variable that nothing reads: launches with it are as it is, and show what launches of one kind differ by.
CONTROL, CONTROLS = "SLOWPATH_CONTROL", 6
# Launches without the variable that Slowpath sets to start the library quickly, and the row that it is like.
LIBRARY_START, STARTS, QUICK_ROW = "library's own start", 2, "btl ^ofi"
_PLACE = PlacementTable("bound", "core")
# A choice that takes so long is no better one. A launch takes less than 1 s: while no launch as the library is has
# ended, one that takes 12 s hangs.
_LIMIT = Against(AS_IT_IS, _PLACE.name, 8.0, 3.0, 12.0)
_BRIEF: Mapping[str, Values] = {"time_limit_s": 0.02, "warmup_s": 0.003}
_PING: Mapping[str, Values] = {**_BRIEF, "pattern": "ping_pong"}


@dataclass(frozen=True)
class ScreeningCell:
    """One short cell. shows: the operations that it is about."""

    cells: CellsTable
    metric: str
    shows: tuple[Operation, ...]


CELLS: tuple[ScreeningCell, ...] = (
    ScreeningCell(
        CellsTable("8 B", "p2p", {**_PING, "message_bytes": "8", "samples": 100}),
        "half_round_trip_latency_s",
        ("short messages",),
    ),
    ScreeningCell(
        CellsTable("64 KiB", "p2p", {**_PING, "message_bytes": "64KiB", "samples": 60}),
        "half_round_trip_latency_s",
        ("long messages",),
    ),
    ScreeningCell(
        CellsTable("1 MiB", "p2p", {**_PING, "message_bytes": "1MiB", "samples": 20}),
        "half_round_trip_latency_s",
        ("long messages",),
    ),
    ScreeningCell(
        CellsTable("allreduce", "coll", {**_BRIEF, "collective": "allreduce", "message_bytes": "8", "samples": 60}),
        "collective_work_s",
        ("MPI_Allreduce",),
    ),
    ScreeningCell(
        CellsTable("put", "put", {**_BRIEF, "design": "mpi", "instructions": 0, "puts": 200, "samples": 20}),
        "time_per_put_s",
        ("one-sided",),
    ),
)
MEASURED: tuple[Operation, ...] = tuple(dict.fromkeys(one for cell in CELLS for one in cell.shows))


@dataclass(frozen=True)
class Suspect:
    """An alternative that was faster alone. cells: places in CELLS, the most first.  ratios: as it is over with it."""

    name: str
    cells: tuple[int, ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Screening:
    """What was measured of alternatives so far. steps: task and results of each stage."""

    steps: Sequence[tuple[AlternativesTask, Results]]

    @cached_property
    def alone(self) -> tuple[AlternativesTask, Results] | None:
        """The launches with one alternative each; None: not made yet."""
        return next((made for made in self.steps if made[0].stage == "alone"), None)

    @cached_property
    def failed(self) -> Mapping[str, str]:
        """Alternative -> why no launch with it alone measured anything: it is not slower, it does not work."""
        failed: dict[str, str] = {}
        if self.alone is None:
            return failed
        task, results = self.alone
        for environment, names in task.environments.items():
            cells = [cell for cell in results.cells if cell.environment == environment]
            if names and cells and not any(cell.metrics for cell in cells):
                numbers = {cell.cell for cell in cells}
                rows = (row.launch_reason or row.reason for row in results.skipped if row.cell in numbers)
                failed[names[0]] = next(rows, "no launch with it worked")
        return failed

    @cached_property
    def slower(self) -> list[str]:
        """Alternatives that slow down some cell by themselves."""
        limit = np.nanmedian(self._plain, axis=0) + math.log(SLOWER_RATIO)
        return [name for name, logs in self._logs.items() if np.any(logs > limit)]

    @cached_property
    def suspects(self) -> list[Suspect]:
        """Alternatives that were faster in some cell than each launch as the library is; those that slow down another
        cell come last, and of those that set the same variable only the first is there.
        """
        least = np.fmin.reduce(self._plain)
        suspects = [
            suspect
            for name, logs in self._logs.items()
            if (suspect := _suspect(name, least - logs, math.log(LEAST_RATIO))) is not None
        ]
        suspects.sort(key=lambda suspect: (suspect.name in self.slower, -suspect.ratios[0]))
        return [*self._of_start, *(one for one in suspects if one.name != QUICK_ROW or not self._of_start)]

    @cached_property
    def _of_start(self) -> list[Suspect]:
        """The row that is like the quick start, where each launch without it is slower than all that are as usual."""
        if self.alone is None or QUICK_ROW not in self._logs:
            return []
        task, results = self.alone
        started = [_logs(results, name) for name in task.environments if name.startswith(LIBRARY_START)]
        if not started:
            return []
        least = np.min(started, axis=0)
        gains = np.where(least > np.nanmax(self._plain, axis=0), least - np.nanmedian(self._plain, axis=0), 0.0)
        suspect = _suspect(QUICK_ROW, gains, math.log(CLEAR_RATIO))
        return [] if suspect is None else [suspect]

    @cached_property
    def outcome(self) -> AlternativesOutcome | None:
        """For diagnosis.json; None: nothing was measured yet."""
        if self.alone is None:
            return None
        return AlternativesOutcome(
            rows=sum(map(bool, self.alone[0].environments.values())),
            failed=dict(self.failed),
            slower=self.slower,
            suspects=[
                ScreenedSuspect(
                    name=suspect.name,
                    cells=[CELLS[place].cells.name for place in suspect.cells],
                    ratios=list(suspect.ratios),
                )
                for suspect in self.suspects[:MOST_SUSPECTS]
            ],
            left_out=self.alone[0].left_out,
        )

    @cached_property
    def _logs(self) -> Mapping[str, Floats]:
        """Alternative that works -> logs of its times in CELLS, alone."""
        if self.alone is None:
            return {}
        task, results = self.alone
        return {
            names[0]: _logs(results, environment)
            for environment, names in task.environments.items()
            if names and names[0] not in self.failed
        }

    @cached_property
    def _plain(self) -> Floats:
        """The same of launches as the library is, shape (launches, cells)."""
        if self.alone is None:
            return np.empty((0, len(CELLS)))
        task, results = self.alone
        plain = [name for name, on in task.environments.items() if not on and not name.startswith(LIBRARY_START)]
        return np.array([_logs(results, environment) for environment in plain], dtype=np.float64)


def _suspect(name: str, gains: Floats, least: float) -> Suspect | None:
    """Args: gains: log ratio of each cell.  least: of them that counts."""
    cells = [place for place in np.argsort(-gains).tolist() if gains[place] > least]
    return Suspect(name, tuple(cells), tuple(float(math.exp(gains[place])) for place in cells)) if cells else None


def screening_of(measured: Sequence[MeasuredStep]) -> Screening:
    """Return what the steps so far have of it."""
    return Screening([(one.step.task, one.results) for one in measured if isinstance(one.step.task, AlternativesTask)])


def _logs(results: Results, environment: str) -> Floats:
    """Return the logs of its times in CELLS; nan: it has none."""
    logs = []
    for screening_cell in CELLS:
        cells = (c for c in results.cells if (c.environment, c.group) == (environment, screening_cell.cells.name))
        estimates = (cell.estimate(screening_cell.metric, "steady") for cell in cells)
        value = next((estimate.value for estimate in estimates if estimate is not None), None)
        logs.append(math.log(value) if value else math.nan)
    return np.array(logs, dtype=np.float64)


def applicable(state: State) -> Applicable:
    """The alternatives of this library that may change something here, and why others can't."""
    facts = PlaceFacts(state.ranks, state.job.nodes, state.gpus, state.listed() if state.listed else None)
    library = state.library
    return alternatives_of(library.name, library.version, library.transport, facts, state.environ, MEASURED)


def propose(state: State) -> Iterator[Proposal]:
    """The next of these runs, where it was asked for or a long budget has time left."""
    asked = bool(state.asked.rules & codes_refined_by("alternatives"))
    if not asked and (state.asked or not LEAST_BUDGET_S <= state.budget_s < math.inf):
        return
    screening = screening_of(state.measured)
    done = {task.stage for task, _ in screening.steps}
    applies = applicable(state)
    by_name = {row.name: row for row in applies.rows}
    if not done and applies.rows:
        yield _alone(applies, state.ranks)
    elif done == {"alone"}:
        # A row that applied when it was measured may not do so any more: the user has set its variable since.
        suspects, taken = list[Suspect](), set[str]()
        for suspect in screening.suspects:
            row = by_name.get(suspect.name)
            if row is not None and not taken & row.variables.keys():
                suspects.append(suspect)
                taken |= row.variables.keys()
        suspects = suspects[:MOST_SUSPECTS]
        yield from (  # as many as time is left for
            _confirm(suspects[:most], by_name, state.ranks)
            for most in dict.fromkeys((len(suspects), 3, 1))
            if 0 < most <= len(suspects)
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
    return Proposal(task, _campaign(task, environments, ranks, 1, why), why)


def _confirm(suspects: Sequence[Suspect], by_name: Mapping[str, Alternative], ranks: int) -> Proposal:
    rows = [by_name[suspect.name] for suspect in suspects]
    environments = [EnvironmentTable(AS_IT_IS), EnvironmentTable("control", {CONTROL: "1"})]
    environments += [EnvironmentTable(f"{INSTEAD}{row.name}", row.variables) for row in rows]
    on = {environment.name: list[str]() for environment in environments}
    on |= {f"{INSTEAD}{row.name}": [row.name] for row in rows}
    pairs = [(f"{INSTEAD}{suspect.name}", place, False) for suspect in suspects for place in suspect.cells]
    pairs += [("control", place, True) for place in sorted({place for one in suspects for place in one.cells})]
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
    why = f"in fresh launches: {', '.join(row.name for row in rows)}"
    changes_start = any(QUICK_VARIABLE in row.variables for row in rows)
    task = AlternativesTask(stage="confirm", environments=on, as_library_is=changes_start)
    return Proposal(task, _campaign(task, environments, ranks, CONFIRM_ROUNDS, why, contrasts), why)


def _campaign(
    task: AlternativesTask,
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
        name=f"alternatives-{task.stage}",
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
        fast and slow and stats.mannwhitneyu(fast, slow, alternative="less").pvalue < SIGNIFICANCE
        for fast, slow in sides
    )


def summary(task: AlternativesTask, before: StepConclusion, after: StepConclusion) -> str:
    """`44 other choices, each alone; 7 rows of this library are not for this job`."""
    if task.stage == "alone":
        less = f"; {len(task.left_out)} others of this library have no effect here" if task.left_out else ""
        return f"{sum(map(bool, task.environments.values()))} other choices, each alone{less}"
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


def changes_start(finding: Finding) -> bool:
    """Whether it is about a variable that Slowpath itself sets to start the library quickly."""
    return any(QUICK_VARIABLE in row.variables for row in all_alternatives() if row.name == finding.about)
