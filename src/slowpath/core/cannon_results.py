# SPDX-License-Identifier: Apache-2.0
"""What results.json says of the experiment cannon: cells that are equal but for `variant` and `n`. Pure.

Ratios are of the same launches, pair by pair.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from slowpath.core.result import Interval, Result


class Value(Result, frozen=True, kw_only=True):
    """A value with its interval; of a ratio the launches are pairs."""

    value: float
    interval: Interval | None
    interval_kind: str | None
    level: float | None
    launches: int


class CannonPoint(Result, frozen=True, kw_only=True):
    """One variant at one order n of the matrices."""

    n: int
    cell: int
    multiply_s: Value
    exposed_s: float | None
    parts_s: Annotated[dict[str, float], Meta(description="those that occur; seconds, mean over ranks")]
    rate_flops_per_s: Annotated[Value, Meta(description="2 n^3 over multiply_s")]
    over_compute: Annotated[Value | None, Meta(description="time over the ceiling's")]
    over_compute_reason: str | None
    speed_up: Annotated[Value | None, Meta(description="the reference's time over its own: above 1, it is faster")]
    speed_up_reason: str | None
    of_cores: Annotated[Value | None, Meta(description="rate over ranks x the rate of one core alone")]
    of_cores_reason: str | None
    exposed_ratio: Value | None
    exposed_ratio_reason: str | None
    timing_ratio: Annotated[float | None, Meta(description="what stamping its intervals costs, over multiply_s")]
    timing_ratio_reason: str | None
    generate_ratio: Annotated[float | None, Meta(description="making the inputs in place, over multiply_s")]
    generate_ratio_reason: str | None
    hidden_ratio: Annotated[
        float | None, Meta(description="of what the reference exposes, how much it does not; of two values, no interval")
    ] = None
    hidden_ratio_reason: str | None = None
    moved_ratio: Annotated[
        float | None, Meta(description="distribute and gather over the multiplying itself (parts_s.dgemm)")
    ] = None


class CannonMissing(Result, frozen=True, kw_only=True):
    """A point that was not measured."""

    n: int
    cell: int
    reason: str


class CannonVariant(Result, frozen=True, kw_only=True):
    """One communication style over n."""

    variant: str
    across_nodes: Annotated[bool | None, Meta(description="null: not known here")]
    points: list[CannonPoint]
    missing: list[CannonMissing]


class CriticalN(Result, frozen=True, kw_only=True):
    """From which n on less than `share` of the reference's time is exposed."""

    share: float
    n: Annotated[float | None, Meta(description="between two measured ones")]
    interval: Interval | None
    interval_kind: str | None
    level: float | None
    launches: Annotated[int, Meta(description="that have a crossing")]
    reason: Annotated[str | None, Meta(description="why n is null")]


class CannonBest(Result, frozen=True, kw_only=True):
    """The fastest variant at one n."""

    n: int
    variant: str | None
    same: Annotated[list[str], Meta(description="variants that can't be told from it")]
    reason: Annotated[str | None, Meta(description="why variant is null")]


class TimelineInterval(Result, frozen=True, kw_only=True):
    """What one rank did; 0 is the start of the first rank. `generate` lies before 0."""

    rank: int
    part: str
    step: int
    begin_s: float
    end_s: float


class TimelineWait(Result, frozen=True, kw_only=True):
    """`rank` waited from begin_s until `last`, the rank that came last, began its part at until_s."""

    rank: int
    last: int
    step: int
    begin_s: float
    until_s: float


class CannonTimeline(Result, frozen=True, kw_only=True):
    """One repetition of one variant, of median length."""

    variant: str
    n: int
    cell: int
    launch: int
    repetition: Annotated[int, Meta(description="0-based")]
    multiply_s: float
    one_clock: Annotated[bool, Meta(description="false: the times of each rank begin at its own start")]
    intervals: Annotated[list[TimelineInterval], Meta(description="by rank and begin")]
    waits: Annotated[
        list[TimelineWait], Meta(description="longer ones, by rank and time; read off the times of one_clock alone")
    ] = []
    reason: Annotated[str | None, Meta(description="why intervals is empty")]


class GroupRepetitions(Result, frozen=True, kw_only=True):
    """Repetitions of all cells of a group that report them, over all launches."""

    all: int
    clean: int


class CannonGrid(Result, frozen=True, kw_only=True):
    """How ranks are arranged."""

    rows: int
    columns: int
    steps: int


class CannonBlas(Result, frozen=True, kw_only=True):
    """The BLAS in use."""

    name: str
    core: str | None = None
    threads: int | None = None
    file: str | None = None
    compiled_for: str | None = None


class CannonGroup(Result, frozen=True, kw_only=True):
    """Cells that are equal but for variant, n and how often they are repeated, under one MPI and placement."""

    label: Annotated[str, Meta(description="what sets it apart from the other groups")]
    parameters: Annotated[dict[str, str], Meta(description="what its cells share")]
    mpi: str | None
    environment: str
    placement: str
    copy: int
    ranks: int
    grid: CannonGrid | None
    blas: CannonBlas | None
    setup_reason: Annotated[str | None, Meta(description="why grid or blas is null")]
    ranks_have_cores: bool
    ranks_have_cores_reason: Annotated[str | None, Meta(description="why not")]
    repetitions: Annotated[GroupRepetitions | None, Meta(description="null: no cell reports clean ones")] = None
    n: Annotated[list[int], Meta(description="orders of the matrices, ascending")]
    reference: Annotated[str, Meta(description="what speed_up compares with")]
    ceiling: Annotated[str, Meta(description="what over_compute compares with")]
    variants: list[CannonVariant]
    critical_n: Annotated[dict[str, CriticalN], Meta(description="half and tenth")]
    best: list[CannonBest]
    best_across_nodes: list[CannonBest]
    advice: str | None
    advice_reason: Annotated[str | None, Meta(description="why advice is null")]
    timelines: list[CannonTimeline]


class CannonDistribution(Result, frozen=True, kw_only=True):
    """A cell whose inputs are moved, next to its twin with source=in_place."""

    source: Annotated[str, Meta(description="root or file")]
    variant: str
    n: int
    ranks: int
    mpi: str | None
    environment: str
    placement: str
    cell: int
    in_place_cell: int
    distribute_s: Annotated[float | None, Meta(description="null: no such part")]
    gather_s: Annotated[float | None, Meta(description="null: no such part")]
    moved_ratio: Annotated[float | None, Meta(description="distribute_s + gather_s over the twin's multiply_s")]
    over_in_place: Value | None
    over_in_place_reason: str | None


class CannonResults(Result, frozen=True, kw_only=True):
    """The comparison of communication styles."""

    groups: list[CannonGroup]
    distribution: list[CannonDistribution]
