# SPDX-License-Identifier: Apache-2.0
"""The cells of results.json: metrics, witnesses, messages and repetitions. Pure."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from slowpath.analyse.floors import floors
from slowpath.core.cell_results import (
    Allocations,
    ByRepetition,
    CallCounts,
    CellResult,
    Distribution,
    FunctionShare,
    InstructionCounts,
    InstructionRegion,
    InstructionTotal,
    MetricEstimate,
    MetricResult,
    PerCall,
    RoleWitness,
    SampleNumbers,
    WhoPays,
)
from slowpath.core.guard import shell_assignments
from slowpath.core.plan import WITNESSED_ROUNDS, Cell, Plan, Twins
from slowpath.core.result import Phase, Role
from slowpath.experiments.coll import COLL
from slowpath.experiments.experiment import Experiment, rates
from slowpath.experiments.first_use import FIRST_USE
from slowpath.experiments.measured import KEPT_WHOLE, MEDIAN, PHASES, LaunchRecord, Measurements, Reduced
from slowpath.experiments.messages import statement
from slowpath.experiments.registry import METRICS, experiment_named
from slowpath.record.blocks import WITNESSED
from slowpath.record.events import (
    Allocation,
    CellEnd,
    Instructions,
    ProcessorTime,
    WitnessedCallCount,
    WitnessedCalls,
)
from slowpath.stats.distribution import distribution_of
from slowpath.stats.estimate import (
    LAG_SAMPLES,
    Estimate,
    estimate_over_launches,
    estimate_within_launch,
    median,
    minimal_n,
    quantile_interval,
)
from slowpath.stats.launches import between

# Evidence beside the times: what the kernel did in each block, what the allocations were made of, and the instructions
# of calls, as the engine counted them in each launch (event `instructions`).

FIRST_TO_LAST: Mapping[Role, int | None] = {"send": 0, "receive": None}


def witnesses(
    launches: Sequence[LaunchRecord],
    cell: int,
    repeated_allocation: int | None = None,
    roles: Mapping[Role, int | None] = FIRST_TO_LAST,
) -> dict[Phase, dict[Role, RoleWitness | None]] | None:
    """Per phase and role: page faults and system time per operation, involuntary switches; None when not measured.

    Args: repeated_allocation: blocks with this number hold times of a stretch that other blocks hold, too, and repeat
          their witness.  receiver: rank; None: the last one.
    """
    result: dict[Phase, dict[Role, RoleWitness | None]] = {}
    for phase in PHASES:
        by_role = {role: _role(launches, cell, phase, rank, repeated_allocation) for role, rank in roles.items()}
        if any(by_role.values()):
            result[phase] = by_role
    return result or None


def _role(
    launches: Sequence[LaunchRecord], cell: int, phase: str, asked_rank: int | None, repeated_allocation: int | None
) -> RoleWitness | None:
    totals = dict.fromkeys(WITNESSED, 0)
    operations = 0
    for launch in launches:
        if launch.blocks is None:
            continue
        index = launch.blocks
        rank = launch.size - 1 if asked_rank is None else asked_rank
        seen = index.select(cell=cell, rank=rank, phase=phase)
        seen = seen[index.flag("witness", seen)]
        if repeated_allocation is not None:
            seen = seen[index.headers["allocation"][seen] != repeated_allocation]
        *sums, taken = index.witnessed[seen].sum(axis=0).tolist()
        operations += taken
        for name, value in zip(totals, sums, strict=True):
            totals[name] += value
    if not operations:
        return None
    reported = all(map(tells_processor_time_apart, launches))
    return RoleWitness(
        minor_faults_per_op=totals["minor_faults"] / operations,
        major_faults_per_op=totals["major_faults"] / operations,
        system_time_s_per_op=totals["system_time_ns"] * 1e-9 / operations if reported else None,
        involuntary_switches=totals["involuntary_switches"],
        operations=operations,
    )


def tells_processor_time_apart(launch: LaunchRecord) -> bool:
    """Return whether the kernel distinguished user from system time."""
    return all(processor_time.is_distinguished for processor_time in launch.events.of(ProcessorTime))


def allocations(launches: Iterable[LaunchRecord], cell: int) -> Allocations | None:
    """What the buffers of a cell were, over all launches and ranks; None when nothing was recorded."""
    seen: list[Allocation] = [a for launch in launches for a in launch.events.allocations(cell)]
    if not seen:
        return None
    sizes = [(a.huge_bytes, a.allocation_bytes) for a in seen if a.huge_bytes is not None and a.allocation_bytes]
    return Allocations(
        count=len(seen),
        reused_address=sum(bool(a.reused_address) for a in seen),
        pages_observed=dict(Counter(a.pages_observed for a in seen if a.pages_observed)),
        huge_ratio=float(np.mean([min(1.0, huge / size) for huge, size in sizes])) if sizes else None,
        mpi_memory_kinds=sorted({a.mpi_memory_kind for a in seen if a.mpi_memory_kind}),
    )


def validated(
    launches: Iterable[LaunchRecord], every: Iterable[LaunchRecord], cell: int
) -> tuple[int | None, int | None]:
    """Bytes compared in a cell's launches, and bytes found wrong in any of the run; None: the engine did not say."""
    checked = [end.validated_bytes for end in _ends(launches, cell) if end.validated_bytes is not None]
    wrong = [end.wrong_bytes for end in _ends(every, cell) if end.wrong_bytes is not None]
    return (sum(checked) if checked else None), (sum(wrong) if wrong else None)


def _ends(launches: Iterable[LaunchRecord], cell: int) -> Iterator[CellEnd]:
    return (end for launch in launches if (end := launch.events.cell_ends.get(cell)))


REGIONS = ("put", "synchronisation")
_KINDS = ("stepped", "retired")


def instructions(
    experiment: str, parameters: Mapping[str, str], events: Sequence[Sequence[Instructions]]
) -> tuple[InstructionCounts | None, str | None]:
    """A cell's `instructions` and `instructions_reason` of results.json.

    Args: events: the cell's events in each launch that measured it.
    Returns: the reason is None only where both regions were counted.
    """
    regions: dict[str, InstructionRegion | None] = {}
    reasons: list[str] = []
    for region in REGIONS:
        said = [event for of_launch in events if (event := _last(of_launch, region))]
        counted = [event for event in said if event.counted]
        regions[region] = _region(counted) if counted else None
        if not counted:
            why = dict.fromkeys(event.reason for event in said if event.reason)
            reasons.append("; ".join(why) or _silence(experiment, parameters))
    if not any(regions.values()):
        return None, "; ".join(dict.fromkeys(reasons))
    lacking = next((region for region in REGIONS if regions[region] is None), None)
    return InstructionCounts(**regions), f"{lacking}: {reasons[0]}" if lacking else None


def _last(counted: Sequence[Instructions], region: str) -> Instructions | None:
    """The region's event of the lowest rank, the origin; its last word counts."""
    mine = [event for event in counted if event.region == region]
    lowest = min((event.rank for event in mine), default=None)
    return next((event for event in reversed(mine) if event.rank == lowest), None)


def _silence(experiment: str, parameters: Mapping[str, str]) -> str:
    """Why there is no event at all."""
    if "instructions" not in parameters:
        return f"not counted by experiment {experiment}"
    return "not asked for (instructions=0)" if parameters["instructions"] == "0" else "not reported"


def _region(events: Sequence[Instructions]) -> InstructionRegion:
    """One region over launches, whose calls are pooled."""
    calls = sum(event.calls or 0 for event in events)
    stepped, retired = (_distribution([n for e in events for n in getattr(e, kind)]) for kind in _KINDS)
    return InstructionRegion(
        method=" and ".join(sorted({event.method or "not reported" for event in events})),
        launches=len(events),
        calls=calls,
        per_call=PerCall(stepped=stepped, retired=retired),
        total=InstructionTotal(**{kind: float(np.median([sum(getattr(e, kind)) for e in events])) for kind in _KINDS}),
        loop_per_put=_loop(events),
        shares=_shares(events, calls),
        reason=None if stepped else "inlined: see loop_per_put",
    )


def _distribution(counts: Sequence[int]) -> Distribution | None:
    if not counts:
        return None
    return Distribution(
        median=float(np.median(counts)),
        min=min(counts),
        max=max(counts),
        mean=float(np.mean(counts)),
        counts={str(value): times for value, times in sorted(Counter(counts).items())},
    )


def _loop(events: Sequence[Instructions]) -> float | None:
    """Instructions of the program itself for each call: call site and loop. None where the region was not counted."""
    own = [
        (event.region_instructions - sum(event.stepped)) / event.calls
        for event in events
        if event.region_instructions is not None and event.calls
    ]
    return float(np.mean(own)) if own else None


def _shares(events: Sequence[Instructions], calls: int) -> list[FunctionShare]:
    totals: Counter[tuple[str, str]] = Counter()
    for event in events:
        for share in event.shares:
            totals[share.library, share.function] += share.instructions
    return [
        FunctionShare(library=library, function=function, per_call=total / calls)
        for (library, function), total in totals.most_common()
        if calls
    ]


# Each use of a fresh buffer by itself: its 1st message, its 2nd, ... (docs/reference/results.md, by_repetition).
#
# A launch has few fresh buffers, so that a processor shared with others spoils their median. What the kernel reported
# of each block says which of them it spoils: those during which a rank was switched out (ru_nivcsw) are left out while
# others are there. Where all were, the lower quartile stands for the launch: what disturbs a message only ever makes it
# longer.

FEWEST = 3  # uses; with two, the phases `first` and `steady` say it all
Rounds = Mapping[int, tuple[int, Reduced]]  # round -> the launch's number and what it measured


def by_repetition(cell: Cell, launches: Sequence[LaunchRecord], first: Rounds, later: Rounds) -> ByRepetition | None:
    """Median over the undisturbed fresh buffers of a launch, of each use.

    Args:    launches: that measured the cell.  first, later: its first and its steady messages under one metric.
    Returns: {repetitions: [1, 2, ..], launches: [number], launch_values: seconds, shape (launches, repetitions)}; None
             where samples are not single messages, or a buffer has fewer than FEWEST of them.
    """
    p = cell.parameters
    if cell.experiment == FIRST_USE.name:
        return _first_uses(first, later)
    if cell.experiment == COLL.name:
        return _of_collective(p, launches, first, later)
    uses = int(p.get("messages", "0"))
    if p.get("pattern") != "one_way" or uses < FEWEST:
        return None
    shape = (int(p.get("allocations", "1")), int(p.get("live_buffers", "1")), uses)
    records = {launch.info.launch: launch for launch in launches}
    numbers, values = [], []
    for number in sorted(first.keys() & later.keys()):
        launch, reduced = first[number]
        times = _by_use(reduced.kept_s, later[number][1].kept_s, shape)
        if times is not None and launch in records:
            numbers.append(launch)
            values.append(_centres(times, _quiet(records[launch], cell.cell, shape)))
    if not numbers:
        return None
    return ByRepetition(repetitions=list(range(1, uses + 1)), launches=numbers, launch_values=values)


def _first_uses(first: Rounds, later: Rounds) -> ByRepetition | None:
    """Of an experiment whose samples are single uses: the first of them and then the others in their order."""
    kept = {number: entry for number, entry in later.items() if entry[1].samples <= KEPT_WHOLE}
    return _one_by_one(
        {
            launch: [*reduced.kept_s.tolist(), *kept[number][1].kept_s.tolist()]
            for number, (launch, reduced) in first.items()
            if number in kept
        }
    )


def _of_collective(
    p: Mapping[str, str], launches: Sequence[LaunchRecord], first: Rounds, later: Rounds
) -> ByRepetition | None:
    """Of pattern=counted each call on a fresh communicator, of pattern=communicators each communicator: one value each
    in a launch, so that nothing is left out of them."""
    phase = {"counted": first, "communicators": later}.get(p.get("pattern", ""), {})
    measured = {launch.info.launch for launch in launches}
    return _one_by_one(
        {
            launch: reduced.ordered.times_s.tolist()
            for launch, reduced in phase.values()
            if reduced.ordered and launch in measured
        }
    )


def _one_by_one(rows: Mapping[int, Sequence[float]]) -> ByRepetition | None:
    """Of launch -> its uses in their order, as far as every launch has them."""
    length = min((len(row) for row in rows.values()), default=0)
    if length < FEWEST:
        return None
    numbers = sorted(rows)
    return ByRepetition(
        repetitions=list(range(1, length + 1)),
        launches=numbers,
        launch_values=[list(rows[number][:length]) for number in numbers],
    )


def _by_use(
    first_s: NDArray[np.float64], later_s: NDArray[np.float64], shape: tuple[int, int, int]
) -> NDArray[np.float64] | None:
    """Shape (sets * live, uses). Later messages go through the buffers of a set in turn: message i from buffer i mod
    live. None where samples are missing: thinned out, since there were more than KEPT_WHOLE, or not taken."""
    sets, live, uses = shape
    if later_s.size > KEPT_WHOLE or first_s.size != sets * live or later_s.size != sets * live * (uses - 1):
        return None
    later = later_s.reshape(sets, uses - 1, live).transpose(0, 2, 1).reshape(sets * live, uses - 1)
    return np.column_stack([first_s, later])


def _quiet(launch: LaunchRecord, cell: int, shape: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Where no rank was reported as switched out: a first message, the later ones of a set; as `_by_use`."""
    sets, live, uses = shape
    quiet = np.ones((sets * live, uses), dtype=np.bool_)
    index = launch.blocks
    if index is None:
        return quiet
    for phase in ("first", "steady"):
        seen = index.select(cell=cell, phase=phase)
        reported = index.flag("witness", seen) & (index.headers["involuntary_switches"][seen] > 0)
        for buffer in index.headers["allocation"][seen[reported]].tolist():
            if buffer >= sets * live:
                continue
            if phase == "first":
                quiet[buffer, 0] = False
            else:
                quiet[buffer : buffer + live, 1:] = False
    return quiet


def _centres(times: NDArray[np.float64], quiet: NDArray[np.bool_]) -> list[float]:
    if quiet.all():
        return [float(value) for value in np.median(times, axis=0)]
    low = np.sort(times, axis=0)[math.ceil(len(times) / 4) - 1]
    return [
        float(np.median(times[quiet[:, use], use]) if quiet[:, use].any() else low[use])
        for use in range(times.shape[1])
    ]


# Calls come from witnessed launches (docs/internals/statistics.md), per operation of the timed cell.

SINGLE_OPERATIONS = 60  # up to here the samples of a launch are messages one by one, not a series of batches


def estimate(launches: Sequence[Reduced], quantum_ns: float | None) -> MetricEstimate:
    """One metric and phase over launches.

    Args: launches: at least one.
          quantum_ns: largest clock quantum of the launches, None when unknown (an imported log).
    """
    centre = _centre(launches)
    centres = [launch.centre_s for launch in launches]
    batch = max(launch.batch for launch in launches)
    classes = Counter(launch.steady_class for launch in launches if launch.steady_class)
    inside = [launch.within_ratio for launch in launches if launch.within_ratio is not None]
    by_rank, mean_by_rank = _by_rank(launches)
    return MetricEstimate(
        value=centre.value,
        interval=centre.interval,
        interval_kind=centre.kind,
        level=centre.level,
        launches=len(launches),
        location=launches[0].location,
        launch_values=centres,
        samples=sum(launch.samples for launch in launches),
        cut_samples=sum(launch.cut_samples for launch in launches),
        p50=median([launch.tails.p50 for launch in launches]),
        p90=_typical([launch.tails.p90 for launch in launches]),
        p99=_typical([launch.tails.p99 for launch in launches]),
        p999=_typical([launch.tails.p999 for launch in launches]),
        p999_reason=next((launch.tails.reason for launch in launches if launch.tails.reason), None),
        min=min(launch.tails.min for launch in launches),
        max=max(launch.tails.max for launch in launches),
        steady_class=classes.most_common(1)[0][0] if classes else None,
        within_ratio=median(inside) if inside else None,
        between_ratio=between(centres),
        batch=batch,
        quantum_ratio=quantum_ns and quantum_ns * 1e-9 / (centre.value * batch * launches[0].operations),
        numbers=_numbers(launches),
        by_rank=by_rank,
        mean_by_rank=mean_by_rank,
    )


_MOST_RANKS = 16  # whose times are listed one by one


def _by_rank(launches: Sequence[Reduced]) -> tuple[list[float] | None, list[float] | None]:
    rows = [launch.by_rank_s for launch in launches if launch.by_rank_s is not None]
    if len(rows) < len(launches) or len({row.shape for row in rows}) > 1 or not 1 < rows[0].shape[1] <= _MOST_RANKS:
        return None, None
    by_rank, *means = np.median(np.array(rows), axis=0).tolist()
    return by_rank, means[0] if means else None


FEWEST_NUMBERED = 20  # samples of a launch


def _numbers(launches: Sequence[Reduced]) -> SampleNumbers | None:
    """Of launches whose samples are single operations, all kept, and enough."""
    kept = [
        launch.kept_s for launch in launches if launch.batch == 1 and FEWEST_NUMBERED <= launch.kept_s.size < KEPT_WHOLE
    ]
    if len(kept) < len(launches):
        return None
    return SampleNumbers(**vars(distribution_of(kept)))


def _centre(launches: Sequence[Reduced]) -> Estimate:
    if len(launches) > 1:
        return estimate_over_launches([launch.centre_s for launch in launches])
    only = launches[0]
    lag = 1 if only.kept_s.size <= SINGLE_OPERATIONS else LAG_SAMPLES
    if only.location == MEDIAN:
        return estimate_within_launch(only.kept_s, lag=lag)
    return _quantile_within(only, lag)


def _quantile_within(launch: Reduced, lag: int) -> Estimate:
    """Another quantile than the median, of one launch.

    Medians of consecutive samples have quantiles of their own, so every lag-th sample is taken instead: these are as
    good as independent and keep the distribution.
    """
    p, size = launch.location, launch.kept_s.size
    quantile = quantile_interval(launch.kept_s[::lag], p)
    if quantile is None:
        kind = f"one launch, {size} samples < {minimal_n(p) * lag}, no interval"
        return Estimate(launch.centre_s, None, None, kind, None, size)
    kind = f"order statistics of the {100 * p:g} % quantile within one launch"
    return Estimate(launch.centre_s, quantile.low, quantile.high, kind, quantile.level, size)


def _typical(quantiles: Sequence[float | None]) -> float | None:
    """Of the tail: the median over launches of the launch's own; None where one launch has too few samples."""
    known = [quantile for quantile in quantiles if quantile is not None]
    return median(known) if len(known) == len(quantiles) else None


_NOT_COUNTED = "no launch of this cell counted calls; does the launcher pass LD_PRELOAD on?"

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
        return witness, _NOT_COUNTED
    by_phase: Witness = {phase: dict(both) for phase, both in (witness or {}).items()}
    for phase in PHASES:
        for role, rank in roles.items():
            events = [event for number, launch in measured for event in _events(launch, number, phase, rank)]
            if events:
                both = by_phase.setdefault(phase, dict.fromkeys(roles))
                both[role] = msgspec.structs.replace(both[role] or _NOT_STORED, calls=per_operation(events))
    if any(
        role_witness and role_witness.calls is not None for both in by_phase.values() for role_witness in both.values()
    ):
        return by_phase, None
    return witness, _NOT_COUNTED


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
    options = [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", value)]
    words = [*argv[: position + 1], experiment.name, *options]
    return " ".join([*shell_assignments(variables), shlex.join(words)])


Status = Literal["ok", "partial", "skipped", "failed"]


def cell_entry(
    cell: Cell, plan: Plan, measurements: Measurements, declined: Mapping[int, str], every: Sequence[LaunchRecord]
) -> CellResult:
    """One cell over its launches.

    Args: declined: cell -> why the engine skipped it in every launch that came to it (`build.declined_cells`).
          every: launches of the run, with those that failed: bytes that these found wrong count.
    """
    experiment = experiment_named(cell.experiment)
    launches = measurements.launches_of.get(cell.cell, [])
    checked, wrong = validated(launches, every, cell.cell)
    witnessed = cell.cell in measurements.twins.witnessed
    rounds = min(plan.rounds, WITNESSED_ROUNDS) if witnessed else plan.rounds
    status, reason = _status(cell, rounds, launches, declined.get(cell.cell))
    first = launches[0].info if launches else None
    counted, why_not = _instructions(cell, launches)
    beneath = floors(cell, measurements, launches)
    repetitions, why_no_repetitions = measurements.repetitions(cell)
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
        return "failed", "no launch measured it"
    if len(launches) < rounds:
        return "partial", f"measured in {len(launches)} of {rounds} rounds"
    return "ok", None


def _metrics(cell: Cell, measurements: Measurements, launches: Sequence[LaunchRecord]) -> dict[str, MetricResult]:
    quanta = [q for launch in launches if (q := launch.quantum_ns) is not None]
    result: dict[str, MetricResult] = {}
    number = cell.cell
    for name, phase, rounds in measurements.series_of.get(number, ()):
        metric = METRICS[name]
        estimated = estimate([reduced for _, reduced in rounds.values()], max(quanta) if quanta else None)
        turned = rates(metric, cell.parameters, estimated.value, estimated.interval)
        estimated = msgspec.structs.replace(estimated, **turned._asdict())
        if name in result:
            result[name].phases[phase] = estimated
            continue
        first, later = (measurements.by_series.get((number, name, phase), {}) for phase in PHASES)
        result[name] = MetricResult(
            unit=metric.unit,
            better=metric.better,
            phases={phase: estimated},
            by_repetition=by_repetition(cell, launches, first, later),
        )
    return result


def _witness(
    cell: Cell, measurements: Measurements, launches: Sequence[LaunchRecord]
) -> tuple[dict[Phase, dict[Role, RoleWitness | None]] | None, str | None]:
    experiment = experiment_named(cell.experiment)
    sender, receiver = experiment.ends(cell.parameters)
    roles: dict[Role, int | None] = {"send": sender, "receive": receiver}
    by_phase = witnesses(launches, cell.cell, experiment.synchronisation, roles)
    return with_calls(by_phase, cell.cell, measurements.twins, measurements.launches_of, roles)


def _instructions(cell: Cell, launches: Sequence[LaunchRecord]) -> tuple[InstructionCounts | None, str | None]:
    if not launches:
        return None, "no launch measured the cell"
    return instructions(
        cell.experiment, cell.parameters, [launch.events.instructions(cell.cell) for launch in launches]
    )


def _who_pays(cell: Cell, measurements: Measurements) -> tuple[dict[Phase, WhoPays] | None, str | None]:
    """By phase, where both the split and one_way_s were measured."""
    payers: dict[Phase, WhoPays] = {}
    for phase in PHASES:
        shares = measurements.splits.get((cell.cell, phase))
        one_way = measurements.by_series.get((cell.cell, "one_way_s", phase))
        if shares and one_way:
            centre = _centre([reduced for _, reduced in one_way.values()]).value
            payers[phase] = statement(shares, centre)
    if payers:
        return payers, None
    return None, measurements.no_split.get(cell.cell, "no launch measured the cell")
