# SPDX-License-Identifier: Apache-2.0
"""From the launches of a run to its measurements: each cell's blocks, by the experiment that wrote them."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.plan import Cell, Plan
from slowpath.core.twins import twins_of
from slowpath.experiments.experiment import Experiment
from slowpath.experiments.measured.load import LaunchRecord, first_good_launches
from slowpath.experiments.measured.measurements import Measurements
from slowpath.experiments.measured.reduce import reduce
from slowpath.experiments.measured.series import Absent, SampleBlock
from slowpath.experiments.registry import experiment_named

_WITNESSED = "witnessed launches count calls, which takes time: their times stand for nothing"
_BELOW_THE_CLOCK = "a sample is not above 0 ns: it is shorter than a step of the clock"


def measure(plan: Plan, launches: Sequence[LaunchRecord]) -> Measurements:
    """Every launch, reduced.

    Raises: RecordError: the record holds an experiment or a pattern that this version does not know.
    """
    found = Measurements(twins_of(plan))
    cells = {cell.cell: cell for cell in plan.cells}
    known = {name: experiment_named(name) for name in dict.fromkeys(cell.experiment for cell in plan.cells)}
    found.observers = {name: one.observer() for name, one in known.items() if one.observer is not None}
    chosen = first_good_launches(launches)
    for launch in launches:
        numbers = [number for number in chosen[launch.info.launch] if number in cells]
        for number, blocks in launch.cell_blocks(numbers).items():
            found.launches_of.setdefault(number, []).append(launch)
            if number in found.twins.witnessed:
                found.no_split[number] = _WITNESSED
                continue
            cell = cells[number]
            experiment = known[cell.experiment]
            _add_metrics(found, experiment, cell, launch, blocks)
            _add_split(found, experiment, cell, launch, blocks)
            if observer := found.observers.get(cell.experiment):
                observer.add(number, launch.info.launch, blocks, launch.context(number))
    measured = {(cell, metric) for cell, metric, _ in found.by_series}
    found.absent = {key: why for key, why in found.absent.items() if key not in measured}
    return found


def _add_metrics(
    found: Measurements, experiment: Experiment, cell: Cell, launch: LaunchRecord, blocks: Sequence[SampleBlock]
) -> None:
    derived = experiment.derive(cell.parameters, blocks, launch.context(cell.cell))
    for metric, phases in derived.items():
        if isinstance(phases, Absent):
            found.absent[cell.cell, metric] = phases.reason
            continue
        for phase, series in phases.items():
            reduced = reduce(series)
            if reduced is None:
                found.absent[cell.cell, metric] = _BELOW_THE_CLOCK
                continue
            rounds = found.by_series.setdefault((cell.cell, metric, phase), {})
            rounds[launch.info.round] = (launch.info.launch, reduced)


def _add_split(
    found: Measurements, experiment: Experiment, cell: Cell, launch: LaunchRecord, blocks: Sequence[SampleBlock]
) -> None:
    phases = experiment.split(cell.parameters, blocks, launch.context(cell.cell))
    if isinstance(phases, Absent):
        found.no_split[cell.cell] = phases.reason
        return
    for phase, one in phases.items():
        found.splits.setdefault((cell.cell, phase), []).append(one)
