# SPDX-License-Identifier: Apache-2.0
"""Every launch of a run, reduced: what cells and contrasts are made from."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.plan import Cell, Plan
from slowpath.core.twins import twins_of
from slowpath.experiments.cannon.observed import EXPERIMENT as CANNON
from slowpath.experiments.cannon.observed import Observed
from slowpath.experiments.measured.load import LaunchRecord, first_good_launches
from slowpath.experiments.measured.reduce import Reduced, reduce
from slowpath.experiments.measured.series import Absent, Block
from slowpath.experiments.metrics import derive
from slowpath.experiments.p2p.who_pays import Split, splits

_WITNESSED = "witnessed launches count calls, which takes time: their times stand for nothing"
_BELOW_THE_CLOCK = "a sample is not above 0 ns: it is shorter than a step of the clock"


class Measurements:
    """By cell, metric and phase, then by round: the launch's number and its reduced samples.

    absent: (cell, metric) -> why it is in no launch.  splits: (cell, phase) -> one Split a launch.
    no_split: cell -> why it has none.  cannon: of that experiment's cells.  launches_of: cell -> the launches that
    measured it.  twins: witnessed cells, which have no times, and whose they count for.
    """

    def __init__(self, plan: Plan, launches: Sequence[LaunchRecord]) -> None:
        self.by_series: dict[tuple[int, str, str], dict[int, tuple[int, Reduced]]] = {}
        self.absent: dict[tuple[int, str], str] = {}
        self.splits: dict[tuple[int, str], list[Split]] = {}
        self.no_split: dict[int, str] = {}
        self.cannon = Observed()
        self.launches_of: dict[int, list[LaunchRecord]] = {}
        cells = {cell.cell: cell for cell in plan.cells}
        self.twins = twins_of(plan)
        chosen = first_good_launches(launches)
        for launch in launches:
            numbers = [number for number in chosen[launch.info.launch] if number in cells]
            for number, blocks in launch.cell_blocks(numbers).items():
                self.launches_of.setdefault(number, []).append(launch)
                if number in self.twins.witnessed:
                    self.no_split[number] = _WITNESSED
                    continue
                self._add_metrics(cells[number], launch, blocks)
                self._add_split(cells[number], launch, blocks)
                if cells[number].experiment == CANNON:
                    self.cannon.add(number, launch.info.launch, blocks, launch.job(number))
        measured = {(cell, metric) for cell, metric, _ in self.by_series}
        self.absent = {key: why for key, why in self.absent.items() if key not in measured}

    def _add_metrics(self, cell: Cell, launch: LaunchRecord, blocks: Sequence[Block]) -> None:
        derived = derive(cell.experiment, cell.parameters, blocks, launch.job(cell.cell))
        for metric, found in derived.items():
            if isinstance(found, Absent):
                self.absent[cell.cell, metric] = found.reason
                continue
            for phase, series in found.items():
                reduced = reduce(series)
                if reduced is None:
                    self.absent[cell.cell, metric] = _BELOW_THE_CLOCK
                    continue
                rounds = self.by_series.setdefault((cell.cell, metric, phase), {})
                rounds[launch.info.round] = (launch.info.launch, reduced)

    def _add_split(self, cell: Cell, launch: LaunchRecord, blocks: Sequence[Block]) -> None:
        found = splits(cell.parameters, blocks, launch.job(cell.cell))
        if isinstance(found, Absent):
            self.no_split[cell.cell] = found.reason
            return
        for phase, one in found.items():
            self.splits.setdefault((cell.cell, phase), []).append(one)
