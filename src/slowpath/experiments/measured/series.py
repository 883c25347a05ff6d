# SPDX-License-Identifier: Apache-2.0
"""What blocks are made into: samples of one metric, phase, cell and launch, in seconds per operation. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NS = 1e-9
PHASES = ("first", "steady")
MEDIAN = 0.5


@dataclass(frozen=True)
class SampleBlock:
    """One block of the record, decoded: duration_ns and start_ns have shape (n,), int64; start_ns is absolute."""

    rank: int
    phase: str
    allocation: int
    batch: int
    seq0: int
    duration_ns: NDArray[np.int64]
    start_ns: NDArray[np.int64] | None
    part: int = 0  # of an operation, numbered by its experiment; 0: the whole


@dataclass(frozen=True)
class Order:
    """Where single operations stand in their launch. number: counted from 0, those without a sample included.
    begin_ns: absolute. Both int64, shape (n,), ascending.
    """

    number: NDArray[np.int64]
    begin_ns: NDArray[np.int64]


@dataclass(frozen=True)
class MetricSamples:
    """Samples of one metric, phase, cell and launch: seconds per operation, shape (n,), in the order taken.

    location: the quantile of the samples that stands for the launch. consecutive: the samples follow one another
    without a pause, so that a warm-up may stand at their head. clean: which samples nothing else disturbed, shape (n,);
    None: not recorded.  order: None where a sample is a batch, or its begin was not recorded.
    """

    values_s: NDArray[np.float64]
    batch: int
    operations: int = 1  # in each element of the batch; a sample spans batch * operations of them
    location: float = MEDIAN
    consecutive: bool = False
    clean: NDArray[np.bool_] | None = None
    order: Order | None = None


@dataclass(frozen=True)
class Absent:
    """Why a metric can't be given."""

    reason: str


Derived = dict[str, dict[str, MetricSamples] | Absent]
NO_SAMPLES = Absent("no samples")


def chosen(blocks: Sequence[SampleBlock], rank: int, phase: str) -> list[SampleBlock]:
    """The blocks of one rank and phase, by allocation, then by position on it."""
    found = [b for b in blocks if b.rank == rank and b.phase == phase]
    return sorted(found, key=lambda b: (b.allocation, b.seq0))


def order_of(blocks: Sequence[SampleBlock]) -> Order | None:
    """Of blocks of one rank and phase, by allocation: each allocation takes as many operations as its last block ends
    at.
    """
    if not blocks or any(b.batch != 1 or b.start_ns is None for b in blocks):
        return None
    each = max(b.seq0 + b.duration_ns.size for b in blocks)
    numbers = [b.allocation * each + b.seq0 + np.arange(b.duration_ns.size) for b in blocks]
    begins = [b.start_ns for b in blocks if b.start_ns is not None]
    return Order(np.concatenate(numbers), np.concatenate(begins))


def per_operation(
    blocks: Sequence[SampleBlock],
    rank: int,
    operations: int,
    *,
    location: float = MEDIAN,
    batches: bool = False,
) -> dict[str, MetricSamples]:
    """Each sample of one rank divided by its batch and by the operations that one batch element holds.

    Args: batches: the steady samples are consecutive batches.
    """
    phases = {}
    for phase in PHASES:
        if found := chosen(blocks, rank, phase):
            values = np.concatenate([b.duration_ns * (NS / (b.batch * operations)) for b in found])
            batch = max(b.batch for b in found)
            consecutive = batches and phase == "steady"
            phases[phase] = MetricSamples(values, batch, operations, location, consecutive, order=order_of(found))
    return phases
