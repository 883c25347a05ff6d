# SPDX-License-Identifier: Apache-2.0
"""The cells of results.json (docs/reference/results.md), each with its counted calls of the C library.

Calls come from witnessed launches (docs/internals/statistics.md), per operation of the timed cell.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from slowpath.analyse.floors import floors
from slowpath.analyse.messages import messages
from slowpath.analyse.repetitions import by_repetition
from slowpath.analyse.witness import allocations, instructions, validated, witnesses
from slowpath.core.cell_results import (
    ByCleanness,
    CallCounts,
    CellResult,
    FirstSlow,
    InstructionCounts,
    MetricEstimate,
    MetricResult,
    Mode,
    Outliers,
    RoleWitness,
    WhoPays,
)
from slowpath.core.guard import shell_assignments
from slowpath.core.plan import WITNESSED_ROUNDS, Cell, Plan
from slowpath.core.result import Phase, Role
from slowpath.core.twins import Twins
from slowpath.experiments.experiment import Experiment, rates
from slowpath.experiments.measured import MEDIAN, PHASES, LaunchRecord, Measurements, Reduced
from slowpath.experiments.messages import statement
from slowpath.experiments.registry import METRICS, experiment_named
from slowpath.record.events import WitnessedCallCount, WitnessedCalls
from slowpath.stats.estimate import (
    LAG_SAMPLES,
    Estimate,
    estimate_over_launches,
    estimate_within_launch,
    median,
    minimal_n,
    quantile_interval,
)
from slowpath.stats.launches import between, first_slow, launch_modes

SINGLE_OPERATIONS = 60  # up to here the samples of a launch are messages one by one, not a series of batches


def estimate(launches: Sequence[Reduced], quantum_ns: float | None) -> MetricEstimate:
    """One metric and phase over launches.

    Args: launches: at least one.
          quantum_ns: largest clock quantum of the launches, None when unknown (an imported log).
    """
    centre = _centre(launches)
    centres = [launch.centre_s for launch in launches]
    modes = launch_modes(centres) if len(centres) > 1 else None
    batch = max(launch.batch for launch in launches)
    classes = Counter(launch.steady_class for launch in launches if launch.steady_class)
    inside = [launch.within_ratio for launch in launches if launch.within_ratio is not None]
    return MetricEstimate(
        value=centre.value,
        interval=centre.interval,
        interval_kind=centre.kind,
        level=centre.level,
        launches=len(launches),
        location=launches[0].location,
        launch_values=centres,
        by_repetitions=_by_repetitions(launches),
        samples=sum(launch.samples for launch in launches),
        cut_samples=sum(launch.cut_samples for launch in launches),
        p50=median([launch.tails.p50 for launch in launches]),
        p90=_typical([launch.tails.p90 for launch in launches]),
        p99=_typical([launch.tails.p99 for launch in launches]),
        p999=_typical([launch.tails.p999 for launch in launches]),
        p999_reason=next((launch.tails.reason for launch in launches if launch.tails.reason), None),
        min=min(launch.tails.min for launch in launches),
        max=max(launch.tails.max for launch in launches),
        outliers=_outliers(launches),
        steady_class=classes.most_common(1)[0][0] if classes else None,
        within_ratio=median(inside) if inside else None,
        between_ratio=between(centres),
        modes=modes
        and [Mode(value=m.value, launches=m.launches, share_interval=(m.share.low, m.share.high)) for m in modes],
        batch=batch,
        quantum_ratio=quantum_ns and quantum_ns * 1e-9 / (centre.value * batch * launches[0].operations),
    )


def _centre(launches: Sequence[Reduced]) -> Estimate:
    if len(launches) > 1:
        return estimate_over_launches([launch.centre_s for launch in launches])
    only = launches[0]
    lag = 1 if only.kept_s.size <= SINGLE_OPERATIONS else LAG_SAMPLES
    if only.location == MEDIAN:
        return estimate_within_launch(only.kept_s, lag=lag)
    return _quantile_within(only, lag)


def _by_repetitions(launches: Sequence[Reduced]) -> ByCleanness | None:
    """Where clean samples are distinguished: the value over them, over all, and the number of launches with enough."""
    everything = [launch.all_s for launch in launches if launch.all_s is not None]
    if not everything:
        return None
    clean = [launch.clean_s for launch in launches if launch.clean_s is not None]
    return ByCleanness(
        clean_value=estimate_over_launches(clean).value if clean else None,
        all_value=estimate_over_launches(everything).value,
        launches_of_clean=len(clean),
    )


def _quantile_within(launch: Reduced, lag: int) -> Estimate:
    """Another quantile than the median, of one launch.

    Medians of consecutive samples have quantiles of their own, so every lag-th sample is taken instead: these are as
    good as independent and keep the distribution.
    """
    p, size = launch.location, launch.kept_s.size
    found = quantile_interval(launch.kept_s[::lag], p)
    if found is None:
        kind = f"one launch, {size} samples < {minimal_n(p) * lag}, no interval"
        return Estimate(launch.centre_s, None, None, kind, None, size)
    kind = f"order statistics of the {100 * p:g} % quantile within one launch"
    return Estimate(launch.centre_s, found.low, found.high, kind, found.level, size)


def _typical(quantiles: Sequence[float | None]) -> float | None:
    """Of the tail: the median over launches of the launch's own; None where one launch has too few samples."""
    known = [quantile for quantile in quantiles if quantile is not None]
    return median(known) if len(known) == len(quantiles) else None


def _outliers(launches: Sequence[Reduced]) -> Outliers:
    severe_s = sum(launch.outliers.severe_time_ratio * launch.total_s for launch in launches)
    return Outliers(
        mild=sum(launch.outliers.mild for launch in launches),
        severe=sum(launch.outliers.severe for launch in launches),
        severe_time_ratio=severe_s / sum(launch.total_s for launch in launches),
    )


_NO_LAUNCH = "no witnessed launch of this cell in the run"
_NOT_COUNTED = (
    "the library that counts did not reach the ranks: does the launcher pass LD_PRELOAD on, and is the engine linked "
    "dynamically?"
)
_NO_EVENTS = "the experiment counts no calls"

# Of a rank that stores no times, and so no block.
_NOT_STORED = RoleWitness(
    minor_faults_per_op=None, major_faults_per_op=None, system_time_s_per_op=None, involuntary_switches=None
)

Roles = Mapping[Role, int | None]  # role -> rank; None: the last one
Witness = dict[Phase, dict[Role, RoleWitness | None]]


def with_calls(
    witness: Witness | None, cell: int, twins: Twins, launches_of: Mapping[int, Sequence[LaunchRecord]], roles: Roles
) -> tuple[Witness | None, str | None]:
    """`witness` of a cell with `calls` in each phase and role, and why there are none if so."""
    sources = [cell] if cell in twins.witnessed else twins.counted_by.get(cell, ())
    measured = [(number, launch) for number in sources for launch in launches_of.get(number, ())]
    if not measured:
        return witness, _NO_LAUNCH
    found: Witness = {phase: dict(both) for phase, both in (witness or {}).items()}
    for phase in PHASES:
        for role, rank in roles.items():
            events = [event for number, launch in measured for event in _events(launch, number, phase, rank)]
            if events:
                both = found.setdefault(phase, dict.fromkeys(roles))
                both[role] = msgspec.structs.replace(both[role] or _NOT_STORED, calls=per_operation(events))
    if any(one and one.calls is not None for both in found.values() for one in both.values()):
        return found, None
    counting = any(launch.events.begin and launch.events.begin.witnessed for _, launch in measured)
    return witness, _NO_EVENTS if counting else _NOT_COUNTED


def per_operation(events: Sequence[WitnessedCalls]) -> dict[str, CallCounts]:
    """All launches together: kind -> calls_per_op, bytes_per_op (None: calls without a length), failed_per_op."""
    operations = sum(event.operations for event in events)
    names = dict.fromkeys(name for event in events for name in event.counts)
    return {name: _one([e.counts[name] for e in events if name in e.counts], operations) for name in names}


def _one(counts: Sequence[WitnessedCallCount], operations: int) -> CallCounts:
    lengths = [count.bytes for count in counts if count.bytes is not None]
    times_ns = [count.time_ns for count in counts if count.time_ns is not None]
    return CallCounts(
        calls_per_op=sum(count.calls for count in counts) / operations,
        bytes_per_op=sum(lengths) / operations if lengths else None,
        failed_per_op=sum(count.failed for count in counts) / operations,
        time_s_per_op=1e-9 * sum(times_ns) / operations if times_ns else None,
    )


def _events(launch: LaunchRecord, cell: int, phase: str, rank: int | None) -> list[WitnessedCalls]:
    wanted = launch.size - 1 if rank is None else rank
    return [
        event
        for event in launch.events.calls(cell)
        if event.rank == wanted and event.phase == phase and event.operations > 0
    ]


def command_line(
    argv: Sequence[str], variables: Mapping[str, str], experiment: Experiment, parameters: Mapping[str, str]
) -> str | None:
    """`UCX_TLS=tcp mpiexec -n 2 .../slowpath-engine p2p --message-bytes 8`, from the argv of a launch of that cell.

    Returns: None when the argv does not hold the program that measures the experiment (an imported log).
    """
    position = next((i for i, word in enumerate(argv) if word.rsplit("/", 1)[-1] == "slowpath-engine"), None)
    if position is None:
        return None
    words = [*argv[: position + 1], experiment.name, *_options(parameters)]
    return " ".join([*shell_assignments(variables), shlex.join(words)])


def _options(parameters: Mapping[str, str]) -> list[str]:
    return [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", value)]


Status = Literal["ok", "partial", "skipped", "failed"]


def cell_entry(cell: Cell, plan: Plan, measurements: Measurements, declined: Mapping[int, str]) -> CellResult:
    """One cell over its launches.

    Args: declined: cell -> why the engine skipped it in every launch that came to it (`analyse/run_facts.py`).
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
            centre = _centre([reduced for _, reduced in one_way.values()]).value
            found[phase] = statement(shares, centre)
    if found:
        return found, None
    return None, measurements.no_split.get(cell.cell, "no launch measured the cell")
