# SPDX-License-Identifier: Apache-2.0
"""What a run's launches report of cannon's cells in addition to their metrics: disturbances, a timeline each."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cell_results import RepetitionCounts
from slowpath.experiments.cannon.computation import LaunchComputation, of_launch
from slowpath.experiments.cannon.disturbance import Disturbance, counted, disturbance
from slowpath.experiments.cannon.runs import Runs, read_runs
from slowpath.experiments.cannon.timeline import Timeline, timeline
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.reduce import ENOUGH_CLEAN
from slowpath.experiments.measured.series import SampleBlock
from slowpath.record.events import Repetitions

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
