# SPDX-License-Identifier: Apache-2.0
"""The cells of results.json: metrics over launches, and the evidence next to them (docs/reference/results.md). Pure.

Times are seconds, lengths bytes, numbers unrounded; None means missing and stands next to a reason.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from slowpath.core.result import Interval, Phase, Result, Role


class Outliers(Result, frozen=True, kw_only=True):
    """Samples far from the others; none is dropped."""

    mild: int
    severe: int
    severe_time_ratio: Annotated[float, Meta(description="their share of the time")]


class Mode(Result, frozen=True, kw_only=True):
    """A group of launches that lie apart from the others."""

    value: float
    launches: int
    share_interval: Interval


class ByCleanness(Result, frozen=True, kw_only=True):
    """Experiment cannon: the value over clean repetitions and over all."""

    clean_value: Annotated[float | None, Meta(description="null: no launch has enough clean repetitions")]
    all_value: float
    launches_of_clean: int


class MetricEstimate(Result, frozen=True, kw_only=True, omit_defaults=True):
    """One metric and phase of a cell, over launches."""

    value: float
    interval: Interval | None
    interval_kind: Annotated[str, Meta(description="how the interval was made, or why there is none")]
    level: Annotated[float | None, Meta(description="null: the interval, if any, is a range")]
    launches: int
    location: Annotated[float, Meta(description="quantile of its samples that stands for a launch")]
    launch_values: list[float]
    by_repetitions: ByCleanness | None = None
    samples: int
    cut_samples: Annotated[int, Meta(description="at the head, before the steady state; not in the value")]
    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    p999_reason: Annotated[str | None, Meta(description="why p999, or any other quantile, is null")]
    min: float
    max: float
    outliers: Outliers
    steady_class: Annotated[str | None, Meta(description="flat, warm-up, slowdown or no steady state")]
    within_ratio: Annotated[float | None, Meta(description="robust spread inside a launch")]
    between_ratio: Annotated[float | None, Meta(description="standard deviation of the log launch values")]
    modes: list[Mode] | None
    batch: Annotated[int, Meta(description="operations in one sample")]
    quantum_ratio: Annotated[float | None, Meta(description="the clock's quantum over a typical sample")]
    bandwidth_bytes_per_s: float | None = None
    bandwidth_interval: Interval | None = None
    message_rate_per_s: float | None = None
    message_rate_interval: Interval | None = None


class FirstSlow(Result, frozen=True, kw_only=True):
    """In how many launches the first message lies far outside the later ones (docs/internals/statistics.md)."""

    slow: Annotated[bool, Meta(description="in 3 of 4 launches")]
    launches_slow: int
    launches: int


class ByRepetition(Result, frozen=True, kw_only=True):
    """Single messages: each use of a fresh buffer, a row a launch."""

    repetitions: Annotated[list[int], Meta(description="1, 2, ...: the use")]
    launches: list[int]
    launch_values: Annotated[list[list[float]], Meta(description="seconds, shape (launches, repetitions)")]


class MetricResult(Result, frozen=True, kw_only=True):
    """One metric of a cell."""

    unit: str
    better: Literal["lower", "higher"]
    phases: dict[Phase, MetricEstimate]
    first_slow: FirstSlow | None
    by_repetition: ByRepetition | None


class WhoPays(Result, frozen=True, kw_only=True):
    """one_way_s of a phase, split by which of its two calls were running. The four ratios add up to 1."""

    sender_alone_ratio: float
    both_ratio: float
    receiver_alone_ratio: float
    neither_ratio: float
    sender_s: Annotated[float, Meta(description="the sender is in its call")]
    receiver_s: Annotated[float, Meta(description="the receiver is in its call")]
    receiver_early_s: Annotated[float, Meta(description="median; MPI_Recv begins before MPI_Send; negative: after")]
    sender_after_s: Annotated[float, Meta(description="median; MPI_Send outlasts MPI_Recv; negative: returned before")]
    launches: int
    text: str


class CallCounts(Result, frozen=True, kw_only=True):
    """Calls of one kind that a witnessed launch counted."""

    calls_per_op: float
    bytes_per_op: Annotated[float | None, Meta(description="null: the call has no length")]
    failed_per_op: float


class RoleWitness(Result, frozen=True, kw_only=True, omit_defaults=True):
    """What the kernel did for one rank, per operation. Null: the rank stores no times."""

    minor_faults_per_op: float | None
    major_faults_per_op: float | None
    system_time_s_per_op: float | None
    involuntary_switches: int | None
    operations: int | None = None
    calls: Annotated[dict[str, CallCounts] | None, Meta(description="by kind; docs/internals/witnesses.md")] = None


class Distribution(Result, frozen=True, kw_only=True):
    """Instructions of one call, over calls."""

    median: float
    min: int
    max: int
    mean: float
    counts: Annotated[dict[str, int], Meta(description="instructions -> how many calls")]


class PerCall(Result, frozen=True, kw_only=True):
    """stepped: each iteration of a rep-prefixed instruction counts; retired: they count as one."""

    stepped: Distribution | None
    retired: Distribution | None


class InstructionTotal(Result, frozen=True, kw_only=True):
    """Sum over the calls of a region, median over launches."""

    stepped: float
    retired: float


class FunctionShare(Result, frozen=True, kw_only=True):
    """Where the stepped instructions of a call are spent, mean over calls."""

    library: str
    function: str
    per_call: float


class LaunchInstructions(Result, frozen=True, kw_only=True):
    """One launch's counts."""

    launch: int
    calls: int | None
    stepped: dict[str, int]
    retired: dict[str, int]
    region_instructions: int | None


class InstructionRegion(Result, frozen=True, kw_only=True):
    """Instructions of the puts, or of the synchronisation, of one burst on the origin, counted once a launch."""

    method: str
    launches: int
    calls: Annotated[int, Meta(description="over all launches")]
    per_call: PerCall
    total: InstructionTotal
    loop_per_put: Annotated[float | None, Meta(description="the program's own, for each call; null: not reported")]
    shares: Annotated[list[FunctionShare], Meta(description="largest first")]
    identical_over_launches: Annotated[bool | None, Meta(description="null with one launch")]
    by_launch: list[LaunchInstructions]
    reason: Annotated[str | None, Meta(description="why per_call is null")]


class InstructionCounts(Result, frozen=True, kw_only=True):
    """Both regions of a burst."""

    put: InstructionRegion | None
    synchronisation: InstructionRegion | None


class RepetitionCounts(Result, frozen=True, kw_only=True):
    """Experiment cannon: disturbed repetitions over all launches."""

    all: int
    clean: Annotated[int | None, Meta(description="null: switched and loaded are")]
    switched: Annotated[int | None, Meta(description="null: ranks share processors")]
    loaded: Annotated[int | None, Meta(description="null: other load was never reported")]
    launches_of_clean: int
    launches: int


class Allocations(Result, frozen=True, kw_only=True):
    """What the buffers of a cell were, over all launches and ranks."""

    count: int
    reused_address: int
    pages_observed: Annotated[dict[str, int], Meta(description="page kind -> how many allocations")]
    huge_ratio: Annotated[float | None, Meta(description="share of the bytes on huge pages")]
    mpi_memory_kinds: list[str]


class CellResult(Result, frozen=True, kw_only=True):
    """One experiment at one point."""

    cell: int
    key: Annotated[str, Meta(description="hash of experiment, parameters, environment, placement and MPI")]
    label: Annotated[str, Meta(description="short, unique in the run")]
    group: str
    experiment: str
    parameters: dict[str, str]
    mpi: Annotated[str | None, Meta(description="short name as in run.mpis")] = None
    environment: str
    placement: str
    copy: int = 1
    status: Literal["ok", "partial", "skipped", "failed"]
    reason: str | None = None
    metrics: dict[str, MetricResult]
    absent: Annotated[dict[str, str], Meta(description="metric -> why this cell lacks it")]
    who_pays: dict[Phase, WhoPays] | None = None
    who_pays_reason: Annotated[str | None, Meta(description="why who_pays is null")] = None
    instructions: InstructionCounts | None = None
    instructions_reason: Annotated[str | None, Meta(description="why instructions, or a part of it, is null")] = None
    repetitions: RepetitionCounts | None = None
    repetitions_reason: Annotated[str | None, Meta(description="why repetitions, or a number in it, is null")] = None
    allocations: Allocations | None = None
    witness: dict[Phase, dict[Role, RoleWitness | None]] | None = None
    witnessed: Annotated[bool, Meta(description="its launches counted calls; it has no timed twin")] = False
    calls_reason: Annotated[str | None, Meta(description="why no role of witness has calls")] = None
    validated_bytes: int | None = None
    wrong_bytes: int | None = None
    reproduce: Annotated[str | None, Meta(description="the exact command line, environment included")] = None

    def estimate(self, metric: str, phase: str) -> MetricEstimate | None:
        """Of a metric and phase; None where the cell has none."""
        found = self.metrics.get(metric)
        return found.phases.get(phase) if found else None
