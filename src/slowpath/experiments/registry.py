# SPDX-License-Identifier: Apache-2.0
"""Every experiment, in the order in which pages list them, what follows from the list, and what measures a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.plan import Cell, Plan, Roles, twins_of
from slowpath.experiments.cannon.experiment import CANNON
from slowpath.experiments.coll import COLL
from slowpath.experiments.experiment import Experiment, Metric, Pattern
from slowpath.experiments.first_use import FIRST_USE
from slowpath.experiments.measured import (
    NO_SAMPLES,
    Absent,
    Derived,
    LaunchContext,
    LaunchRecord,
    Measurements,
    SampleBlock,
    first_good_launches,
    per_operation,
    reduce,
)
from slowpath.experiments.nodes import NODES
from slowpath.experiments.p2p import P2P
from slowpath.experiments.put import PUT

# Operations that only other benchmarks measure (docs/how-to/other-tools.md).


def _operation(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The one batch that a printed mean stands for."""
    return {"operation_s": per_operation(blocks, 0, 1) or NO_SAMPLES}


_PRINTED_MEAN = "one operation as another benchmark printed it: mean over its repetitions"
PRINTED = Experiment(
    name="printed",
    patterns=(Pattern("operation", _operation, (Metric("operation_s", "s", "lower", _PRINTED_MEAN),)),),
    roles={"message_bytes": "covariate"},
)

EXPERIMENTS: tuple[Experiment, ...] = (
    P2P,
    COLL,
    FIRST_USE,
    NODES,
    PUT,
    CANNON,
    PRINTED,
)

METRICS: dict[str, Metric] = {metric.name: metric for experiment in EXPERIMENTS for metric in experiment.metrics}
ROLES: Roles = {name: role for experiment in EXPERIMENTS for name, role in experiment.roles.items()}


def experiment_named(name: str) -> Experiment:
    """The experiment of this name; one of which nothing but the name is known where there is none."""
    return next((experiment for experiment in EXPERIMENTS if experiment.name == name), Experiment(name))


def not_comparable(experiment: str, metric: str, axis: str) -> str | None:
    """Why this metric's two sides would time unlike things along this axis; None: they can be compared."""
    known_metric = next(
        (candidate for candidate in experiment_named(experiment).metrics if candidate.name == metric), None
    )
    return known_metric.not_across.get(axis) if known_metric else None


_WITNESSED = "witnessed launches have no times"
_BELOW_THE_CLOCK = "a sample is shorter than a step of the clock"


def measure(plan: Plan, launches: Sequence[LaunchRecord]) -> Measurements:
    """Every launch, reduced.

    Raises: RecordError: the record holds an experiment or a pattern that this version does not know.
    """
    measurements = Measurements(twins_of(plan))
    cells = {cell.cell: cell for cell in plan.cells}
    known = {name: experiment_named(name) for name in dict.fromkeys(cell.experiment for cell in plan.cells)}
    measurements.observers = {
        name: experiment.observer() for name, experiment in known.items() if experiment.observer is not None
    }
    chosen = first_good_launches(launches)
    for launch in launches:
        numbers = [number for number in chosen[launch.info.launch] if number in cells]
        for number, blocks in launch.cell_blocks(numbers).items():
            measurements.launches_of.setdefault(number, []).append(launch)
            if number in measurements.twins.witnessed:
                measurements.no_split[number] = _WITNESSED
                continue
            cell = cells[number]
            experiment = known[cell.experiment]
            _add_metrics(measurements, experiment, cell, launch, blocks)
            _add_split(measurements, experiment, cell, launch, blocks)
            if observer := measurements.observers.get(cell.experiment):
                observer.add(number, launch.info.launch, blocks, launch.context(number))
    measured = {(cell, metric) for cell, metric, _ in measurements.by_series}
    measurements.absent = {key: why for key, why in measurements.absent.items() if key not in measured}
    return measurements


def _add_metrics(
    measurements: Measurements, experiment: Experiment, cell: Cell, launch: LaunchRecord, blocks: Sequence[SampleBlock]
) -> None:
    derived = experiment.derive(cell.parameters, blocks, launch.context(cell.cell))
    for metric, phases in derived.items():
        if isinstance(phases, Absent):
            measurements.absent[cell.cell, metric] = phases.reason
            continue
        for phase, series in phases.items():
            reduced = reduce(series)
            if reduced is None:
                measurements.absent[cell.cell, metric] = _BELOW_THE_CLOCK
                continue
            rounds = measurements.by_series.setdefault((cell.cell, metric, phase), {})
            rounds[launch.info.round] = (launch.info.launch, reduced)


def _add_split(
    measurements: Measurements, experiment: Experiment, cell: Cell, launch: LaunchRecord, blocks: Sequence[SampleBlock]
) -> None:
    phases = experiment.split(cell.parameters, blocks, launch.context(cell.cell))
    if isinstance(phases, Absent):
        measurements.no_split[cell.cell] = phases.reason
        return
    for phase, split in phases.items():
        measurements.splits.setdefault((cell.cell, phase), []).append(split)
