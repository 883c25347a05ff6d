# SPDX-License-Identifier: Apache-2.0
"""What a run's launches report of cannon's cells in addition to their metrics: disturbances, a timeline each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cannon_results import TimelineInterval
from slowpath.core.cell_results import RepetitionCounts
from slowpath.experiments.cannon.clock import over_repetitions
from slowpath.experiments.cannon.computation import LaunchComputation, of_launch
from slowpath.experiments.cannon.disturbance import Disturbance, Mask, counted, disturbance
from slowpath.experiments.cannon.runs import PARTS, TOTAL, Runs, read_runs
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.reduce import ENOUGH_CLEAN
from slowpath.experiments.measured.series import NS, SampleBlock
from slowpath.record.events import Intervals, Repetitions

MOST_INTERVALS = 4000  # of one repetition in results.json; the record holds them all


@dataclass(frozen=True)
class Timeline:
    """One repetition. intervals: as in docs/reference/results.md, by rank and begin; empty where `reason` says why."""

    launch: int
    repetition: int
    length_s: float
    one_clock: bool
    intervals: list[TimelineInterval]
    reason: str | None
    clock_hz: float | None = None


def timeline(runs: Runs, job: LaunchContext, launch: int, clean: Mask | None) -> Timeline:
    """The repetition of median length among those that stand for the launch; of two in the middle the shorter one."""
    length_s = runs.length_s(job.one_node)
    candidates = np.arange(runs.count)
    if clean is not None and int(clean.sum()) >= ENOUGH_CLEAN:
        candidates = candidates[clean]
    chosen = int(candidates[np.argsort(length_s[candidates], kind="stable")[(candidates.size - 1) // 2]])
    found = _intervals(runs, job, chosen)
    intervals, reason = ([], found) if isinstance(found, str) else (found, None)
    clock_hz = over_repetitions(job.repetitions, chosen)
    return Timeline(launch, chosen, float(length_s[chosen]), job.one_node, intervals, reason, clock_hz)


def _intervals(runs: Runs, job: LaunchContext, repetition: int) -> list[TimelineInterval] | str:
    count = sum(table.shape[1] for table in runs.duration_ns.values())
    if count > MOST_INTERVALS:
        return f"{count} intervals are too many to show; the record holds them"
    steps = _steps(job.intervals)
    starts = [int(runs.begin_ns[rank, TOTAL][repetition, 0]) for rank in range(runs.size)]
    found = []
    for (rank, part), begins in runs.begin_ns.items():
        of_part = steps.get((rank, part), ())
        if len(of_part) != begins.shape[1]:
            return "the engine did not say which step each interval belongs to"
        zero_ns = min(starts) if job.one_node else starts[rank]
        spent = runs.duration_ns[rank, part][repetition]
        for step, begin, length in zip(of_part, begins[repetition], spent, strict=True):
            begin_s, end_s = (float(ns - zero_ns) * NS for ns in (begin, begin + length))
            name = PARTS.get(part, f"part {part}")
            found.append(TimelineInterval(rank=rank, part=name, step=step, begin_s=begin_s, end_s=end_s))
    return sorted(found, key=lambda one: (one.rank, one.begin_s, -one.end_s))


def _steps(said: Sequence[Intervals]) -> dict[tuple[int, int], tuple[int, ...]]:
    return {(event.rank, event.part): event.steps for event in said}


EXPERIMENT = "cannon"
_TURNS = "ranks share processors, so switches between them are no disturbance"
_NO_LOAD = "what other processes used was not reported"


class Observed:
    """By cell, gathered launch by launch.

    disturbances: one a launch that reported.  why_not: why some launch did not.  timelines: of the first launch.
    repetitions_of: cell -> the events of all ranks and launches.
    computations: cell -> how its local multiplications vary, by launch.
    stamps: (cell, launch) -> intervals of one repetition inside the multiplication, mean over ranks.
    """

    def __init__(self) -> None:
        self.disturbances: dict[int, list[Disturbance]] = {}
        self.why_not: dict[int, str] = {}
        self.timelines: dict[int, Timeline] = {}
        self.repetitions_of: dict[int, list[Repetitions]] = {}
        self.computations: dict[int, list[LaunchComputation]] = {}
        self.stamps: dict[tuple[int, int], float] = {}

    def add(self, cell: int, launch: int, blocks: Sequence[SampleBlock], job: LaunchContext) -> None:
        """One launch's blocks of a cell of this experiment."""
        runs = read_runs(blocks, job)
        if not isinstance(runs, Runs):
            self.why_not.setdefault(cell, runs.reason)
            return
        self.stamps[cell, launch] = runs.stamps
        self.repetitions_of.setdefault(cell, []).extend(job.repetitions)
        if (varies := of_launch(runs, job.repetitions)) is not None:
            self.computations.setdefault(cell, []).append(varies)
        found = disturbance(runs.length_s(job.one_node), job.repetitions, job.take_turns)
        if isinstance(found, Disturbance):
            self.disturbances.setdefault(cell, []).append(found)
        else:
            self.why_not.setdefault(cell, found)
        if cell not in self.timelines:
            clean = found.clean if isinstance(found, Disturbance) else None
            self.timelines[cell] = timeline(runs, job, launch, clean)

    def repetitions(self, cell: int) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""
        reported = self.disturbances.get(cell)
        if not reported:
            return None, self.why_not.get(cell, "no launch measured the cell")
        found = counted(reported, ENOUGH_CLEAN)
        whys = [why for count, why in ((found.switched, _TURNS), (found.loaded, _NO_LOAD)) if count is None]
        return found, "; ".join(whys) or None
