# SPDX-License-Identifier: Apache-2.0
"""Screening of what a library chooses by itself: what was measured of each alternative so far, and findings. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import CellsTable, Values
from slowpath.core.results import Finding, Leg, RemedyResult, Results, Snippet
from slowpath.diagnose.records import AlternativesOutcome, ScreenedSuspect
from slowpath.diagnose.sides import Condition
from slowpath.diagnose.state import MeasuredStep
from slowpath.diagnose.tasks import AlternativesTask
from slowpath.findings.difference import CLEAR_RATIO, INSTEAD
from slowpath.findings.finding import legs_missing
from slowpath.findings.remedy import Remedy, modulefile_lines, of_environment, shell_lines
from slowpath.mpi.alternatives.alternative import Operation
from slowpath.mpi.alternatives.table import ALTERNATIVES
from slowpath.mpi.mpi import QUICK_VARIABLE
from slowpath.stats.inputs import Floats
from slowpath.stats.many_changes import Suspect, Which, slower_alone, suspects

AS_IT_IS = "default"
# A variable that nothing reads: launches with it are as it is, and show what launches of one kind differ by.
CONTROL, CONTROLS = "SLOWPATH_CONTROL", 6
# Launches without the variable that Slowpath sets to start the library quickly, and the row that it is like.
LIBRARY_START, STARTS, QUICK_ROW = "library's own start", 2, "btl ^ofi"
MOST_SUSPECTS = 6
LIKELY_RATIO = 1.1  # alone over each launch as it is, and as confirmed: less is no candidate
EVIDENT_RATIO = 3.0  # times as fast as the fastest launch as it is: no mix is needed to see it
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
class Screening:
    """What was measured of alternatives so far. steps: task and results of each stage."""

    steps: Sequence[tuple[AlternativesTask, Results]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of all alternatives that were measured alone."""
        alone = (task for task, _ in self.steps if task.stage == "alone")
        return tuple(dict.fromkeys(name for task in alone for some in task.environments.values() for name in some))

    @cached_property
    def failed(self) -> Mapping[str, str]:
        """Alternative -> why no launch with it alone measured anything: it is not slower, it does not work."""
        found: dict[str, str] = {}
        for task, results in self.steps:
            if task.stage != "alone":
                continue
            for environment, some in task.environments.items():
                cells = [cell for cell in results.cells if cell.environment == environment]
                if some and cells and not any(cell.metrics for cell in cells):
                    numbers = {cell.cell for cell in cells}
                    rows = (row.launch_reason or row.reason for row in results.skipped if row.cell in numbers)
                    found[some[0]] = next(rows, "no launch with it worked")
        return found

    @cached_property
    def slower(self) -> tuple[str, ...]:
        """Alternatives that slow down some cell by themselves."""
        on, logs = self._launches(("alone", "again"))
        return tuple(self.names[number] for number in slower_alone(on, logs)) if len(on) else ()

    @cached_property
    def evident(self) -> list[Suspect]:
        """Alternatives whose only launch is faster by EVIDENT_RATIO in some cell than each one with none of them."""
        on, logs = self._launches(("alone",))
        if not len(on):
            return []
        least = np.fmin.reduce(logs[~on.any(axis=1)])
        found = []
        for change in range(on.shape[1]):
            gains = least - np.fmin.reduce(logs[on[:, change]])
            cells = [place for place in np.argsort(-gains).tolist() if gains[place] > math.log(EVIDENT_RATIO)]
            if cells:
                found.append(Suspect(change, tuple(cells), tuple(float(math.exp(gains[place])) for place in cells)))
        return sorted(found, key=lambda one: one.ratios[0], reverse=True)[:MOST_SUSPECTS]

    @cached_property
    def suspects(self) -> list[Suspect]:
        """Alternatives that look faster in some cell: `names[change]`, and places in CELLS."""
        on, logs = self._launches(("alone", "again", "together"))
        if not len(on):
            return []
        found = suspects(on, logs)
        start = self._of_start(logs[~on.any(axis=1)])
        if start is not None and start.change not in [one.change for one in found]:
            found = [start, *found]
        return found[:MOST_SUSPECTS]

    def _of_start(self, usual: Floats) -> Suspect | None:
        """The row that is like the quick start, where each launch without it is slower than all that are as usual.

        Args: usual: logs of these, shape (launches, cells).
        """
        task, results = self.steps[0]
        names = [name for name in task.environments if name.startswith(LIBRARY_START)]
        logs = np.array([[_log(results, name, one) for one in CELLS] for name in names], dtype=np.float64)
        if not names or QUICK_ROW not in self.names:
            return None
        least = np.min(logs, axis=0) - np.nanmedian(usual, axis=0)
        beyond = (np.min(logs, axis=0) > np.nanmax(usual, axis=0)) & (least > math.log(CLEAR_RATIO))
        cells = sorted(np.flatnonzero(beyond).tolist(), key=lambda cell: -least[cell])
        ratios = tuple(float(math.exp(least[cell])) for cell in cells)
        return Suspect(self.names.index(QUICK_ROW), tuple(cells), ratios) if cells else None

    @property
    def outcome(self) -> AlternativesOutcome | None:
        """For diagnosis.json; None: nothing was measured yet."""
        alone = next((task for task, _ in self.steps if task.stage == "alone"), None)
        if alone is None:
            return None
        cells = [one.cells.name for one in CELLS]
        known = {one.change for one in self.suspects}
        every = [*self.suspects, *(one for one in self.evident if one.change not in known)]
        return AlternativesOutcome(
            rows=len(self.names),
            failed=dict(self.failed),
            slower=list(self.slower),
            suspects=[
                ScreenedSuspect(
                    name=self.names[one.change], cells=[cells[place] for place in one.cells], ratios=list(one.ratios)
                )
                for one in every
            ],
            left_out=alone.left_out,
        )

    def best_of_each_variable(self, variables: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Alternatives for mixes: of those that work and slow nothing down, one for each variable, the fastest.

        Args: variables: alternative -> what it sets; of those that apply.
        """
        on, logs = self._launches(("alone", "again"))
        usual = np.nanmedian(logs[~on.any(axis=1)], axis=0)
        out = {*self.failed, *self.slower}
        gains = {
            name: float(np.nanmin(logs[on[:, number]] - usual, initial=math.inf))
            for number, name in enumerate(self.names)
            if name not in out and name in variables
        }
        chosen, taken = list[str](), set[str]()
        for name in sorted(gains, key=lambda one: gains[one]):
            if not taken & variables[name].keys():
                chosen.append(name)
                taken |= variables[name].keys()
        return [name for name in self.names if name in chosen]

    def likely(self, variables: Mapping[str, Mapping[str, str]]) -> list[Suspect]:
        """Alternatives that no mix shows beyond its noise: one for each variable, alone faster than every launch as it
        is, those with the largest gain alone and in mixes first. Most are so by chance.

        Args: variables: as of best_of_each_variable.
        """
        on, logs = self._launches(("alone", "again", "together"))
        plain, mixed = ~on.any(axis=1), on.sum(axis=1) > 1
        if not plain.any():
            return []
        least = np.fmin.reduce(logs[plain])
        scored = list[tuple[float, Suspect]]()
        for name in self.best_of_each_variable(variables):
            change = self.names.index(name)
            alone = least - np.fmin.reduce(logs[on[:, change] & ~mixed])
            cells = [place for place in np.argsort(-alone).tolist() if alone[place] > math.log(LIKELY_RATIO)]
            if not cells:
                continue
            with_it, without = logs[mixed & on[:, change]], logs[mixed & ~on[:, change]]
            also = np.nanmedian(without, axis=0) - np.nanmedian(with_it, axis=0) if len(with_it) and len(without) else 0
            score = float(np.max((alone + np.maximum(also, 0))[cells]))
            ratios = tuple(float(math.exp(alone[place])) for place in cells)
            scored.append((score, Suspect(change, tuple(cells), ratios)))
        return [one for _, one in sorted(scored, key=lambda pair: pair[0], reverse=True)][:MOST_SUSPECTS]

    def _launches(self, stages: Sequence[str]) -> tuple[Which, Floats]:
        """Which alternatives are on in each environment, and logs of its times in CELLS."""
        on, logs = list[list[bool]](), list[list[float]]()
        for task, results in self.steps:
            if task.stage not in stages:
                continue
            for environment, some in task.environments.items():
                if environment.startswith(LIBRARY_START):
                    continue
                on.append([name in some for name in self.names])
                logs.append([_log(results, environment, one) for one in CELLS])
        return np.array(on, dtype=np.bool_), np.array(logs, dtype=np.float64)


def screening_of(measured: Sequence[MeasuredStep]) -> Screening:
    """What the steps so far have of it."""
    return Screening([(one.step.task, one.results) for one in measured if isinstance(one.step.task, AlternativesTask)])


def _log(results: Results, environment: str, one: ScreeningCell) -> float:
    """Of its time; nan: it has none."""
    found = (c for c in results.cells if c.environment == environment and c.group == one.cells.name)
    estimates = (cell.estimate(one.metric, "steady") for cell in found)
    value = next((estimate.value for estimate in estimates if estimate is not None), None)
    return math.log(value) if value else math.nan


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
    rows = (row for row in ALTERNATIVES if row.name == name and row.applies.library in (None, library))
    return [f"how one sees that it is taken: {row.seen}" for row in rows][:1]


def remedies_of(finding: Finding, fast_under: Condition) -> list[Remedy]:
    """What a trial sets.  Args: fast_under: the environment in which it was seen to be faster."""
    return [of_environment(listed, fast_under.variables) for listed in finding.remedies]


def changes_start(finding: Finding) -> bool:
    """Whether it is about a variable that Slowpath itself sets to start the library quickly."""
    return any(QUICK_VARIABLE in row.variables for row in ALTERNATIVES if row.name == finding.about)
