# SPDX-License-Identifier: Apache-2.0
"""The cells of results.json: metrics over launches, and the evidence next to them (docs/reference/results.md). Pure.

Times are seconds, lengths bytes, numbers unrounded; None means missing and stands next to a reason.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from slowpath.core.result import (
    AtLeastOne,
    Calls,
    Count,
    Interval,
    Name,
    NotNegative,
    Number,
    Phase,
    Positive,
    Result,
    Role,
    Share,
    Text,
    means,
    optional,
)

PagesObserved = Annotated[str, Meta(pattern="^(small|huge|mixed|shared|unknown)$")]


class SampleNumbers(Result, frozen=True, kw_only=True, omit_defaults=True):
    """Three numbers of the samples beside their median, each within launches, then the median over launches."""

    mean_ratio: Annotated[Positive, means("mean over median")]
    far_share: Annotated[Share, means("samples above twice the median, and nearer to the second longest")]
    period: Annotated[AtLeastOne | None, means("samples from one slow group to the next; absent: none")] = None


class MetricEstimate(Result, frozen=True, kw_only=True, omit_defaults=True):
    """One metric and phase of a cell, over launches; in the metric's unit."""

    value: Annotated[Positive, means("median over launches")]
    interval: Annotated[Interval | None, means("of the value")]
    interval_kind: Annotated[Text, means("how the interval was made, or why there is none")]
    level: Annotated[Share | None, means("confidence of the interval, as 0.95; null: the interval, if any, is a range")]
    launches: Annotated[AtLeastOne, means("that measured it")]
    location: Annotated[
        float,
        Meta(gt=0, lt=1),
        means("quantile of its samples that is a launch's value: 0.5, in `put`, `coll` 0.25"),
    ]
    launch_values: Annotated[list[Number], Meta(min_length=1), means("of each launch")]
    samples: Annotated[AtLeastOne, means("over all launches")]
    cut_samples: Annotated[Count, means("at the head, before the steady state; not in the value")]
    p50: Annotated[Number, means("median of the samples of a launch; median over launches, like the next three")]
    p90: Annotated[Number | None, means("quantile; null: too few samples")]
    p99: Annotated[Number | None, means("quantile; null: too few samples")]
    p999: Annotated[Number | None, means("quantile; null: too few samples")]
    p999_reason: Annotated[str | None, means("why p999, or any other quantile, is null")]
    min: Annotated[Number, means("least sample")]
    max: Annotated[Number, means("largest sample")]
    steady_class: Annotated[
        Literal["flat", "warm-up", "slowdown", "no steady state"] | None,
        means("how most launches begin; null: too few samples to judge"),
    ]
    within_ratio: Annotated[NotNegative | None, means("robust spread inside a launch")]
    between_ratio: Annotated[NotNegative | None, means("standard deviation of the log launch values")]
    batch: Annotated[AtLeastOne, means("operations in one sample")]
    quantum_ratio: Annotated[NotNegative | None, means("the clock's quantum over a typical sample; null: not known")]
    numbers: Annotated[SampleNumbers | None, means("of the samples; absent: too few, or batches")] = None
    by_rank: Annotated[
        list[NotNegative] | None,
        means("of metrics of the slowest rank: what each rank takes, median over launches; absent: over 16 ranks"),
    ] = None
    mean_by_rank: Annotated[list[NotNegative] | None, means("as by_rank, of means: one rank may stall alone")] = None
    bandwidth_bytes_per_s: Annotated[
        NotNegative | None, means("the value turned over; null: the metric has none, or nothing is moved")
    ] = optional()
    bandwidth_interval: Annotated[Interval | None, means("of the bandwidth")] = optional()
    message_rate_per_s: Annotated[NotNegative | None, means("the value turned over; null: the metric has none")] = (
        optional()
    )
    message_rate_interval: Annotated[Interval | None, means("of the rate")] = optional()


class ByRepetition(Result, frozen=True, kw_only=True):
    """Single messages: each use of a fresh buffer, a row a launch; of collectives each call on a fresh communicator, or
    each communicator.

    Of each use the median over buffers during which no rank was switched out; where all were, the lower quartile.
    Experiment first_use: the first use, the 2nd, ... of the launch.
    """

    repetitions: Annotated[
        list[AtLeastOne], Meta(min_length=3), means("1, 2, ...: the use, the call, or the communicator")
    ]
    launches: Annotated[list[Count], Meta(min_length=1), means("numbers")]
    launch_values: Annotated[list[list[Positive]], means("seconds, shape (launches, repetitions)")]


class MetricResult(Result, frozen=True, kw_only=True):
    """One metric of a cell."""

    unit: Annotated[Name, means("s, or what the metric has")]
    better: Annotated[Literal["lower", "higher"], means("which values are good")]
    phases: Annotated[dict[Phase, MetricEstimate], means("of the first message, and of later ones")]
    by_repetition: Annotated[ByRepetition | None, means("null: samples are not single messages, or fewer than 3 uses")]


class WhoPays(Result, frozen=True, kw_only=True):
    """one_way_s of a phase, split by which of its two calls were running; p2p with pattern=one_way on one node.

    The four ratios are means over messages, then over launches, and add up to 1.
    """

    sender_alone_ratio: Annotated[Share, means("of one_way_s; only the sender is in its call")]
    both_ratio: Annotated[Share, means("both are")]
    receiver_alone_ratio: Annotated[Share, means("only the receiver is")]
    neither_ratio: Annotated[Share, means("neither is")]
    sender_s: Annotated[NotNegative, means("the sender is in its call: its share of one_way_s")]
    receiver_s: Annotated[NotNegative, means("the receiver is in its call: its share of one_way_s")]
    receiver_early_s: Annotated[
        Number, means("median; MPI_Recv begins before MPI_Send; negative: after. In receive_s, not in one_way_s")
    ]
    sender_after_s: Annotated[
        Number, means("median; MPI_Send outlasts MPI_Recv; negative: it returned before. In send_s, not in one_way_s")
    ]
    launches: Annotated[AtLeastOne, means("that measured it")]
    text: Annotated[Text, means("one sentence")]


class CallCounts(Result, frozen=True, kw_only=True):
    """Calls of one kind that a witnessed launch counted."""

    calls_per_op: Annotated[NotNegative, means("for each operation")]
    bytes_per_op: Annotated[NotNegative | None, means("for each operation; null: the call has no length")]
    failed_per_op: Annotated[NotNegative, means("for each operation")]
    time_s_per_op: Annotated[
        NotNegative | None, means("inside calls that wait, for each operation; null: the call does not wait")
    ] = optional()


class RoleWitness(Result, frozen=True, kw_only=True, omit_defaults=True):
    """What the kernel did for one rank, per operation. Null: the rank stores no times."""

    minor_faults_per_op: Annotated[Number | None, means("page faults that need no disk")]
    major_faults_per_op: Annotated[Number | None, means("page faults that do")]
    system_time_s_per_op: Annotated[Number | None, means("time in the kernel")]
    involuntary_switches: Annotated[Count | None, means("how often it was switched out, in all")]
    operations: Annotated[Count | None, means("over which this was counted")] = None
    calls: Annotated[dict[str, CallCounts] | None, means("by kind; docs/internals/statistics.md")] = None


class Distribution(Result, frozen=True, kw_only=True):
    """Instructions of one call, over calls."""

    median: Annotated[Number, means("instructions")]
    min: Annotated[Count, means("instructions")]
    max: Annotated[Count, means("instructions")]
    mean: Annotated[Number, means("instructions")]
    counts: Annotated[Calls, means("instructions -> how many calls")]


class PerCall(Result, frozen=True, kw_only=True):
    """Instructions of a call, over the calls of all launches."""

    stepped: Annotated[Distribution | None, means("each iteration of a rep-prefixed instruction counts")]
    retired: Annotated[Distribution | None, means("the iterations of a rep-prefixed instruction count as one")]


class InstructionTotal(Result, frozen=True, kw_only=True):
    """Sum over the calls of a region, median over launches; of `synchronisation`, what ending one burst takes."""

    stepped: Annotated[NotNegative, means("instructions")]
    retired: Annotated[NotNegative, means("instructions")]


class FunctionShare(Result, frozen=True, kw_only=True):
    """Where the stepped instructions of a call are spent, mean over calls."""

    library: Annotated[str, means("name of its file")]
    function: Annotated[str, means("name")]
    per_call: Annotated[NotNegative, means("instructions")]


class InstructionRegion(Result, frozen=True, kw_only=True):
    """Instructions of the puts, or of the synchronisation, of one burst on the origin, counted once a launch."""

    method: Annotated[Text, means("how they were counted")]
    launches: Annotated[AtLeastOne, means("that counted")]
    calls: Annotated[AtLeastOne, means("over all launches")]
    per_call: Annotated[PerCall, means("over the calls of all launches")]
    total: Annotated[InstructionTotal, means("over the region")]
    loop_per_put: Annotated[
        Number | None,
        means(
            "instructions of the program itself for each call: call site and loop, inlined code included; null: not "
            "reported"
        ),
    ]
    shares: Annotated[list[FunctionShare], means("of `stepped`, largest first")]
    reason: Annotated[str | None, means("why per_call holds nulls: no call leaves the program, all is inlined")]


class InstructionCounts(Result, frozen=True, kw_only=True):
    """The instructions of both regions of a burst."""

    put: Annotated[InstructionRegion | None, means("null: see instructions_reason")]
    synchronisation: Annotated[InstructionRegion | None, means("null: see instructions_reason")]


class RepetitionCounts(Result, frozen=True, kw_only=True):
    """Experiments cannon and coll: disturbed repetitions over all launches."""

    all: Annotated[Count, means("repetitions")]
    clean: Annotated[Count | None, means("as far as it is known; null: switched and loaded are")]
    switched: Annotated[Count | None, means("a rank was switched out; null: ranks share processors")]
    loaded: Annotated[Count | None, means("others loaded the node; null: other load was never reported")]
    late: Annotated[Count | None, means("experiment coll: a rank came after its deadline; null: not recorded")] = (
        optional()
    )
    launches_of_clean: Annotated[Count, means("launches with enough clean repetitions to count them alone")]
    launches: Annotated[Count, means("that measured it")]


class Allocations(Result, frozen=True, kw_only=True):
    """What the buffers of a cell were, over all launches and ranks."""

    count: Annotated[Count, means("buffers")]
    reused_address: Annotated[Count, means("how many came back at an address seen before")]
    pages_observed: Annotated[dict[PagesObserved, Count], means("kind of pages -> how many buffers")]
    huge_ratio: Annotated[Share | None, means("share of the bytes on huge pages; null: not observed")]
    mpi_memory_kinds: Annotated[list[str], means("as MPI names them")]


class Floor(Result, frozen=True, kw_only=True):
    """What the same bytes cost this machine by one way without MPI, in the launches that measured the cell."""

    name: Annotated[Name, means("the way; docs/internals/statistics.md")]
    text: Annotated[Text, means("the way in words")]
    time_s: Annotated[Positive | None, means("median over launches; null: see reason")]
    interval: Annotated[Interval | None, means("of time_s")]
    launches: Annotated[Count, means("that measured it")]
    reason: Annotated[str | None, means("why time_s is null")]


class OverFloor(Result, frozen=True, kw_only=True):
    """A later message or put of the cell over the floor: the fastest way its bytes can go, no faster than a flag."""

    floor: Annotated[Name, means("the way that is the lower bound in most launches")]
    floor_s: Annotated[Positive, means("its time, median over launches")]
    metric: Annotated[Name, means("of the message or put")]
    ratio: Annotated[Positive, means("time over that of the lower bound, launch by launch; median over launches")]
    interval: Annotated[Interval | None, means("of the ratio")]
    level: Annotated[Share | None, means("confidence of the interval; null: it is a range, or there is none")]
    launches: Annotated[AtLeastOne, means("that measured both")]


class CellResult(Result, frozen=True, kw_only=True):
    """One experiment at one point."""

    cell: Annotated[Count, means("number")]
    key: Annotated[Name, means("hash of experiment, parameters, environment, placement and MPI")]
    label: Annotated[Name, means("short, unique in the run")]
    group: Annotated[Name, means("of the campaign")]
    experiment: Annotated[Name, means("name")]
    parameters: Annotated[
        dict[str, str], means("as the engine takes them; of p2p `blocks` in place of the `block_bytes` it follows from")
    ]
    mpi: Annotated[str | None, means("short name as in run.mpis; null: imported and old runs")] = None
    environment: Annotated[Name, means("as in run.environments")]
    placement: Annotated[Name, means("as in run.placements")]
    copy: Annotated[AtLeastOne, means("2 and more: the same again, for a control")] = 1
    status: Annotated[Literal["ok", "partial", "skipped", "failed"], means("partial: not in every round")]
    reason: Annotated[str | None, means("why status is not ok")] = None
    metrics: Annotated[dict[str, MetricResult], means("by name; docs/reference/metrics.md")]
    absent: Annotated[dict[str, str], means("metric -> why this cell lacks it")]
    who_pays: Annotated[dict[Phase, WhoPays] | None, means("by phase; null: not split")] = None
    who_pays_reason: Annotated[str | None, means("why who_pays is null")] = None
    instructions: Annotated[InstructionCounts | None, means("experiment put; null: not counted")] = None
    instructions_reason: Annotated[str | None, means("why instructions, or a part of it, is null")] = None
    repetitions: Annotated[RepetitionCounts | None, means("experiments cannon and coll; null: not reported")] = None
    repetitions_reason: Annotated[str | None, means("why repetitions, or a number in it, is null")] = None
    allocations: Annotated[Allocations | None, means("null: nothing was recorded")] = None
    witness: Annotated[
        dict[Phase, dict[Role, RoleWitness | None]] | None, means("by phase and role (send, receive); null: none")
    ] = None
    witnessed: Annotated[bool, means("its launches counted calls and took no times; it has no timed twin")] = False
    calls_reason: Annotated[str | None, means("why no role of witness has calls")] = None
    floors: Annotated[list[Floor], means("what the same bytes cost without MPI, by each way")] = []  # noqa: RUF012
    over_floor: Annotated[OverFloor | None, means("message over floor; null: see over_floor_reason")] = None
    over_floor_reason: Annotated[str | None, means("why over_floor is null")] = None
    validated_bytes: Annotated[Count | None, means("compared after transfers; null: not reported")] = None
    wrong_bytes: Annotated[Count | None, means("of those, found wrong; null: not reported")] = None
    reproduce: Annotated[str | None, means("the exact command line, environment included; null: an imported log")] = (
        None
    )

    @property
    def is_measured(self) -> bool:
        """Whether any launch gave a time or a count."""
        return bool(self.metrics or self.instructions or (self.witnessed and self.witness))

    def estimate(self, metric: str, phase: str) -> MetricEstimate | None:
        """Return the estimate of a metric and phase; None if the cell has none."""
        by_phase = self.metrics.get(metric)
        return by_phase.phases.get(phase) if by_phase else None
