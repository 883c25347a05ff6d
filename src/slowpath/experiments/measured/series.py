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
class MetricSamples:
    """Samples of one metric, phase, cell and launch: seconds per operation, shape (n,), in the order taken.

    location: the quantile of the samples that stands for the launch. consecutive: the samples follow one another
    without a pause, so that a warm-up may stand at their head. clean: which samples nothing else disturbed, shape (n,);
    None: not recorded.
    """

    values_s: NDArray[np.float64]
    batch: int
    operations: int = 1  # in each element of the batch; a sample spans batch * operations of them
    location: float = MEDIAN
    consecutive: bool = False
    clean: NDArray[np.bool_] | None = None


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
            phases[phase] = MetricSamples(values, batch, operations, location, batches and phase == "steady")
    return phases
