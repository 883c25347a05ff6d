# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm, puts in results.json (docs/reference/results.md)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from slowpath.core.result import (
    AtLeastOne,
    Count,
    Interval,
    NotNegative,
    Number,
    Positive,
    Result,
    Share,
    Text,
    means,
)

CannonPart = Annotated[str, Meta(pattern="^(dgemm|issue|test|wait|copy|synchronise|skew|distribute|gather|generate)$")]
ScalingKind = Annotated[str, Meta(pattern="^(strong|weak)$")]
CriticalWord = Annotated[str, Meta(pattern="^(stays|higher|lower|undecided)$")]
CriticalShare = Annotated[str, Meta(pattern="^(half|tenth)$")]


class Value(Result, frozen=True, kw_only=True):
    """A value with its interval; of a ratio the launches are pairs."""

    value: Annotated[Positive, means("over launches")]
    interval: Annotated[Interval | None, means("of the value")]
    interval_kind: Annotated[Text, means("how the interval was made, or why there is none")]
    level: Annotated[Share | None, means("confidence of the interval, as 0.95; null: the interval, if any, is a range")]
    launches: Annotated[AtLeastOne, means("that measured it")]


class CannonClock(Result, frozen=True, kw_only=True):
    """Clock frequency of the ranks' processors, over ranks and repetitions."""

    median_hz: Annotated[Positive, means("of all readings")]
    lowest_hz: Annotated[Positive, means("of any rank and repetition")]
    highest_hz: Annotated[Positive, means("of any rank and repetition")]
    readings: Annotated[AtLeastOne, means("ranks x repetitions x launches")]
    source: Annotated[str, means("cpufreq: the kernel's scaling_cur_freq; counted loop: additions of a cycle each")]


class CannonPoint(Result, frozen=True, kw_only=True):
    """One variant at one order n of the matrices."""

    n: Annotated[AtLeastOne, means("order of the matrices")]
    cell: Annotated[Count, means("number")]
    multiply_s: Annotated[Value, means("one multiplication")]
    exposed_s: Annotated[NotNegative | None, means("communication that computing does not hide; null: no samples")]
    parts_s: Annotated[dict[CannonPart, NotNegative], means("those that occur; mean over ranks")]
    rate_flops_per_s: Annotated[Value, means("2 n^3 over multiply_s")]
    over_compute: Annotated[Value | None, means("time over the ceiling's")]
    over_compute_reason: Annotated[str | None, means("why it is null")]
    speed_up: Annotated[Value | None, means("the reference's time over its own: above 1, it is faster")]
    speed_up_reason: Annotated[str | None, means("why it is null")]
    of_cores: Annotated[
        Value | None, means("rate over ranks x the rate of one core alone: the time of `dgemm_alone` over its own")
    ]
    of_cores_reason: Annotated[str | None, means("why it is null")]
    exposed_ratio: Annotated[Value | None, means("exposed share of the time")]
    exposed_ratio_reason: Annotated[str | None, means("why it is null")]
    hidden_ratio: Annotated[
        Number | None, means("of what the reference exposes, the part that it does not; of two values, so no interval")
    ] = None
    hidden_ratio_reason: Annotated[str | None, means("why it is null")] = None
    moved_ratio: Annotated[
        NotNegative | None, means("distribute and gather over dgemm, all of parts_s; null: nothing was multiplied")
    ] = None
    parts: Annotated[dict[CannonPart, Value], means("parts_s with their intervals")] = field(default_factory=dict)
    exposed: Annotated[Value | None, means("exposed_s with its interval; null: no samples")] = None
    clock: Annotated[CannonClock | None, means("of the ranks' processors, after each repetition")] = None
    clock_reason: Annotated[str | None, means("why it is null")] = None
    remark: Annotated[
        str | None, means("what the engine says of the variant here, as into how many pieces it cuts")
    ] = None


class CannonMissing(Result, frozen=True, kw_only=True):
    """A point that was not measured."""

    n: Annotated[AtLeastOne, means("order of the matrices")]
    cell: Annotated[Count, means("number")]
    reason: Annotated[Text, means("why")]


class CriticalMove(Result, frozen=True, kw_only=True):
    """Where a style's critical n lies, compared with the reference's."""

    word: Annotated[CriticalWord, means("stays: within 10 %; higher: it needs larger matrices than the reference")]
    over: Annotated[Value | None, means("its critical n over the reference's, in the same launches; null: see reason")]
    reason: Annotated[str, means("of the word")]


class CriticalN(Result, frozen=True, kw_only=True):
    """The n from which on less than `share` of a style's time is exposed."""

    share: Annotated[float, Meta(gt=0, lt=1), means("0.5 or 0.1")]
    n: Annotated[Positive | None, means("not whole: between two measured ones; null: see reason")]
    interval: Annotated[Interval | None, means("of n")]
    interval_kind: Annotated[str | None, means("how the interval was made, or why there is none")]
    level: Annotated[Share | None, means("confidence of the interval, as 0.95")]
    launches: Annotated[Count, means("that have a crossing")]
    reason: Annotated[str | None, means("why n is null")]
    move: Annotated[CriticalMove | None, means("against the reference's; null: it is the reference, or older")] = None


class CannonVariant(Result, frozen=True, kw_only=True):
    """One communication style over n."""

    variant: Annotated[str, means("name")]
    across_nodes: Annotated[bool | None, means("whether it works across nodes; null: not known here")]
    points: Annotated[list[CannonPoint], means("that were measured, n ascending")]
    missing: Annotated[list[CannonMissing], means("that were not")]
    critical_n: Annotated[
        dict[CriticalShare, CriticalN],
        means("from which n on less than half, and a tenth, is exposed; {}: a yardstick"),
    ] = field(default_factory=dict)


class CannonBest(Result, frozen=True, kw_only=True):
    """The fastest variant at one n; the ceiling and `dgemm_alone` do not compete."""

    n: Annotated[AtLeastOne, means("order of the matrices")]
    variant: Annotated[str | None, means("name; null: see reason")]
    same: Annotated[list[str], means("variants that can't be distinguished from it")]
    reason: Annotated[str | None, means("why variant is null")]


class TimelineInterval(Result, frozen=True, kw_only=True):
    """What one rank did; 0 is the start of the first rank. `generate` lies before 0."""

    rank: Annotated[Count, means("0, 1, ...")]
    part: Annotated[str, means("as in parts_s, and `total`")]
    step: Annotated[Count, means("of the algorithm, 0-based")]
    begin_s: Annotated[Number, means("when it began")]
    end_s: Annotated[Number, means("when it ended")]


class TimelineWait(Result, frozen=True, kw_only=True):
    """One rank waited for another one, as their times show; the record names no partners."""

    rank: Annotated[Count, means("that waited")]
    last: Annotated[Count, means("rank that it waited for, the one that came last")]
    step: Annotated[Count, means("of the algorithm, 0-based")]
    begin_s: Annotated[Number, means("when it began to wait")]
    until_s: Annotated[Number, means("when the other rank came")]


class CannonTimeline(Result, frozen=True, kw_only=True):
    """One repetition of one variant, of median length."""

    variant: Annotated[str, means("name")]
    n: Annotated[AtLeastOne, means("order of the matrices")]
    cell: Annotated[Count, means("number")]
    launch: Annotated[Count, means("number")]
    repetition: Annotated[Count, means("0-based")]
    multiply_s: Annotated[Positive, means("its length")]
    clock_hz: Annotated[
        Positive | None, means("the lowest clock frequency of any rank right after it; null: not known")
    ] = None
    one_clock: Annotated[bool, means("false: the times of each rank begin at its own start")]
    intervals: Annotated[list[TimelineInterval], means("by rank and begin")]
    waits: Annotated[
        tuple[TimelineWait, ...], means("longer ones, by rank and time; read off the times of one_clock")
    ] = ()
    reason: Annotated[str | None, means("why intervals is empty")]


class GroupRepetitions(Result, frozen=True, kw_only=True):
    """Repetitions of all cells of a group that report them, over all launches."""

    all: Annotated[Count, means("all of them")]
    clean: Annotated[Count, means("those that nothing disturbed")]


class CannonGrid(Result, frozen=True, kw_only=True):
    """How ranks are arranged."""

    rows: Annotated[AtLeastOne, means("of ranks")]
    columns: Annotated[AtLeastOne, means("of ranks")]
    steps: Annotated[AtLeastOne, means("of the algorithm")]


class CannonBlas(Result, frozen=True, kw_only=True):
    """The BLAS in use."""

    name: Annotated[str, means("of the library")]
    core: Annotated[str | None, means("kind of processor for which it runs its code")] = None
    threads: Annotated[Count | None, means("of each rank")] = None
    file: Annotated[str | None, means("of the library")] = None
    compiled_for: Annotated[str | None, means("its compiler's options")] = None


class CannonComputation(Result, frozen=True, kw_only=True):
    """How much a style's local multiplications vary between repetitions, and how that follows the clock."""

    variant: Annotated[str, means("name")]
    n: Annotated[AtLeastOne, means("order of the matrices: the largest measured")]
    cell: Annotated[Count, means("number")]
    spread_ratio: Annotated[
        NotNegative, means("interquartile range of the local multiplications over their median, within a launch")
    ]
    clock_spread_ratio: Annotated[NotNegative | None, means("the same of the clock frequency; null: see reason")]
    correlation: Annotated[
        Number | None,
        means("of log time and log frequency, mean over launches; -1: the clock explains all; null: see reason"),
    ]
    interval: Annotated[Interval | None, means("of the correlation, t 95 % over launches")]
    follows: Annotated[
        bool, means("the clock: the correlation is below 0, with p of at most 0.05 corrected over the group's styles")
    ]
    launches: Annotated[AtLeastOne, means("that measured it")]
    reason: Annotated[str | None, means("why correlation or interval is null")]


class CannonKernel(Result, frozen=True, kw_only=True):
    """The local multiplication by one kernel."""

    kernel: Annotated[str, means("blas, or a loop under the compiler's options in its name")]
    cell: Annotated[Count, means("number")]
    dgemm_s: Annotated[Value, means("local multiplications of a rank")]
    over_base: Annotated[Value | None, means("time over the base's, in the same launches")]
    over_base_reason: Annotated[str | None, means("why it is null")]


class CannonKernels(Result, frozen=True, kw_only=True):
    """Computation time over compiler options at one n."""

    n: Annotated[AtLeastOne, means("order of the matrices")]
    variant: Annotated[str, means("whose local multiplications these are")]
    base: Annotated[str, means("kernel that the others are compared with")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    environment: Annotated[str, means("as in run.environments")]
    placement: Annotated[str, means("as in run.placements")]
    kernels: Annotated[list[CannonKernel], Meta(min_length=2), means("in the order of the plan")]


class CannonGroup(Result, frozen=True, kw_only=True):
    """Cells that are equal but for `variant`, `n` and how often they are repeated, under one MPI and placement."""

    label: Annotated[Text, means("what sets it apart from the other groups")]
    parameters: Annotated[dict[str, str], means("what its cells share")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    environment: Annotated[str, means("as in run.environments")]
    placement: Annotated[str, means("as in run.placements")]
    copy: Annotated[AtLeastOne, means("as of its cells")]
    ranks: Annotated[AtLeastOne, means("of each launch")]
    grid: Annotated[CannonGrid | None, means("null: see setup_reason")]
    blas: Annotated[CannonBlas | None, means("null: see setup_reason")]
    setup_reason: Annotated[str | None, means("why grid or blas is null")]
    ranks_have_cores: Annotated[bool, means("each rank has a core of its own")]
    ranks_have_cores_reason: Annotated[str | None, means("why not")]
    repetitions: Annotated[GroupRepetitions | None, means("null: no cell reports which were clean")] = None
    n: Annotated[list[AtLeastOne], Meta(min_length=1), means("orders of the matrices, ascending")]
    reference: Annotated[str, means("what speed_up compares with: sendrecv_replace")]
    ceiling: Annotated[str, means("what over_compute compares with: compute_only")]
    variants: Annotated[list[CannonVariant], Meta(min_length=1), means("in the order of the plan")]
    critical_n: Annotated[
        dict[CriticalShare, CriticalN],
        Meta(min_length=2),
        means("from which n on less than half, and less than a tenth, of the reference's time is exposed"),
    ]
    best: Annotated[list[CannonBest], means("for each n")]
    best_across_nodes: Annotated[list[CannonBest], means("for each n, of variants that work across nodes")]
    advice: Annotated[str | None, means("one sentence")]
    advice_reason: Annotated[str | None, means("why advice is null")]
    clock: Annotated[CannonClock | None, means("of the ranks' processors, over all cells")] = None
    clock_reason: Annotated[str | None, means("why it is null")] = None
    computation: Annotated[
        list[CannonComputation], means("each variant's variation between repetitions, next to the clock's")
    ] = field(default_factory=list)
    timelines: Annotated[list[CannonTimeline], means("each variant's, for the largest n and one in the middle")]


class CannonDistribution(Result, frozen=True, kw_only=True):
    """A cell whose inputs are moved, next to its twin with source=in_place."""

    source: Annotated[Text, means("root or file")]
    variant: Annotated[str, means("name")]
    n: Annotated[AtLeastOne, means("order of the matrices")]
    ranks: Annotated[AtLeastOne, means("of each launch")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    environment: Annotated[str, means("as in run.environments")]
    placement: Annotated[str, means("as in run.placements")]
    cell: Annotated[Count, means("number")]
    moved_ratio: Annotated[
        NotNegative | None, means("distribute and gather over the twin's multiply_s; null: no such part")
    ]
    over_in_place: Annotated[Value | None, means("time over the twin's, in the same launches")]
    over_in_place_reason: Annotated[str | None, means("why it is null")]


class ScalingPoint(Result, frozen=True, kw_only=True):
    """One style with one number of ranks."""

    ranks: Annotated[AtLeastOne, means("of each launch")]
    n: Annotated[AtLeastOne, means("order of the matrices")]
    cell: Annotated[Count, means("number")]
    multiply_s: Annotated[Value, means("one multiplication")]
    oversubscribed: Annotated[bool, means("not every rank has a core of its own")]
    speed_up: Annotated[
        Value | None, means("time with the fewest ranks over this one, round by round; null: see reason")
    ]
    efficiency: Annotated[
        Value | None, means("rate of a rank, 2 n^3 / (ranks x time), over that with the fewest ranks; null: see reason")
    ]
    reason: Annotated[str | None, means("why speed_up and efficiency are null")]


class CannonScaling(Result, frozen=True, kw_only=True):
    """One style over the number of ranks."""

    kind: Annotated[ScalingKind, means("strong: n stays; weak: n / sqrt(ranks) stays, and so the memory of a rank")]
    variant: Annotated[str, means("name")]
    parameters: Annotated[dict[str, str], means("what its cells share")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    environment: Annotated[str, means("as in run.environments")]
    placement: Annotated[str, means("the campaign's name; those of the cells add the number of ranks")]
    n: Annotated[AtLeastOne | None, means("order of the matrices; null: weak")]
    block: Annotated[AtLeastOne | None, means("n / sqrt(ranks); null: strong")]
    base_ranks: Annotated[AtLeastOne, means("fewest ranks, which the others are compared with")]
    points: Annotated[list[ScalingPoint], Meta(min_length=2), means("ranks ascending")]


class CannonResults(Result, frozen=True, kw_only=True):
    """The comparison of communication styles."""

    groups: Annotated[list[CannonGroup], Meta(min_length=1), means("in the order of the plan")]
    distribution: Annotated[list[CannonDistribution], means("cells whose inputs are moved")]
    kernels: Annotated[list[CannonKernels], means("computation time over compiler options")] = field(
        default_factory=list
    )
    scaling: Annotated[list[CannonScaling], means("over the number of ranks; empty: the run has one number")] = field(
        default_factory=list
    )


class RateShare(Result, frozen=True, kw_only=True):
    """Rate of puts over that of the empty call with as many arguments, in launches of the same MPI."""

    ratio: Annotated[Positive, means("above 1: more puts in the same time")]
    interval: Annotated[Interval | None, means("of the ratio")]
    interval_kind: Annotated[str, means("how the interval was made, or why there is none")]


class PutRow(Result, frozen=True, kw_only=True):
    """One design in the launches of one MPI."""

    design: Annotated[str, means("as the parameter of this name")]
    mpi: Annotated[str | None, means("null in a run of one MPI without a name")]
    cell: Annotated[Count, means("number")]
    instructions_with_loop: Annotated[
        Number | None, means("of a put: inside the call (median), call site and loop; null: not counted")
    ]
    of_empty: Annotated[RateShare | None, means("null: it is the empty call, or none was measured")]


class PutCondition(Result, frozen=True, kw_only=True):
    """Cells that differ in who puts alone."""

    settings: Annotated[dict[str, str], means("what its cells share: parameters, environment, placement")]
    differs: Annotated[dict[str, str], means("settings that the first condition does not have")]
    rows: Annotated[list[PutRow], means("libraries, layers, limits")]


class PutPart(Result, frozen=True, kw_only=True):
    """One function that instructions of a call are spent in, mean over calls."""

    library: Annotated[str, means("file that holds the function")]
    function: Annotated[str, means("name, or place in the library")]
    per_call: Annotated[NotNegative, means("instructions")]
    ratio: Annotated[Number | None, means("share of the call; null: nothing was counted")]


class PutSplit(Result, frozen=True, kw_only=True):
    """Where the instructions of a library's put are spent."""

    design: Annotated[str, means("as the parameter of this name")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    cell: Annotated[Count, means("number")]
    parts: Annotated[list[PutPart], means("largest first")]


class PutResults(Result, frozen=True, kw_only=True):
    """The comparison of who puts."""

    cells: Annotated[list[Count], means("every measured cell of the experiment")]
    conditions: Annotated[list[PutCondition], means("two designs or more meet; most designs first")]
    splits: Annotated[list[PutSplit], means("one for each library that was counted")]
