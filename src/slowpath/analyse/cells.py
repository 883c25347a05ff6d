# SPDX-License-Identifier: Apache-2.0
"""The cells of results.json (docs/reference/results.md)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from slowpath.analyse.calls import with_calls
from slowpath.analyse.floors import floors
from slowpath.analyse.instructions import instructions
from slowpath.analyse.messages import messages
from slowpath.analyse.repetitions import by_repetition
from slowpath.analyse.witness import allocations, validated, witnesses
from slowpath.core.cell_results import (
    CellResult,
    FirstSlow,
    InstructionCounts,
    MetricResult,
    RoleWitness,
    WhoPays,
)
from slowpath.core.clean import shell_assignments
from slowpath.core.plan import WITNESSED_ROUNDS, Cell, Plan
from slowpath.core.result import Phase, Role
from slowpath.experiments.experiment import Experiment
from slowpath.experiments.measured.estimates import estimate
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.experiments.measured.measurements import Measurements
from slowpath.experiments.measured.series import PHASES
from slowpath.experiments.metric import rates
from slowpath.experiments.p2p.who_pays import statement
from slowpath.experiments.registry import METRICS, experiment_named
from slowpath.stats.first_message import first_slow


def command_line(
    argv: Sequence[str], variables: Mapping[str, str], experiment: Experiment, parameters: Mapping[str, str]
) -> str | None:
    """`UCX_TLS=tcp mpiexec -n 2 .../slowpath-engine p2p --message-bytes 8`, from the argv of a launch of that cell.

    Returns: None when the argv does not hold the program that measures the experiment (an imported log).
    """
    program = experiment.program
    position = next((i for i, word in enumerate(argv) if word.rsplit("/", 1)[-1] == program.name), None)
    if position is None:
        return None
    words = [*argv[: position + 1], *([experiment.name] if program.takes_experiment else []), *_options(parameters)]
    return " ".join([*shell_assignments(variables), shlex.join(words)])


def _options(parameters: Mapping[str, str]) -> list[str]:
    return [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", value)]


Status = Literal["ok", "partial", "skipped", "failed"]


def cell_entry(cell: Cell, plan: Plan, measurements: Measurements, declined: Mapping[int, str]) -> CellResult:
    """One cell over its launches.

    Args: declined: cell -> why the engine skipped it in every launch that came to it (`analyse/outcomes.py`).
    """
    experiment = experiment_named(cell.experiment)
    launches = measurements.launches_of.get(cell.cell, [])
    checked, wrong = validated(launches, cell.cell)
    witnessed = cell.cell in measurements.twins.witnessed
    rounds = min(plan.rounds, WITNESSED_ROUNDS) if witnessed else plan.rounds
    status, reason = _status(cell, rounds, launches, declined.get(cell.cell))
    first = launches[0].info if launches else None
    counted, why_not = _instructions(cell, launches)
    beneath = floors(cell, measurements, launches)
    repetitions, why_no_repetitions = measurements.repetitions(cell)
    moved, why_not_moved = messages(cell.parameters, [launch.events.messages(cell.cell) for launch in launches])
    pays, why_no_split = _who_pays(cell, measurements)
    witness, why_no_calls = _witness(cell, measurements, launches)
    return CellResult(
        cell=cell.cell,
        key=cell.key,
        label=cell.label,
        group=cell.group,
        experiment=cell.experiment,
        parameters=dict(experiment.shown(cell.parameters)),
        mpi=cell.mpi,
        environment=cell.environment,
        placement=cell.placement,
        copy=cell.copy,
        status=status,
        reason=reason,
        metrics=_metrics(cell, measurements, launches),
        absent=dict(measurements.absent_of.get(cell.cell, {})),
        who_pays=pays,
        who_pays_reason=why_no_split,
        instructions=counted,
        instructions_reason=why_not,
        repetitions=repetitions,
        repetitions_reason=why_no_repetitions,
        allocations=allocations(launches, cell.cell),
        witness=witness,
        witnessed=witnessed,
        calls_reason=why_no_calls,
        messages=moved,
        messages_reason=why_not_moved,
        floors=beneath.floors,
        over_floor=beneath.over,
        over_floor_reason=beneath.reason,
        validated_bytes=checked,
        wrong_bytes=wrong,
        reproduce=command_line(first.argv, first.variables, experiment, cell.parameters) if first else None,
    )


def _status(
    cell: Cell, rounds: int, launches: Sequence[LaunchRecord], declined: str | None
) -> tuple[Status, str | None]:
    if cell.skip:
        return "skipped", cell.skip
    if not launches and declined is not None:
        return "skipped", declined
    if not launches:
        return "failed", "no launch measured it; see the list of what was skipped"
    if len(launches) < rounds:
        return "partial", f"measured in {len(launches)} of {rounds} rounds"
    return "ok", None


def _metrics(cell: Cell, measurements: Measurements, launches: Sequence[LaunchRecord]) -> dict[str, MetricResult]:
    quanta = [q for launch in launches if (q := launch.quantum_ns) is not None]
    result: dict[str, MetricResult] = {}
    number = cell.cell
    for name, phase, rounds in measurements.series_of.get(number, ()):
        metric = METRICS[name]
        found = estimate([reduced for _, reduced in rounds.values()], max(quanta) if quanta else None)
        turned = rates(metric, cell.parameters, found.value, found.interval)
        found = msgspec.structs.replace(found, **turned._asdict())
        if name in result:
            result[name].phases[phase] = found
            continue
        first, later = (measurements.by_series.get((number, name, one), {}) for one in PHASES)
        result[name] = MetricResult(
            unit=metric.unit,
            better=metric.better,
            phases={phase: found},
            first_slow=_first_slow(measurements, number, name),
            by_repetition=by_repetition(cell, launches, first, later),
        )
    return result


def _witness(
    cell: Cell, measurements: Measurements, launches: Sequence[LaunchRecord]
) -> tuple[dict[Phase, dict[Role, RoleWitness | None]] | None, str | None]:
    experiment = experiment_named(cell.experiment)
    sender, receiver = experiment.ends(cell.parameters)
    roles: dict[Role, int | None] = {"send": sender, "receive": receiver}
    found = witnesses(launches, cell.cell, experiment.synchronisation, roles)
    return with_calls(found, cell.cell, measurements.twins, measurements.launches_of, roles)


def _first_slow(measurements: Measurements, cell: int, metric: str) -> FirstSlow | None:
    """In how many launches the first message lies far outside the later ones; None when a phase is missing."""
    firsts = measurements.by_series.get((cell, metric, "first"), {})
    later = measurements.by_series.get((cell, metric, "steady"), {})
    rounds = sorted(firsts.keys() & later.keys())
    if not rounds:
        return None
    found = first_slow([firsts[r][1].centre_s for r in rounds], [later[r][1].kept_s for r in rounds])
    return FirstSlow(slow=found.slow, launches_slow=found.launches_slow, launches=found.launches)


def _instructions(cell: Cell, launches: Sequence[LaunchRecord]) -> tuple[InstructionCounts | None, str | None]:
    if not launches:
        return None, "no launch measured the cell"
    events = [(launch.info.launch, launch.events.instructions(cell.cell)) for launch in launches]
    return instructions(cell.experiment, cell.parameters, events)


def _who_pays(cell: Cell, measurements: Measurements) -> tuple[dict[Phase, WhoPays] | None, str | None]:
    """By phase, where both the split and one_way_s were measured."""
    found: dict[Phase, WhoPays] = {}
    for phase in PHASES:
        shares = measurements.splits.get((cell.cell, phase))
        one_way = measurements.by_series.get((cell.cell, "one_way_s", phase))
        if shares and one_way:
            centre = estimate([reduced for _, reduced in one_way.values()], None).value
            found[phase] = statement(shares, centre)
    if found:
        return found, None
    return None, measurements.no_split.get(cell.cell, "no launch measured the cell")
